"""Averaging encoder: the normalised mean of the table rows of each sentence (P19, section 2).

Sentences are a ragged array of token ids. Each sum runs in the order of the ids and reads no other
sentence, so a vector does not depend on batch, chunk or thread.

The table is int8 with a scale for each row, or float32. Memory bandwidth decides the speed, and
int8 needs a quarter of it. Values are rounded to float32 before they are added, so both give the
same bits.
"""

import numpy as np

from miner.kernels.library import kernel

_mean_pool = kernel(
    "mean_pool(table: i1|f4[V, d], scales: f4[V], ids: i4[t], offsets: i8[n+1], &squares: f8[d], "
    "&out: f4[n, d])"
)
_mean_pool_half = kernel(
    "mean_pool_half(table: i1|f4[V, d], scales: f4[V], ids: i4[t], offsets: i8[n+1], "
    "&squares: f8[d], &row: f4[d], &out: u2[n, d])"
)
# Writes the means, not normalised; zeros for a sentence without ids. A mixed encoder (P18) adds
# them to the vectors of other encoders.
mean_rows = kernel(
    "mean_rows(table: i1|f4[V, d], scales: f4[V], ids: i4[t], offsets: i8[n+1], &out: f4[n, d])"
)
# Rounds float32 to the bits of float16, ties to even.
to_half = kernel("to_half(values: f4[n], &out: u2[n])")
_normalise_rows = kernel("normalise_rows(&rows: f4[n, d], &squares: f8[d])")


def mean_pool(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Write the unit vector of every sentence to ``out (n, d) float32``.

    ``table (V, d)`` int8 or float32, ``scales (V,) float32`` (ones for float32), ``ids (t,) int32``
    in [0, V), ``offsets (n + 1,) int64``. A sentence without ids, or whose rows cancel out, gets a
    zero row. The sum is not divided by the length: normalisation cancels it.
    """
    _mean_pool(table, scales, ids, offsets, np.empty(table.shape[1]), out)


def mean_pool_half(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray, out: np.ndarray
) -> None:
    """Compute :func:`mean_pool` and round it to the bits of float16: ``out (n, d) uint16``."""
    row = np.empty(table.shape[1], dtype=np.float32)
    _mean_pool_half(table, scales, ids, offsets, np.empty(len(row)), row, out)


def normalise_rows(vectors: np.ndarray) -> None:
    """Normalise every row of ``vectors (n, d) float32`` in place; zero rows stay zero."""
    _normalise_rows(vectors, np.empty(vectors.shape[1]))
