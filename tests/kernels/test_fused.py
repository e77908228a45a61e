"""Kernels of the int8 and float32 engines against their plain references, bit for bit."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_references import similarity_reference

from miner.kernels import blocks, fused
from miner.kernels.fused import (
    COLUMNS,
    LARGEST,
    ROWS,
    SQUARES,
    UP,
    Pack,
    merge,
    one_tile,
    pack,
)
from miner.knn.lists import Lists

SEEDS = st.integers(0, 2**32 - 1)
SOME = settings(max_examples=60, deadline=None)
KINDS = ("normal", "ties", "equal", "sparse", "one huge", "tiny", "zero")


def vectors(seed: int, n: int, d: int, kind: str) -> np.ndarray:
    """Return ``(n, d) float32`` of a kind of `KINDS`, with a zero row and a duplicate."""
    generator = np.random.default_rng(seed)
    made = generator.normal(size=(n, d))
    if kind == "ties":
        made = generator.integers(-2, 3, size=(n, d))
    elif kind == "equal":  # equal components maximise the sums
        made = np.sign(made[:, :1]) * np.ones((n, d))
    elif kind == "sparse":
        made *= generator.random((n, d)) < 0.1
    elif kind == "one huge":
        made[np.arange(n), generator.integers(0, d, size=n)] = 1e4
    elif kind == "tiny":
        made *= 1e-30
    elif kind == "zero":
        made *= 0
    if n > 4:
        made[1] = 0
        made[4] = made[2]
    return np.ascontiguousarray(made, dtype=np.float32)


def unpacked(made: Pack, up: int) -> np.ndarray:
    """Return the int8 values of a pack, ``(t * width, quads * 4) int64``."""
    whole = made.tiles.astype(np.int64).transpose(0, 2, 1, 3)
    return whole.reshape(len(made.scale), 4 * made.tiles.shape[1]) - up


@SOME
@given(SEEDS, st.integers(0, 40), st.integers(1, 70), st.sampled_from(KINDS), st.booleans())
def test_int8_values_are_near_the_vectors_and_small_enough(seed, n, d, kind, columns):
    made = vectors(seed, n, d, kind)
    packed = pack(made, columns=columns)
    width, up = (COLUMNS, UP) if columns else (ROWS, 0)
    assert packed.tiles.shape == (-(-n // width), -(-d // 4), width, 4) and packed.count == n
    assert packed.tiles.dtype == (np.uint8 if columns else np.int8)
    found = unpacked(packed, up)
    assert np.abs(found).max(initial=0) <= LARGEST
    assert not found[n:].any() and not found[:, d:].any() and not packed.scale[n:].any()
    shape = len(found), found.shape[1] // 4, 2, 2
    squares = (found**2).reshape(shape).sum(axis=(1, 3))
    assert squares.max(initial=0) <= SQUARES
    # Half a rounding step, plus that of the float32 scale.
    away = np.abs(found[:n, :d] * packed.scale[:n, None].astype(np.float64) - made)
    assert (away <= 0.5001 * packed.scale[:n, None]).all()
    assert (packed.scale[:n] > 0).tolist() == made.any(axis=1).tolist()
    sums = -UP * found.reshape(shape).sum(axis=(1, 3))
    halves = packed.correction.view(np.int16).reshape(-1, 2)
    np.testing.assert_array_equal(halves, sums.astype(np.int16))


@pytest.mark.parametrize("d", [1, 3, 4, 255, 256, 300, 1024])
def test_int8_values_use_the_whole_range(d: int) -> None:
    """The largest value is LARGEST, or the length is within 2 % of its bound."""
    for kind in ("normal", "equal", "sparse", "one huge"):
        for row in unpacked(pack(vectors(5, 3, d, kind), columns=False), 0)[:3:2]:
            squares = (row**2).reshape(-1, 2, 2).sum(axis=(0, 2)).max()
            # Equal components all round up, or all round down.
            assert np.abs(row).max(initial=0) == LARGEST or squares > (
                0.6 if kind == "equal" else 0.96
            ) * SQUARES or not row.any()  # fmt: skip


def test_packing_in_parts_is_packing_at_once() -> None:
    made = vectors(6, 100, 30, "normal")
    whole, parts = pack(made, columns=True), fused.empty_pack(100, 30, columns=True)
    for first, last in ((3, 7), (0, 3)):
        fused.quantise(made, parts.tiles, UP, parts.scale, parts.correction, first, last)
    for one, other in ((whole.tiles, parts.tiles), (whole.scale, parts.scale)):
        np.testing.assert_array_equal(one, other)


def run_tile(left: Pack, i: int, right: Pack, j: int, least: Any) -> tuple[Any, ...]:
    out, hits = np.full((ROWS, COLUMNS), np.nan, np.float32), np.full(ROWS, 9, np.uint16)
    some, others = slice(i * ROWS, (i + 1) * ROWS), slice(j * COLUMNS, (j + 1) * COLUMNS)
    any_hit = one_tile(
        *(left.tiles[i], right.tiles[j], left.correction[some], left.scale[some]),
        *(right.scale[others], *least, out, hits),
    )
    return any_hit, hits, out


@SOME
@given(SEEDS, st.integers(1, 300), st.sampled_from(KINDS), st.sampled_from(KINDS), st.booleans())
def test_the_tile_is_its_reference(seed: int, d: int, kind: str, other: str, all_in: bool) -> None:
    left = pack(vectors(seed, 2 * ROWS, d, kind), columns=False)
    right = pack(vectors(seed + 1, 3 * COLUMNS, d, other), columns=True)
    wanted = similarity_reference(left, right)
    # Thresholds that products equal exactly, miss narrowly, or cannot reach.
    generator = np.random.default_rng(seed)
    least = [generator.choice(wanted.reshape(-1), size) for size in (ROWS, COLUMNS)]
    least[0][::2] = np.nextafter(least[0][::2], np.float32(np.inf))
    least[0][-1] = -np.inf if all_in else np.inf
    found = run_tile(left, 1, right, 2, least)
    part = wanted[ROWS : 2 * ROWS, 2 * COLUMNS : 3 * COLUMNS]
    np.testing.assert_array_equal(found[2], part)
    hit = (part >= least[0][:, None]) | (part >= least[1])
    np.testing.assert_array_equal(found[1] >> np.arange(COLUMNS)[:, None] & 1, hit.T)
    assert found[0] == np.bitwise_or.reduce(found[1])


@pytest.mark.parametrize("d", [1, 2, 4, 5, 64, 128, 256, 300, 1024, 4096])
def test_sums_do_not_overflow(d: int) -> None:
    """With vectors that maximise the sums, of either sign."""
    rows = np.zeros((ROWS, d), np.float32)
    rows[0], rows[1] = 1, -1
    rows[2, : min(d, 8)] = 1
    rows[3, 0] = -1
    rows[4] = np.where(np.arange(d) % 4 < 2, 1, 0)
    rows[5] = np.where(np.arange(d) % 2, -1, 1)
    columns = np.concatenate([rows, -rows, rows * 1e-20])
    left, right = pack(rows, columns=False), pack(columns, columns=True)
    least = np.full(ROWS, np.inf, np.float32), np.full(COLUMNS, np.inf, np.float32)
    found = run_tile(left, 0, right, 0, least)[2]
    np.testing.assert_array_equal(found, similarity_reference(left, right)[:, :COLUMNS])
    lists = Lists.empty(ROWS, 1), Lists.empty(len(columns), ROWS)
    merge_packs(left, 0, right, 0, 100, lists)
    check(lists, similarity_reference(left, right))
    # The error is at most half a step in each component.
    some, others = rows.astype(np.float64), columns[:COLUMNS].astype(np.float64)
    steps = 0.5001 * left.scale[:, None], 0.5001 * right.scale[:COLUMNS]
    bound = steps[0] * np.abs(others).sum(axis=1) + np.abs(some).sum(axis=1)[:, None] * steps[1]
    assert (np.abs(found - some @ others.T) <= bound + d * steps[0] * steps[1]).all()


def brute(matrix: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lists of the rows by definition: similarity descending, then position."""
    similarity = np.full((len(matrix), width), -np.inf, np.float32)
    position = np.full((len(matrix), width), -1, np.int32)
    order = np.argsort(-matrix, axis=1, kind="stable")[:, :width]
    similarity[:, : order.shape[1]] = np.take_along_axis(matrix, order, axis=1)
    position[:, : order.shape[1]] = order
    return similarity, position


