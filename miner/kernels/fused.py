"""One pass over a block of the similarity matrix: the nearest columns of its rows, and vice versa.

Vectors are rounded to bytes, each by a scale of its own, and a tile of 6 x 16 integer dot products
is compared, still in registers, with the last place of each row's and each column's list. The
matrix is never written down; what beats a last place goes into the list. Callers score what was
kept again, exactly.

The arithmetic is exact but for the rounding to bytes, and made of integers, so that similarities
and lists are the same for every block size, order of blocks and thread count. That the
fast instructions' 16-bit sums do not overflow is seen to by :func:`quantise`: of the four bytes
that meet in a lane, the products of the first two are summed apart from those of the last two, and
by Cauchy and Schwarz neither sum exceeds the product of the vectors' lengths, which are kept within
the square root of 32767.
"""

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from miner.kernels.half import bits, widen
from miner.kernels.tile import COLUMNS, ROWS, has_avx2, lowest_bit, tile_avx2

# The largest byte: one of the factors travels as an unsigned byte, this much higher, and two
# products of 127 and 63 are added in 16 bits.
LARGEST = 63
UP = 64
# The most that the squares of a vector's first, or last, two bytes of every four may add up to.
SQUARES = 32767
# Bytes of packed rows that a thread goes through for each tile of columns: half of an L2 cache.
NEAR = 256 << 10


@dataclass(frozen=True)
class Pack:
    """``count`` vectors as bytes, in tiles.

    ``tiles (t, quads, width, 4)``: int8, or uint8 and 64 higher for columns. ``scale (t * width,)
    float32`` times a byte is the component; ``correction (t * width,) int32`` holds two int16, what
    a column's 64 adds to the two sums, negative. Rows that fill up the last tile are zero.
    """

    tiles: np.ndarray
    scale: np.ndarray
    correction: np.ndarray
    count: int


