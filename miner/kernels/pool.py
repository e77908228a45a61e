"""Mean of table rows per sentence, normalised: the whole of the averaging encoder (P19, section 3).

Sentences arrive flat, as in a CSR matrix: ``ids`` holds every piece of every sentence, and
sentence ``i`` owns ``ids[offsets[i]:offsets[i + 1]]``. Each sum runs in the order of its ids and
touches no other sentence, so a vector never depends on batch, chunk or thread.

The table is as the model keeps it, int8 with a scale for each row or float32: a quarter of the
memory, which decides the speed of adding up rows from all over it. A row's values are rounded to
float32 before they are added, so that the vectors are, bit for bit, those of the float32 table.
"""

import numba
import numpy as np


def mean_pool_reference(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """What :func:`mean_pool` computes, in plain numpy and double precision: ``(n, d) float64``."""
    out = np.zeros((len(offsets) - 1, table.shape[1]), dtype=np.float64)
    for row in range(len(out)):
        own = ids[offsets[row] : offsets[row + 1]]
        total = (table[own].astype(np.float64) * scales[own, None]).sum(axis=0)
        norm = np.sqrt(total @ total)
        if norm > 0:
            out[row] = total / norm
    return out


@numba.njit(nogil=True, cache=True, error_model="numpy")
def mean_pool(table, scales, ids, offsets, out):
    """Write the unit vector of every sentence into ``out``.

    ``table (V, d)`` int8 or float32, ``scales (V,) float32`` (ones for a float32 table),
    ``ids (t,) int32`` in [0, V), ``offsets (n + 1,) int64``, ``out (n, d) float32``. A sentence
    without ids, or whose rows cancel out, gets the zero row. The division by the length is left
    out: the normalisation cancels it.
    """
    squares = np.empty(table.shape[1], dtype=np.float64)
    for i in range(len(offsets) - 1):
        _sum(table, scales, ids[offsets[i] : offsets[i + 1]], out[i])
        _normalise(out[i], squares)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def mean_pool_half(table, scales, ids, offsets, out):
    """The same, rounded to float16, whose bits go into ``out (n, d) uint16``.

    A view does it: ``vectors.view(np.uint16)`` of ``vectors (n, d) float16``.
    """
    row = np.empty(table.shape[1], dtype=np.float32)
    squares = np.empty(table.shape[1], dtype=np.float64)
    shifted = np.empty(table.shape[1], dtype=np.float32)
    for i in range(len(offsets) - 1):
        _sum(table, scales, ids[offsets[i] : offsets[i + 1]], row)
        _normalise(row, squares)
        _to_half(row, shifted, out[i])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def mean_rows(table, scales, ids, offsets, out):
    """The same without normalising: ``out (n, d) float32`` gets means, zero for no ids.

    A mixed encoder (P18) adds them to the vectors of others.
    """
    for i in range(len(offsets) - 1):
        own = ids[offsets[i] : offsets[i + 1]]
        _sum(table, scales, own, out[i])
        if len(own) > 1:
            inverse = np.float32(1.0 / len(own))
            for j in range(out.shape[1]):
                out[i, j] *= inverse


@numba.njit(nogil=True, cache=True, error_model="numpy")
def normalise_rows(vectors):
    """Give every row of ``vectors (n, d) float32`` unit length in place; zero rows stay zero."""
    squares = np.empty(vectors.shape[1], dtype=np.float64)
    for i in range(len(vectors)):
        _normalise(vectors[i], squares)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _sum(table, scales, ids, row):
    row[:] = np.float32(0.0)
    for piece in ids:
        values, scale = table[piece], scales[piece]
        for j in range(len(row)):
            row[j] += np.float32(values[j]) * scale


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _normalise(row, squares):
    """Make ``row`` a unit vector; ``squares (d,) float64`` is scratch.

    Squares are added by folding the upper half onto the lower until one is left: an order that
    vector instructions can follow, and a GPU too, to the same bits.
    """
    for j in range(len(row)):
        squares[j] = np.float64(row[j]) * np.float64(row[j])
    width = len(row)
    while width > 1:
        half = (width + 1) // 2
        for j in range(width - half):
            squares[j] += squares[half + j]
        width = half
    if squares[0] > 0.0:
        inverse = np.float32(1.0 / np.sqrt(squares[0]))
        for j in range(len(row)):
            row[j] *= inverse


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _to_half(row, shifted, out):
    """Round ``row (d,) float32`` to float16, ties to even: ``out (d,) uint16`` gets the bits.

    numba has no float16, and numpy's conversion takes longer than all the rest. Below 2^-14, where
    float16 has a fixed step of 2^-24, adding 0.5 makes the float32 addition round to that step;
    ``shifted (d,) float32`` is scratch for it. Above, 13 bits are rounded off and the exponent is
    moved by 112.
    """
    for j in range(len(row)):
        shifted[j] = abs(row[j]) + np.float32(0.5)
    bits, shifted_bits = row.view(np.uint32), shifted.view(np.uint32)
    for j in range(len(row)):
        sign = (bits[j] >> np.uint32(16)) & np.uint32(0x8000)
        size = bits[j] & np.uint32(0x7FFFFFFF)
        if size < np.uint32(0x38800000):  # 2^-14
            half = np.uint32(shifted_bits[j] - np.uint32(0x3F000000))  # the bits of 0.5
        else:
            even = np.uint32(0xFFF) + ((size >> np.uint32(13)) & np.uint32(1))
            half = np.uint32((size - np.uint32(112 << 23) + even) >> np.uint32(13))
        if size >= np.uint32(0x477FF000):  # what rounds to 2^16 and more: infinity
            half = np.uint32(0x7C00)
        if size > np.uint32(0x7F800000):  # NaN
            half = np.uint32(0x7E00)
        out[j] = np.uint16(sign | half)
