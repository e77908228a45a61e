"""int8 search: the candidates of the rows and of the columns of a block, in one pass.

Vectors are rounded to int8, each with its own scale. A tile of 6 x 16 integer dot products is
compared, still in registers, with the last place of the list of each row and column. Products that
reach it go into the list; the similarity matrix is never written to memory. Callers compute the
similarities of the candidates again, exactly. Integers are exact, so lists do not depend on block
size, order of blocks or threads.

The fast instructions add in 16 bits. :func:`quantise` prevents overflow: of the four numbers in a
lane, the products of the first two and of the last two are summed apart; by the Cauchy-Schwarz
inequality neither sum exceeds the product of the lengths of the vectors, each at most the square
root of 32767.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.kernels.half import bits, widen
from miner.kernels.loops import njit
from miner.kernels.tile import COLUMNS, ROWS, has_avx2, lowest_bit, tile_avx2
from miner.kernels.vnni import two_tiles_vnni

# Largest int8 value. Columns are stored as uint8, UP higher, so at most 127; two products of 127
# and 63 are added in 16 bits.
LARGEST = 63
UP = 64
# Bound on the sum of squares over the first, or the last, two of every four components.
SQUARES = 32767
# Bytes of packed rows that a thread multiplies with each tile of columns: half of an L2 cache.
CACHED = 256 << 10


@dataclass(frozen=True)
class Pack:
    """``count`` vectors rounded to int8, in tiles of ``width`` vectors.

    ``tiles (t, quads, width, 4)`` is int8 for rows; for columns it is uint8, 64 higher. A component
    is its value times ``scale (t * width,) float32``. ``correction (t * width,) int32`` packs two
    int16 that cancel the 64 of the columns in the two sums. The last tile is padded with zeros.
    """

    tiles: np.ndarray
    scale: np.ndarray
    correction: np.ndarray
    count: int


@njit(error_model="numpy")
def _factor(vector, row):
    """Widen ``vector`` into ``row``; returns the largest factor that scales it to int8."""
    largest = np.float32(0.0)
    square = np.zeros(2)
    for j in range(len(vector)):
        value = widen(vector[j])
        row[j] = value
        largest = max(largest, abs(value))
        square[(j % 4) // 2] += np.float64(value) * np.float64(value)
    if largest == 0.0:
        return 0.0
    length = np.sqrt(max(square[0], square[1]))
    return min(LARGEST / np.float64(largest), np.sqrt(np.float64(SQUARES)) / length)


@njit(nogil=True, error_model="numpy")
def step_sizes(vectors, out):
    """Write the width of one int8 step of each vector to ``out (n,) float32``; 0 for zero vectors.

    ``vectors (n, d)`` as in :func:`quantise`, which may take steps up to 2 % wider.
    """
    row = np.empty(vectors.shape[1], np.float32)
    for i in range(len(vectors)):
        factor = _factor(vectors[i], row)
        out[i] = np.float32(1.0 / factor) if factor > 0.0 else np.float32(0.0)


@njit(nogil=True, error_model="numpy")
def quantise(vectors, tiles, up, scale, correction, first, last):
    """Round ``vectors (n, d)`` to int8, into the tiles ``first`` to ``last`` of a :class:`Pack`.

    ``vectors`` are float32, or :func:`miner.kernels.half.bits` of float16. Each is scaled up as far
    as its largest component and its length allow; a zero vector gets the scale 0. ``up``, 0 for
    rows and UP for columns, is added to every value.
    """
    n = len(vectors)
    quads, width = tiles.shape[1], tiles.shape[2]
    row = np.empty(quads * 4, np.float32)
    for t in range(first, last):
        for r in range(width):
            i = t * width + r
            row[:] = np.float32(0.0)
            factor = _factor(vectors[i], row) if i < n else 0.0
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
                factor *= 0.995  # rounding made the vector a little longer
            scale[i] = np.float32(1.0 / factor) if factor > 0.0 else np.float32(0.0)
            low = (-UP * sums[0]) & 0xFFFF
            high = (-UP * sums[1]) & 0xFFFF
            both = low | (high << 16)
            correction[i] = np.int32(both - (1 << 32) if both >= 1 << 31 else both)


def empty_pack(count: int, dimension: int, *, columns: bool) -> Pack:
    """Allocate a pack of ``count`` vectors, to be filled by :func:`quantise`."""
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
    """Pack ``vectors (n, d)``, float32 or float16, as rows or as columns of a product."""
    made = empty_pack(len(vectors), vectors.shape[1], columns=columns)
    up = UP if columns else 0
    quantise(bits(vectors), made.tiles, up, made.scale, made.correction, 0, len(made.tiles))
    return made


@njit(nogil=True, error_model="numpy")
def tile_reference(
    a, a_at, b, b_at, quads, correction, a_scale, row, b_scale, column,
    row_least, row_at, column_least, column_at, out, hits,
):  # fmt: skip
    """Compute one tile; the version of :func:`miner.kernels.tile.tile_avx2` for other processors.

    ``out[r * 16 + c] = (row r · column c) * b_scale[c] * a_scale[r]``. Bit ``c`` of ``hits[r]`` is
    set if this is at least ``row_least[r]`` or ``column_least[c]``. Returns the bitwise or of all
    hits.
    """
    total = np.int32(0)
    for r in range(ROWS):
        mask = np.int32(0)
        for c in range(COLUMNS):
            product = np.int32(0)
            for quad in range(quads):
                for byte in range(4):
                    left = np.int32(a[a_at // (quads * ROWS * 4), quad, r, byte])
                    right = np.int32(b[b_at // (quads * COLUMNS * 4), quad, c, byte])
                    product += left * (right - np.int32(UP))
            value = np.float32(product) * b_scale[column + c] * a_scale[row + r]
            out[r * COLUMNS + c] = value
            if value >= row_least[row_at + r] or value >= column_least[column_at + c]:
                mask |= np.int32(1 << c)
        hits[r] = mask
        total |= mask
    return total


@njit(nogil=True, error_model="numpy")
def put(similarity, position, least, i, value, place):
    """Insert a candidate into list ``i``, sorted by similarity descending, then position.

    A candidate that the list already holds is not inserted again.
    """
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


@njit(nogil=True, error_model="numpy")
def two_tiles_reference(
    a, a_at, b, b_at, b_next, quads, correction, a_scale, row, b_scale, column, column_next,
    row_least, column_least, out, hits,
):  # fmt: skip
    """Compute a tile with two tiles of columns, as :func:`miner.kernels.vnni.two_tiles_vnni` does.

    Each row of ``out`` and ``hits`` has both.
    """
    part, bits = np.empty(ROWS * COLUMNS, np.float32), np.empty(ROWS, np.uint16)
    total = np.int32(0)
    for k in range(2):
        other, at = (b_at, column) if k == 0 else (b_next, column_next)
        total |= tile_reference(
            a, a_at, b, other, quads, correction, a_scale, row, b_scale, at,
            row_least, row, column_least, at, part, bits,
        )  # fmt: skip
        for r in range(ROWS):
            hits[2 * r + k] = bits[r]
            for c in range(COLUMNS):
                out[(2 * r + k) * COLUMNS + c] = part[r * COLUMNS + c]
    return total


# Chosen at import, so that numba can cache the loops that call them.
tile: Any = tile_avx2 if has_avx2() else tile_reference
two_tiles: Any = two_tiles_vnni if has_avx2() else two_tiles_reference


@njit(nogil=True, error_model="numpy")
def merge(
    a, a_scale, correction, rows, b, b_scale, columns, first_row, last_row, first_column,
    last_column, f_similarity, f_position, f_least, b_similarity, b_position, b_least, wide,
):  # fmt: skip
    """Merge the products of some tiles of rows and of columns into the lists of both.

    ``rows`` and ``columns int32`` are the positions of all vectors of either pack in their side,
    each at most once. ``f_similarity (n, w) float32``, ``f_position (n, w) int32`` and ``f_least
    (n,) float32``, the last similarity of each list, are the lists of all rows of the side, ``b_*``
    of the columns. Empty places are -inf and -1. Calls that share neither rows nor columns can run
    at the same time. ``wide`` (:func:`miner.kernels.vnni.has_vnni`) is faster and changes no list.
    """
    quads = a.shape[1]
    a_size, b_size = quads * ROWS * 4, quads * COLUMNS * 4
    # Tiles of columns that are multiplied at once; what cancels the 64 of the columns in 32 bits.
    width = 2 if wide else 1
    whole = np.zeros(len(a_scale), np.int32)
    for i in range(first_row, last_row if wide else first_row):
        for quad in range(quads):
            for r in range(ROWS):
                for byte in range(4):
                    whole[i * ROWS + r] -= np.int32(UP) * np.int32(a[i, quad, r, byte])
    out = np.empty(ROWS * COLUMNS * width, np.float32)
    hits = np.empty(ROWS * width, np.uint16)
    # Last places of the lists; infinite for the padding of a tile.
    row_least = np.full(len(a_scale), np.inf, np.float32)
    column_least = np.full(len(b_scale), np.inf, np.float32)
    for i in range(first_row * ROWS, min(len(rows), last_row * ROWS)):
        row_least[i] = f_least[rows[i]]
    for j in range(first_column * COLUMNS, min(len(columns), last_column * COLUMNS)):
        column_least[j] = b_least[columns[j]]
    step = max(1, CACHED // a_size)
    for near in range(first_row, last_row, step):
        for j in range(first_column, last_column, width):
            # The last of an odd number of tiles is multiplied twice.
            tiles = min(width, last_column - j)
            after = j + tiles - 1
            for i in range(near, min(near + step, last_row)):
                if wide:
                    found = two_tiles(
                        a, i * a_size, b, j * b_size, after * b_size, quads, whole, a_scale,
                        i * ROWS, b_scale, j * COLUMNS, after * COLUMNS, row_least, column_least,
                        out, hits,
                    )  # fmt: skip
                else:
                    found = tile(
                        a, i * a_size, b, j * b_size, quads, correction, a_scale, i * ROWS, b_scale,
                        j * COLUMNS, row_least, i * ROWS, column_least, j * COLUMNS, out, hits,
                    )  # fmt: skip
                if not found:
                    continue
                for place in range(ROWS * width):
                    if place % width >= tiles:
                        continue
                    row, mask = i * ROWS + place // width, np.int32(hits[place])
                    while mask != 0:
                        c = lowest_bit(mask)
                        mask &= mask - np.int32(1)
                        column = (j + place % width) * COLUMNS + c
                        if row >= len(rows) or column >= len(columns):
                            continue
                        value, s, t = out[place * COLUMNS + c], rows[row], columns[column]
                        if value >= row_least[row]:
                            put(f_similarity, f_position, f_least, s, value, t)
                            row_least[row] = f_least[s]
                        if value >= column_least[column]:
                            put(b_similarity, b_position, b_least, t, value, s)
                            column_least[column] = b_least[t]
