"""Inverted index agrees with plain Python, retrieval with its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tokens import flat

from miner.kernels.inverted import count_holders, inverse_lengths, invert, retrieve
from miner.ragged import offsets_of


@given(st.integers(0, 2**32 - 1))
def test_the_index_is_its_reference(seed: int) -> None:
    """With empty lists, repeated values, rows in any order, and excluded values."""
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 9))
    lists = [generator.integers(0, size, n).tolist() for n in generator.integers(0, 6, 12)]
    rows = generator.permutation(12)[: generator.integers(0, 13)]
    held = [[p for p, row in enumerate(rows) if v in lists[row]] for v in range(size)]
    count = count_holders(*flat(lists), rows, size)
    assert count.tolist() == list(map(len, held))

    left_out = generator.random(size) < 0.3
    starts = offsets_of(np.where(left_out, 0, count))
    out = np.full(starts[-1], -1, np.int32)
    invert(*flat(lists), rows, starts, out)
    kept = [[] if gone else places for places, gone in zip(held, left_out, strict=True)]
    assert [out[a:b].tolist() for a, b in zip(starts, starts[1:], strict=False)] == kept

    idf = np.where(left_out, 0, generator.random(size)).astype(np.float32)
    lengths = np.empty(len(rows), np.float32)
    inverse_lengths(*flat(lists), rows, idf, lengths)
    for row, found in zip(rows, lengths, strict=True):
        total = (idf[sorted(set(lists[row]))].astype(np.float64) ** 2).sum()
        assert found == pytest.approx(total**-0.5 if total else 0, rel=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 40, 700]), st.sampled_from([1, 7, 90]))
def test_the_best_of_many_ties(seed: int, base: int, width: int) -> None:
    """With sentences without tokens, hundreds of equal scores, and more slots than sentences."""
    generator = np.random.default_rng(seed)
    size = 6
    lists = flat([generator.integers(0, size, n).tolist() for n in generator.integers(0, 3, base)])
    queries = flat([generator.integers(0, size, n).tolist() for n in generator.integers(0, 9, 5)])
    every = np.arange(base)
    holders = count_holders(*lists, every, size)
    starts = offsets_of(holders)
    postings = np.empty(starts[-1], np.int32)
    invert(*lists, every, starts, postings)
    idf = np.where(holders > 0, generator.choice([0.5, 2.0], size), 0).astype(np.float32)
    inverse = np.empty(base, np.float32)
    inverse_lengths(*lists, every, idf, inverse)
    nothing = np.zeros(size + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
    out, scores = np.empty((5, width), np.int32), np.empty((5, width), np.float32)
    retrieve(
        *queries, np.arange(5), nothing, 0.5, 0.05, idf, holders, starts, postings, inverse,
        1 << 20, out, scores,
    )  # fmt: skip
    for q in range(5):
        asked = set(queries[0][queries[1][q] : queries[1][q + 1]].tolist())
        total = np.zeros(base, np.float32)
        for y in sorted(asked, key=lambda y: (holders[y], y)):
            total[postings[starts[y] : starts[y + 1]]] += np.float32(0.5) * idf[y] * idf[y]
        found = np.flatnonzero(total)
        value = total * inverse
        best = found[np.lexsort((found, -value[found]))][:width]
        assert out[q, : len(best)].tolist() == best.tolist()
        np.testing.assert_array_equal(scores[q, : len(best)], value[best])
        assert (out[q, len(best) :] == -1).all() and np.isneginf(scores[q, len(best) :]).all()
