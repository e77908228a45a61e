"""Mean of table rows per sentence, normalised: the whole of the averaging encoder (P19, section 3).

Sentences arrive flat, as in a CSR matrix: ``ids`` holds every piece of every sentence, and
sentence ``i`` owns ``ids[offsets[i]:offsets[i + 1]]``. Each sum runs in the order of its ids and
touches no other sentence, so a vector never depends on batch, chunk or thread.
"""

import numba
import numpy as np


def mean_pool_reference(table: np.ndarray, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """What :func:`mean_pool` computes, in plain numpy and double precision."""
    out = np.zeros((len(offsets) - 1, table.shape[1]), dtype=np.float64)
    for row in range(len(out)):
        total = table[ids[offsets[row] : offsets[row + 1]]].astype(np.float64).sum(axis=0)
        norm = np.sqrt(total @ total)
        if norm > 0:
            out[row] = total / norm
    return out


@numba.njit(nogil=True, cache=True, error_model="numpy")
def mean_pool(table, ids, offsets, out):
    """Write the unit vector of every sentence into ``out``.

    ``table (V, d) float32``, ``ids (t,) int32`` in [0, V), ``offsets (n + 1,) int64``,
    ``out (n, d) float32``. A sentence without ids, or whose rows cancel out, gets the zero row.
    The division by the length is left out: the normalisation cancels it.
    """
    d = table.shape[1]
    for i in range(len(offsets) - 1):
        row = out[i]
        row[:] = np.float32(0.0)
        for p in range(offsets[i], offsets[i + 1]):
            source = table[ids[p]]
            for j in range(d):
                row[j] += source[j]
        square = 0.0
        for j in range(d):
            square += np.float64(row[j]) * np.float64(row[j])
        if square > 0.0:
            inverse = np.float32(1.0 / np.sqrt(square))
            for j in range(d):
                row[j] *= inverse
