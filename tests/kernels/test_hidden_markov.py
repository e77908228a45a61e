"""Alignment by a hidden Markov model agrees with the sum over all alignments."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_references import alignments_reference, emissions_reference

from miner.kernels.hidden_markov import (
    COSINES,
    EVIDENCES,
    FLOOR,
    JUMPS,
    REACH,
    count_pair,
    match_tokens,
)

# Maximum tokens of a sentence, and size of the tables.
MOST, SIDE = 40, 48
SHORT = st.integers(1, 3)


def knowledge(seed: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Draw tables of all token pairs, and an aligner."""
    generator = np.random.default_rng(seed)
    tables = np.zeros((5, SIDE, SIDE), np.float32)
    tables[0] = generator.uniform(-0.5, 1, (SIDE, SIDE))
    tables[3] = generator.uniform(0, 1.2, (SIDE, SIDE)) * (generator.random((SIDE, SIDE)) < 0.5)
    emission = np.exp(generator.uniform(-4, 8, (COSINES, EVIDENCES)))
    jump = generator.dirichlet(np.ones(JUMPS))
    parts = emission, jump, np.array([generator.uniform(0.01, 0.5)])
    return tables, tuple(part.astype(np.float32) for part in parts)


@settings(deadline=None, max_examples=30)
@given(SHORT, SHORT, st.integers(0, 999))
def test_matches_agree_with_the_reference(n, m, seed):
    generator = np.random.default_rng(seed)
    a, b = (generator.integers(0, 9, size).astype(np.int32) for size in (n, m))
    tables, aligner = knowledge(seed)
    own = emissions_reference(a, b, tables[0, :m, :n], tables[3, :m, :n], aligner[0])
    jump, unaligned = aligner[1].astype(np.float64), float(aligner[2][0])
    (right, forward), (left, backward) = (
        alignments_reference(given, jump, unaligned) for given in (own, own.T)
    )
    both = forward * backward.T  # (m, n)
    best = np.concatenate([both.max(axis=0), both.max(axis=1)])
    expected = np.log([np.concatenate([left, right]), best + FLOOR]).T
    out = np.empty((n + m, 2), np.float32)
    match_tokens(a, b, tables.copy(), *aligner, out)
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-3)
    counts = np.zeros((2, COSINES, EVIDENCES)), np.zeros(2 * MOST + 1), np.zeros(2)
    count_pair(a, b, tables.copy(), *aligner, *counts)
    np.testing.assert_allclose(
        counts[2], [n + m - forward.sum() - backward.sum(), n + m], rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(
        counts[0].sum(axis=(1, 2)), [(forward.sum() + backward.sum()) / 2, min(n, m)], rtol=1e-3
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(1, MOST), st.integers(1, MOST), st.integers(0, 999))
def test_a_match_depends_on_the_pair_alone_and_not_on_its_order(n, m, seed):
    generator = np.random.default_rng(seed)
    a, b = (generator.integers(0, 99, size).astype(np.int32) for size in (n, m))
    tables, aligner = knowledge(seed)
    out = np.empty((3, n + m, 2), np.float32)
    match_tokens(a, b, tables.copy(), *aligner, out[0])
    match_tokens(a, b, tables.copy(), *aligner, out[1])
    np.testing.assert_array_equal(out[0], out[1])
    match_tokens(b, a, tables.transpose(0, 2, 1).copy(), *aligner, out[2])
    np.testing.assert_array_equal(out[2], np.concatenate([out[0, n:], out[0, :n]]))
    assert np.isfinite(out).all()


def test_tokens_in_order_match_better():
    """Six tokens with one counterpart each, in order and with two of them swapped."""
    size = 6
    tables, (emission, jump, unaligned) = knowledge(1)
    tables[3] = 0
    emission[:] = 1e-2
    emission[COSINES - 1] = 1
    jump[:] = 0.01
    jump[REACH + 1] = 0.8
    tokens = np.arange(size, dtype=np.int32)
    moved = tokens.copy()
    moved[[1, 4]] = moved[[4, 1]]
    out = np.empty((2, 2 * size, 2), np.float32)
    for row, other in enumerate((tokens, moved)):
        match_tokens(tokens, other, tables.copy(), emission, jump, unaligned, out[row])
    assert out[0].sum() > out[1].sum() + 2 * size
