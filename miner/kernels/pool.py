"""Averaging encoder: the normalised mean of the table rows of each sentence (P19, section 2).

Sentences are a ragged array of token ids. Each sum runs in the order of the ids and reads no other
sentence, so a vector does not depend on batch, chunk or thread.

The table is float32, or has numbers of 8 or 4 bits with a scale for each row. Memory bandwidth
limits the speed: int8 needs a quarter of float32's, 4 bits an eighth. Values are rounded to float32
before they are added, so equal numbers give equal bits in every type.
"""

import numpy as np

from miner.kernels.library import kernel

# A row has ``d`` numbers in ``w`` columns: w = d, or d / 2 if a byte holds two (uint8).
_TABLE = "table: i1|u1|f4[V, w], scales: f4[V], ids: i4[t], offsets: i8[n+1]"
_mean_pool = kernel(f"mean_pool({_TABLE}, &squares: f8[d], &out: f4[n, d])")
_mean_pool_half = kernel(f"mean_pool_half({_TABLE}, &squares: f8[d], &row: f4[d], &out: u2[n, d])")
_mean_rows = kernel(f"mean_rows({_TABLE}, &out: f4[n, d])")
# Rounds float32 to the bits of float16, ties to even.
to_half = kernel("to_half(values: f4[n], &out: u2[n])")
_normalise_rows = kernel("normalise_rows(&rows: f4[n, d], &squares: f8[d])")


def mean_pool(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Write the unit vector of every sentence to ``out (n, d) float32``.

    ``table (V, d)`` int8 or float32, or ``(V, d / 2)`` uint8 of :func:`packed`; ``scales (V,)
    float32`` (ones for float32), ``ids (t,) int32`` in [0, V), ``offsets (n + 1,) int64``. A
    sentence without ids, or with rows that cancel out, gets a zero row. The sum is not divided by
    the length: normalisation cancels it.
    """
    _check(table, out)
    _mean_pool(table, scales, ids, offsets, np.empty(out.shape[1]), out)


def mean_pool_half(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Compute :func:`mean_pool` and round it to the bits of float16: ``out (n, d) uint16``."""
    _check(table, out)
    row = np.empty(out.shape[1], dtype=np.float32)
    _mean_pool_half(table, scales, ids, offsets, np.empty(len(row)), row, out)


def mean_rows(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Write the means of :func:`mean_pool`, not normalised; zeros for a sentence without ids.

    A mixed encoder (P18) adds them to the vectors of other encoders.
    """
    _check(table, out)
    _mean_rows(table, scales, ids, offsets, out)


def _check(table: np.ndarray, out: np.ndarray) -> None:
    """Raise ValueError if rows of the table are not as long as vectors."""
    width = table.shape[1] * (2 if table.dtype == np.uint8 else 1)
    if width != out.shape[1]:
        raise ValueError(f"a table of {width} dimensions for vectors of {out.shape[1]}")


def packed(numbers: np.ndarray) -> np.ndarray:
    """Pack ``numbers (V, d) int8`` in [-8, 7], d even, to ``(V, d / 2) uint8``.

    Byte j has the number j in its lower half and the number d / 2 + j in its upper one, each in
    two's complement.
    """
    half = numbers.shape[1] // 2
    bits = numbers.view(np.uint8)
    return bits[:, half:] << 4 | bits[:, :half] & 15


def unpacked(table: np.ndarray) -> np.ndarray:
    """Return the numbers ``(V, d) int8`` of a table of :func:`packed`."""
    bits = table.view(np.int8)
    return np.concatenate([(bits << 4) >> 4, bits >> 4], axis=1)


def normalise_rows(vectors: np.ndarray) -> None:
    """Normalise every row of ``vectors (n, d) float32`` in place; zero rows stay zero."""
    _normalise_rows(vectors, np.empty(vectors.shape[1]))