def check(lists: tuple[Lists, Lists], matrix: np.ndarray) -> None:
    for found, whole in zip(lists, (matrix, matrix.T), strict=True):
        similarity, position = brute(whole, found.width)
        np.testing.assert_array_equal(found.similarity, similarity)
        np.testing.assert_array_equal(found.position, position)
        np.testing.assert_array_equal(found.least, similarity[:, -1])


def merge_packs(
    left: Pack, s: int, right: Pack, t: int, strip: int, lists: tuple[Lists, Lists],
    cached: int = fused.CACHED,
) -> None:  # fmt: skip
    """Merge a whole block, ``strip`` tiles at a time."""
    rows = np.arange(s, s + left.count, dtype=np.int32)
    columns = np.arange(t, t + right.count, dtype=np.int32)
    arrays = *lists[0].arrays, *lists[1].arrays
    for i in range(0, len(left.tiles), strip):
        for j in range(0, len(right.tiles), strip):
            some = i, min(i + strip, len(left.tiles))
            others = j, min(j + strip, len(right.tiles))
            merge(left, rows, right, columns, some, others, arrays, cached)


@SOME
@given(
    SEEDS,
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
    st.integers(1, 20),
    st.sampled_from(["normal", "ties", "ties", "equal", "zero"]),
    st.tuples(st.integers(1, 70), st.integers(1, 70)),
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
    st.sampled_from([1, 2, 100]),
)
def test_merged_blocks_are_the_lists(seed, sizes, d, kind, widths, steps, strip):
    """With ties, duplicates, zero rows, lists longer than the side; blocks in any order, some
    twice.
    """
    sides = [vectors(seed + i, size, d, kind) for i, size in enumerate(sizes)]
    lists = Lists.empty(sizes[0], widths[0]), Lists.empty(sizes[1], widths[1])
    corners = [(s, t) for s in range(0, sizes[0], steps[0]) for t in range(0, sizes[1], steps[1])]
    generator = np.random.default_rng(seed)
    corners += [corners[0], corners[-1]]
    generator.shuffle(corners)
    for s, t in corners:
        left = pack(sides[0][s : s + steps[0]], columns=False)
        right = pack(sides[1][t : t + steps[1]], columns=True)
        merge_packs(left, s, right, t, strip, lists)
    whole = pack(sides[0], columns=False), pack(sides[1], columns=True)
    check(lists, similarity_reference(*whole))


