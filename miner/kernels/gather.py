"""int8 vectors by position: packs of any rows, and similarities of any pairs.

The vectors of a side are rounded once (:func:`miner.kernels.fused.quantise`, tiles of one vector)
to ``codes (n, p) int8``, padded with zeros to a multiple of 4, with ``scale (n,) float32`` and
``correction (n,) int32``. Similarities equal :func:`miner.kernels.fused.merge`'s to the last bit,
so that a list tells a pair that comes twice.
"""

import numpy as np

from miner.kernels.fused import UP, Pack, empty_pack, put
from miner.kernels.loops import njit


def gather(
    codes: np.ndarray,
    scale: np.ndarray,
    correction: np.ndarray,
    places: np.ndarray,
    *,
    columns: bool,
) -> Pack:
    """Pack the vectors at ``places (m,) int32`` as rows or as columns of a product."""
    made = empty_pack(len(places), codes.shape[1], columns=columns)
    words, tiles = codes.view(np.uint32), made.tiles.view(np.uint32)[..., 0]
    copy(words, scale, correction, places, tiles, columns, made.scale, made.correction)
    return made


@njit(nogil=True, error_model="numpy")
def copy(codes, scale, correction, places, tiles, raised, to_scale, to_correction):
    """Copy the vectors at ``places (m,)`` into the tiles of a :class:`~miner.kernels.fused.Pack`.

    ``codes (n, quads) uint32`` and ``tiles (t, quads, width) uint32`` hold four components in each
    word. ``raised`` adds UP to every component. The last tile is padded as by ``quantise``.
    """
    quads, width = tiles.shape[1], tiles.shape[2]
    # A component is at most 63 from 0. With the top bit of its byte flipped, the sum with UP stays
    # within the byte, so that four are raised at once.
    flip = np.uint64(0x80808080 if raised else 0)
    up = np.uint64(UP * 0x01010101 if raised else 0)
    for t in range(len(tiles)):
        for r in range(width):
            i = t * width + r
            if i >= len(places):
                tiles[t, :, r] = up
                to_scale[i] = np.float32(0.0)
                to_correction[i] = np.int32(0)
                continue
            place = places[i]
            for quad in range(quads):
                tiles[t, quad, r] = ((codes[place, quad] ^ flip) + up) ^ flip
            to_scale[i] = scale[place]
            to_correction[i] = correction[place]


@njit(nogil=True, error_model="numpy")
def similarities(a, a_scale, b, b_scale, rows, columns, first, last, swapped, out):
    """Compute the similarities of the pairs (rows[i], columns[i, j]), for i in [first, last).

    ``a (n, p)`` and ``b (m, p)`` are codes, ``rows (q,)`` and ``columns (q, w)`` positions in them;
    ``out (q, w) float32`` receives -inf where a column is -1. ``swapped``: products are rounded as
    in a block whose rows are ``b``.
    """
    for i in range(first, last):
        left = a[rows[i]]
        for j in range(columns.shape[1]):
            column = columns[i, j]
            if column < 0:
                out[i, j] = -np.inf
                continue
            right = b[column]
            total = np.int32(0)
            for k in range(len(left)):
                product = np.int32(np.int32(left[k]) * np.int32(right[k]))  # numba widens it
                total = np.int32(total + product)
            if swapped:
                out[i, j] = np.float32(total) * a_scale[rows[i]] * b_scale[column]
            else:
                out[i, j] = np.float32(total) * b_scale[column] * a_scale[rows[i]]


@njit(nogil=True, error_model="numpy")
def put_pairs(rows, columns, values, lane, lanes, f_lists, b_lists):
    """Put the pairs (rows[i], columns[i, j]) with ``values (q, w)`` into the lists of both sides.

    ``f_lists`` and ``b_lists`` are the arrays of :class:`miner.knn.lists.Lists`. Only lists whose
    number modulo ``lanes`` is ``lane`` change, so that the lanes can run at the same time.
    """
    f_similarity, f_position, f_least = f_lists
    b_similarity, b_position, b_least = b_lists
    for i in range(len(rows)):
        row = rows[i]
        for j in range(columns.shape[1]):
            column, value = columns[i, j], values[i, j]
            if column < 0:
                continue
            if row % lanes == lane and value >= f_least[row]:
                put(f_similarity, f_position, f_least, row, value, column)
            if column % lanes == lane and value >= b_least[column]:
                put(b_similarity, b_position, b_least, column, value, row)
