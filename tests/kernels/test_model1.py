"""IBM Model 1: kernels agree with their reference."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.tokens import flat

from miner.kernels.model1 import distinct, expectation, maximisation, occurrences, partners
from miner.parallel import use_loop_threads


def model1_reference(
    left: list[list[int]], right: list[list[int]], size: int, frequency: np.ndarray, iterations: int
) -> np.ndarray:
    """Translation table of :mod:`miner.kernels.model1`, dense: ``(size, size) float64``."""
    table = np.zeros((size, size))
    for a, b in zip(left, right, strict=True):
        table[np.ix_(a, b)] = 1.0
    table /= np.maximum(table.sum(axis=1, keepdims=True), 1)
    for _ in range(iterations):
        counts = np.zeros_like(table)
        for a, b in zip(left, right, strict=True):
            block = table[np.ix_(a, b)]
            counts[np.ix_(a, b)] += block / (frequency[b] + block.sum(axis=0))
        table = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-30)
    return table


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 3))
def test_model1_is_its_reference(seed: int, iterations: int, lanes: int) -> None:
    generator = np.random.default_rng(seed)
    size, n = int(generator.integers(2, 15)), int(generator.integers(1, 12))
    sides = [
        [generator.integers(0, size, generator.integers(0, 6)).tolist() for _ in range(n)]
        for _ in range(2)
    ]
    left, right = (distinct(*flat(side)) for side in sides)
    sets = [[sorted(set(one)) for one in side] for side in sides]
    assert (left[0] == flat(sets[0])[0]).all() and (left[1] == flat(sets[0])[1]).all()
    starts, where = occurrences(*left, size)
    rows = np.zeros(size + 1, dtype=np.int64)
    none = np.empty(0, dtype=np.int32)
    sizes = np.empty(size, dtype=np.int64)
    use_loop_threads(lanes)
    partners(starts, where, *right, 1, rows, none, sizes)
    np.cumsum(sizes, out=rows[1:])
    columns = np.empty(rows[-1], dtype=np.int32)
    if len(columns):
        partners(starts, where, *right, 1, rows, columns, sizes)
    frequency = (generator.random(size) + 0.1).astype(np.float32)
    probability = np.repeat(1 / np.maximum(np.diff(rows), 1), np.diff(rows)).astype(np.float32)
    for _ in range(iterations):
        expected = np.empty(len(right[0]), dtype=np.float32)
        expectation(*left, *right, rows, columns, probability, frequency, expected)
        following = np.zeros_like(probability)
        maximisation(starts, where, *right, rows, columns, probability, expected, following)
        probability = following
    use_loop_threads(None)
    dense = np.zeros((size, size))
    dense[np.repeat(np.arange(size), np.diff(rows)), columns] = probability
    reference = model1_reference(sets[0], sets[1], size, frequency, iterations)
    np.testing.assert_allclose(dense, reference, atol=1e-4)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 200), max_size=4))
def test_distinct_sorts_sentences_of_any_length(seed: int, lengths: list[int]) -> None:
    generator = np.random.default_rng(seed)
    most = int(generator.choice([1, 5, 300, 2**31 - 1]))  # few words, many repeats
    sentences = [generator.integers(0, most, length).astype(np.int32) for length in lengths]
    ids, offsets = distinct(*flat([one.tolist() for one in sentences]))
    for one, first, last in zip(sentences, offsets, offsets[1:], strict=False):
        np.testing.assert_array_equal(ids[first:last], np.unique(one))
    assert len(ids) == offsets[-1] and len(offsets) == len(lengths) + 1