@pytest.mark.parametrize("cached", [1, 1 << 20])
def test_more_rows_than_a_cache_holds(cached: int) -> None:
    """The number of rows that a thread takes at a time changes no list."""
    left = pack(vectors(1, 100, 8, "normal"), columns=False)
    right = pack(vectors(2, 90, 8, "normal"), columns=True)
    lists = Lists.empty(100, 5), Lists.empty(90, 3)
    merge_packs(left, 0, right, 0, 100, lists, cached)
    check(lists, similarity_reference(left, right))


@SOME
@given(
    SEEDS,
    st.tuples(st.integers(1, 40), st.integers(1, 150)),
    st.booleans(),
    st.tuples(st.integers(1, 45), st.integers(1, 45)),
    st.tuples(st.integers(1, 40), st.integers(1, 150)),
)
def test_merged_float32_blocks_are_the_lists(seed, sizes, ties, widths, steps):
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=sizes).astype(np.float32)
    matrix = np.round(matrix) + np.float32(0) if ties else matrix
    lists = Lists.empty(sizes[0], widths[0]), Lists.empty(sizes[1], widths[1])
    corners = [(s, t) for s in range(0, sizes[0], steps[0]) for t in range(0, sizes[1], steps[1])]
    corners += [corners[0]]
    generator.shuffle(corners)
    for s, t in corners:
        block = np.ascontiguousarray(matrix[s : s + steps[0], t : t + steps[1]])
        blocks.merge_block(block, s, t, *lists[0].arrays, *lists[1].arrays)
    check(lists, matrix)