@numba.njit(nogil=True, cache=True, error_model="numpy")
def quantise(vectors, tiles, up, scale, correction, first, last):
    """Round ``vectors (n, d)`` to bytes, into the tiles ``first`` to ``last``.

    They are float32, or float16 as :func:`miner.kernels.half.bits`. Each vector is scaled as far as
    its largest component and its length allow; a zero vector gets the scale 0. The other arguments
    are those of :class:`Pack`.
    """
    n, d = vectors.shape
    quads, width = tiles.shape[1], tiles.shape[2]
    row = np.empty(quads * 4, np.float32)
    for t in range(first, last):
        for r in range(width):
            i = t * width + r
            largest = np.float32(0.0)
            square = np.zeros(2)
            row[:] = np.float32(0.0)
            if i < n:
                for j in range(d):
                    value = widen(vectors[i, j])
                    row[j] = value
                    largest = max(largest, abs(value))
                    square[(j % 4) // 2] += np.float64(value) * np.float64(value)
            factor = 0.0
            if largest > 0.0:
                length = np.sqrt(max(square[0], square[1]))
                factor = min(LARGEST / np.float64(largest), np.sqrt(np.float64(SQUARES)) / length)
            while True:
                squares = np.zeros(2, np.int64)
                sums = np.zeros(2, np.int64)
                for j in range(quads * 4):
                    byte = np.int64(np.rint(np.float64(row[j]) * factor))
                    squares[(j % 4) // 2] += byte * byte
                    sums[(j % 4) // 2] += byte
                    tiles[t, j // 4, r, j % 4] = byte + up
                if max(squares[0], squares[1]) <= SQUARES:
                    break
                factor *= 0.995  # rounding made it a little longer
            scale[i] = np.float32(1.0 / factor) if factor > 0.0 else np.float32(0.0)
            low = (-UP * sums[0]) & 0xFFFF
            high = (-UP * sums[1]) & 0xFFFF
            both = low | (high << 16)
            correction[i] = np.int32(both - (1 << 32) if both >= 1 << 31 else both)


def empty_pack(count: int, dimension: int, *, columns: bool) -> Pack:
    """Room for ``count`` vectors, to be filled by :func:`quantise`."""
    width = COLUMNS if columns else ROWS
    number = -(-count // width)
    kind = np.uint8 if columns else np.int8
    return Pack(
        np.empty((number, max(1, -(-dimension // 4)), width, 4), kind),
        np.empty(number * width, np.float32),
        np.empty(number * width, np.int32),
        count,
    )


def pack(vectors: np.ndarray, *, columns: bool) -> Pack:
    """``vectors (n, d)``, float32 or float16, ready to be multiplied, as rows or as columns."""
    made = empty_pack(len(vectors), vectors.shape[1], columns=columns)
    up = UP if columns else 0
    quantise(bits(vectors), made.tiles, up, made.scale, made.correction, 0, len(made.tiles))
    return made


def similarity_reference(rows: Pack, columns: Pack) -> np.ndarray:
    """The matrix that :func:`merge` never writes down: ``(n, m) float32``, in plain numpy."""
    left, right = (
        part.tiles.astype(np.int64).transpose(0, 2, 1, 3).reshape(len(part.scale), -1)
        for part in (rows, columns)
    )
    product = (left @ (right - UP).T).astype(np.float32)
    return (product * columns.scale * rows.scale[:, None])[: rows.count, : columns.count]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def tile_reference(
    a, a_at, b, b_at, quads, correction, a_scale, row, b_scale, column,
    row_least, row_at, column_least, column_at, out, hits,
):  # fmt: skip
    """What :func:`miner.kernels.tile.tile_avx2` computes.

    ``out[r * 16 + c] = (row r · column c) * b_scale[c] * a_scale[r]``; bit ``c`` of ``hits[r]``
    says that this is no less than ``row_least[r]`` or no less than ``column_least[c]``. Returns the
    hits of all rows, or-ed.
    """
    total = np.int32(0)
    for r in range(ROWS):
        mask = np.int32(0)
        for c in range(COLUMNS):
            product = np.int32(0)
            for quad in range(quads):
                for byte in range(4):
                    left = np.int32(a[a_at + (quad * ROWS + r) * 4 + byte])
                    right = np.int32(b[b_at + (quad * COLUMNS + c) * 4 + byte])
                    product += left * (right - np.int32(UP))
            value = np.float32(product) * b_scale[column + c] * a_scale[row + r]
            out[r * COLUMNS + c] = value
            if value >= row_least[row_at + r] or value >= column_least[column_at + c]:
                mask |= np.int32(1 << c)
        hits[r] = mask
        total |= mask
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def put(similarity, position, least, i, value, place):
    """Put a candidate in list ``i``, by (similarity descending, position ascending), once."""
    at = similarity.shape[1]
    while at > 0 and (
        value > similarity[i, at - 1]
        or (value == similarity[i, at - 1] and place < position[i, at - 1])
    ):
        at -= 1
    last = similarity.shape[1] - 1
    if at > last or (at > 0 and position[i, at - 1] == place and similarity[i, at - 1] == value):
        return
    for lower in range(last, at, -1):
        similarity[i, lower] = similarity[i, lower - 1]
        position[i, lower] = position[i, lower - 1]
    similarity[i, at] = value
    position[i, at] = place
    least[i] = similarity[i, last]


# Fixed when the module is imported, so that what is compiled can be kept on disk.
tile: Any = tile_avx2 if has_avx2() else tile_reference


@numba.njit(nogil=True, cache=True, error_model="numpy")
def merge(
    a, a_scale, correction, rows, b, b_scale, columns, first_row, last_row, first_column,
    last_column, s, t, f_similarity, f_position, f_least, b_similarity, b_position, b_least,
):  # fmt: skip
    """Merge the similarities of some tiles of rows and of columns into the lists of both.

    The tiles are those of rows ``first_row`` to ``last_row`` and of columns ``first_column`` to
    ``last_column``, of packs of ``rows`` and ``columns`` vectors. ``f_similarity (n, w) float32``,
    ``f_position (n, w) int32`` and ``f_least (n,) float32``, the last of each list, are those of
    the rows, of which the first is row ``s``; the same with ``b`` for the columns and ``t``. Empty
    places are -inf and -1. Calls that share neither rows nor columns can run at the same time.
    """
    quads = a.shape[1]
    a_size, b_size = quads * ROWS * 4, quads * COLUMNS * 4
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    out = np.empty(ROWS * COLUMNS, np.float32)
    hits = np.empty(ROWS, np.int32)
    # Last places of the tiles at hand; those of rows that fill up a tile are out of reach.
    row_least = np.full(len(a_scale), np.inf, np.float32)
    column_least = np.full(len(b_scale), np.inf, np.float32)
    for i in range(first_row * ROWS, min(rows, last_row * ROWS)):
        row_least[i] = f_least[s + i]
    for j in range(first_column * COLUMNS, min(columns, last_column * COLUMNS)):
        column_least[j] = b_least[t + j]
    step = max(1, NEAR // a_size)
    for near in range(first_row, last_row, step):
        for j in range(first_column, last_column):
            for i in range(near, min(near + step, last_row)):
                if not tile(
                    flat_a, i * a_size, flat_b, j * b_size, quads, correction, a_scale, i * ROWS,
                    b_scale, j * COLUMNS, row_least, i * ROWS, column_least, j * COLUMNS, out, hits,
                ):  # fmt: skip
                    continue
                for r in range(ROWS):
                    mask = hits[r]
                    while mask != 0:
                        c = lowest_bit(mask)
                        mask &= mask - np.int32(1)
                        row, column = i * ROWS + r, j * COLUMNS + c
                        if row >= rows or column >= columns:
                            continue
                        value = out[r * COLUMNS + c]
                        if value >= row_least[row]:
                            put(f_similarity, f_position, f_least, s + row, value, t + column)
                            row_least[row] = f_least[s + row]
                        if value >= column_least[column]:
                            put(b_similarity, b_position, b_least, t + column, value, s + row)
                            column_least[column] = b_least[t + column]
