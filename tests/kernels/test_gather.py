"""Gathered packs and similarities of single pairs agree with the kernels of whole blocks."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_references import similarity_reference

from miner.kernels.fused import Pack, pack, quantise
from miner.kernels.gather import gather, put_pairs, similarities
from miner.knn.lists import Lists

SOME = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


def vectors(seed: int, n: int, d: int, coarse: bool) -> np.ndarray:
    """Return ``(n, d) float32`` with a zero row, and with ties if ``coarse``."""
    generator = np.random.default_rng(seed)
    made = generator.integers(-2, 3, (n, d)) if coarse else generator.normal(size=(n, d))
    made[n // 2] = 0
    return made.astype(np.float32)


def codes_of(made: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n, quads = len(made), -(-made.shape[1] // 4)
    codes = np.empty((n, quads, 1, 4), np.int8)
    scale, correction = np.empty(n, np.float32), np.empty(n, np.int32)
    quantise(made, codes, 0, scale, correction, 0, n)
    return codes.reshape(n, 4 * quads), scale, correction


def equal(one: Pack, other: Pack) -> None:
    np.testing.assert_array_equal(one.tiles, other.tiles)
    np.testing.assert_array_equal(one.scale, other.scale)
    np.testing.assert_array_equal(one.correction[: one.count], other.correction[: one.count])
    assert one.count == other.count


@SOME
@given(SEEDS, st.integers(1, 40), st.integers(1, 70), st.integers(0, 60), st.booleans())
def test_gathered_packs_are_packs(seed: int, n: int, d: int, m: int, columns: bool) -> None:
    made = vectors(seed, n, d, False)
    places = np.random.default_rng(seed).integers(0, n, m).astype(np.int32)
    equal(gather(*codes_of(made), places, columns=columns), pack(made[places], columns=columns))


@SOME
@given(
    SEEDS,
    st.tuples(st.integers(1, 20), st.integers(1, 20)),
    st.integers(1, 30),
    st.integers(1, 12),
    st.integers(1, 3),
    st.booleans(),
)
def test_pairs_are_put_as_blocks_merge_them(seed, sizes, d, width, lanes, swapped):
    """Similarities equal those of a block bit for bit in both directions, with ties and empty
    slots.
    """
    sides = [vectors(seed + i, size, d, True) for i, size in enumerate(sizes)]
    whole = similarity_reference(pack(sides[0], columns=False), pack(sides[1], columns=True))
    matrix = whole.T if swapped else whole
    generator = np.random.default_rng(seed)
    rows = np.arange(len(matrix), dtype=np.int32)
    found = np.stack([generator.permutation(matrix.shape[1]) for _ in rows]).astype(np.int32)
    found[generator.random(found.shape) < 0.3] = -1
    a, b = (codes_of(side) for side in (sides[::-1] if swapped else sides))
    value = np.empty(found.shape, np.float32)
    similarities(a[0], a[1], b[0], b[1], rows, found, 0, len(rows), swapped, value)
    wanted = np.take_along_axis(matrix, found.astype(np.int64), axis=1)
    np.testing.assert_array_equal(value, np.where(found >= 0, wanted, -np.inf))
    lists = Lists.empty(len(matrix), width), Lists.empty(matrix.shape[1], width)
    for _ in range(2):  # a repeated pair is listed once
        for lane in range(lanes):
            put_pairs(rows, found, value, lane, lanes, *lists[0].arrays, *lists[1].arrays)
    chosen = np.full(matrix.shape, -np.inf, np.float32)
    place = np.nonzero(found >= 0)
    chosen[place[0], found[place]] = value[place]
    for part, scores in zip(lists, (chosen, chosen.T), strict=True):
        order = np.argsort(-scores, axis=1, kind="stable")[:, :width]
        best = np.take_along_axis(scores, order, axis=1)
        size = order.shape[1]
        np.testing.assert_array_equal(part.similarity[:, :size], best)
        np.testing.assert_array_equal(part.position[:, :size], np.where(best > -np.inf, order, -1))
        np.testing.assert_array_equal(part.least, part.similarity[:, -1])
