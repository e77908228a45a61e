"""Averaging encoder: the normalised mean of the table rows of each sentence (P19, section 2).

Sentences are a ragged array of token ids. Each sum runs in the order of the ids and reads no other
sentence, so a vector does not depend on batch, chunk or thread.

The table is int8 with a scale for each row, or float32. Memory bandwidth decides the speed, and
int8 needs a quarter of it. Values are rounded to float32 before they are added, so both give the
same bits.
"""

import numpy as np

from miner.kernels.half import narrow
from miner.kernels.loops import njit


def mean_pool(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Write the unit vector of every sentence to ``out (n, d) float32``.

    ``table (V, d)`` int8 or float32, ``scales (V,) float32`` (ones for float32), ``ids (t,) int32``
    in [0, V), ``offsets (n + 1,) int64``. A sentence without ids, or whose rows cancel out, gets a
    zero row. The sum is not divided by the length: normalisation cancels it.
    """
    _mean_pool(table, scales, ids, offsets, np.empty(table.shape[1]), out)


@njit(nogil=True, error_model="numpy")
def _mean_pool(table, scales, ids, offsets, squares, out):
    for i in range(len(offsets) - 1):
        _sum(table, scales, ids[offsets[i] : offsets[i + 1]], out[i])
        _normalise(out[i], squares)


def mean_pool_half(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Compute :func:`mean_pool` and round it to the bits of float16: ``out (n, d) uint16``."""
    row = np.empty(table.shape[1], dtype=np.float32)
    _mean_pool_half(table, scales, ids, offsets, np.empty(len(row)), row, out)


@njit(nogil=True, error_model="numpy")
def _mean_pool_half(table, scales, ids, offsets, squares, row, out):
    for i in range(len(offsets) - 1):
        _sum(table, scales, ids[offsets[i] : offsets[i + 1]], row)
        _normalise(row, squares)
        _to_half(row, out[i])


@njit(nogil=True, error_model="numpy")
def mean_rows(table, scales, ids, offsets, out):
    """Write the means, not normalised, to ``out (n, d) float32``; zeros for a sentence without ids.

    A mixed encoder (P18) adds them to the vectors of other encoders.
    """
    for i in range(len(offsets) - 1):
        own = ids[offsets[i] : offsets[i + 1]]
        _sum(table, scales, own, out[i])
        if len(own) > 1:
            inverse = np.float32(1.0 / len(own))
            for j in range(out.shape[1]):
                out[i, j] *= inverse


def normalise_rows(vectors: np.ndarray) -> None:
    """Normalise every row of ``vectors (n, d) float32`` in place; zero rows stay zero."""
    _normalise_rows(vectors, np.empty(vectors.shape[1]))


@njit(nogil=True, error_model="numpy")
def _normalise_rows(vectors, squares):
    for i in range(len(vectors)):
        _normalise(vectors[i], squares)


@njit(error_model="numpy")
def _sum(table, scales, ids, row):
    for j in range(len(row)):
        row[j] = 0.0
    # Four rows a step, added in their order: the sum is loaded and stored a quarter as often, and
    # the rows are fetched at the same time.
    whole = len(ids) - len(ids) % 4
    for i in range(0, whole, 4):
        a, b, c, d = ids[i], ids[i + 1], ids[i + 2], ids[i + 3]
        for j in range(len(row)):
            total = row[j] + np.float32(table[a, j]) * scales[a]
            total += np.float32(table[b, j]) * scales[b]
            total += np.float32(table[c, j]) * scales[c]
            row[j] = total + np.float32(table[d, j]) * scales[d]
    for i in range(whole, len(ids)):
        values, scale = table[ids[i]], scales[ids[i]]
        for j in range(len(row)):
            row[j] += np.float32(values[j]) * scale


@njit(error_model="numpy")
def _normalise(row, squares):
    """Normalise ``row (d,) float32`` in place; ``squares (d,) float64`` is scratch.

    Squares are added by folding the upper half onto the lower, an order that vector instructions
    and a GPU can follow to the same bits.
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


@njit(nogil=True, error_model="numpy")
def _to_half(row, out):
    """Round ``row (d,) float32`` to the bits of float16, ties to even: ``out (d,) uint16``."""
    for j in range(len(row)):
        out[j] = narrow(row[j])
