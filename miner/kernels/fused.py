"""int8 search: the candidates of the rows and of the columns of a block, in one pass.

Vectors are rounded to int8, each with its own scale. A tile of 6 x 16 integer dot products is
compared, still in registers, with the last entry of the list of each row and column. Products that
reach it go into the list; the similarity matrix is never written to memory. Callers rescore the
candidates exactly. Integers are exact, so lists do not depend on block size, order of blocks or
threads.

The fast instructions add in 16 bits. :func:`quantise` prevents overflow: a lane has four numbers;
the products of the first two and of the last two have separate sums. By the Cauchy-Schwarz
inequality neither sum exceeds the product of the lengths of the vectors, each at most the square
root of 32767.
"""

from dataclasses import dataclass

import numpy as np

from miner.kernels.exact import bits
from miner.kernels.library import kernel

# Rows and columns of a tile: its sums take 12 of 16 vector registers with AVX2.
ROWS, COLUMNS = 6, 16
# Largest int8 value. Columns are stored as uint8, shifted up by UP, so at most 127; two products of
# 127 and 63 are added in 16 bits.
LARGEST = 63
UP = 64
# Bound on the sum of squares over the first two, or the last two, of every four components.
SQUARES = 32767
# Bytes of packed rows that a thread multiplies with each tile of columns: half of an L2 cache.
CACHED = 256 << 10


@dataclass(frozen=True)
class Pack:
    """``count`` vectors rounded to int8, in tiles of ``width`` vectors.

    ``tiles (t, quads, width, 4)`` is int8 for rows; for columns it is uint8, 64 higher. A component
    is its stored value times ``scale (t * width,) float32``. ``correction (t * width,) int32``
    packs two int16 that remove the shift of the columns by 64 from the two sums. The last tile is
    zero-padded.
    """

    tiles: np.ndarray
    scale: np.ndarray
    correction: np.ndarray
    count: int


_step_sizes = kernel("step_sizes(vectors: u2|f4[n, d], &row: f4[d], &out: f4[n])")
_quantise = kernel(
    "quantise(vectors: u2|f4[n, d], &tiles: u1[t, quads, width, 4], up: int, &scale: f4[all], "
    "&correction: i4[all], &row: f4[padded], first: int, last: int)"
)
# One tile, for tests: ``out[r, c] = (row r · column c) * b_scale[c] * a_scale[r]``. Bit ``c`` of
# ``hits[r]`` is set if this is at least ``row_least[r]`` or ``column_least[c]``.
one_tile = kernel(
    "one_tile(a: i1[quads, 6, 4], b: u1[quads, 16, 4], correction: i4[6], a_scale: f4[6], "
    "b_scale: f4[16], row_least: f4[6], column_least: f4[16], &out: f4[6, 16], &hits: u2[6]) -> int"
)
_merge = kernel(
    "merge(a: i1[ta, quads, 6, 4], a_scale: f4[pa], correction: i4[pa], rows: i4[count_a], "
    "b: u1[tb, quads, 16, 4], b_scale: f4[pb], columns: i4[count_b], first_row: int, "
    "last_row: int, first_column: int, last_column: int, step: int, &f_similarity: f4[n, w], "
    "&f_position: i4[n, w], &f_least: f4[f], &b_similarity: f4[m, v], &b_position: i4[m, v], "
    "&b_least: f4[g]) -> memory"
)


def step_sizes(vectors: np.ndarray, out: np.ndarray) -> None:
    """Write the int8 step size of each vector to ``out (n,) float32``; 0 for zero vectors.

    ``vectors (n, d)`` as in :func:`quantise`, whose steps may be up to 2 % larger.
    """
    _step_sizes(vectors, np.empty(vectors.shape[1], np.float32), out)


def quantise(
    vectors: np.ndarray,
    tiles: np.ndarray,
    up: int,
    scale: np.ndarray,
    correction: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Round ``vectors (n, d)`` to int8, into the tiles ``first`` to ``last`` of a :class:`Pack`.

    ``vectors`` are float32, or :func:`miner.kernels.exact.bits` of float16. Each vector gets the
    largest scale that its largest component and its length allow; a zero vector gets the scale 0.
    ``up``, 0 for rows and UP for columns, is added to every value.
    """
    row = np.empty(4 * tiles.shape[1], np.float32)
    _quantise(vectors, tiles.view(np.uint8), up, scale, correction, row, first, last)


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
    packed = empty_pack(len(vectors), vectors.shape[1], columns=columns)
    up = UP if columns else 0
    quantise(bits(vectors), packed.tiles, up, packed.scale, packed.correction, 0, len(packed.tiles))
    return packed


def merge(
    rows: Pack,
    s: np.ndarray,
    columns: Pack,
    t: np.ndarray,
    row_tiles: tuple[int, int],
    column_tiles: tuple[int, int],
    lists: tuple[np.ndarray, ...],
    cached: int = CACHED,
) -> None:
    """Merge the products of some tiles of rows and of columns into the lists of both.

    ``s`` and ``t int32`` are the positions of both packs' vectors in their side, each at most once.
    ``row_tiles`` and ``column_tiles`` are the first tile and the end. ``lists`` are six arrays:
    ``similarity (n, w) float32``, ``position (n, w) int32`` and ``least (n,) float32``, the last
    similarity of each list, first for all rows of the side, then for all columns. Empty slots are
    -inf and -1. Calls that share neither rows nor columns can run at the same time. ``cached``:
    bytes of rows to keep in the cache while they meet each tile of columns.
    """
    step = max(1, cached // (rows.tiles.shape[1] * ROWS * 4))
    _merge(
        *(rows.tiles, rows.scale, rows.correction, s, columns.tiles, columns.scale, t),
        *(*row_tiles, *column_tiles, step, *lists),
    )
