"""Ragged arrays: lists of different lengths as one array of values and its offsets.

List ``i`` of ``values (t,)`` is ``values[offsets[i]:offsets[i + 1]]``; ``offsets (n + 1,) int64``.
"""

import numpy as np


def offsets_of(lengths: np.ndarray) -> np.ndarray:
    """Return the offsets ``(n + 1,) int64`` of lists with ``lengths (n,)``."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def take_lists(
    values: np.ndarray, offsets: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Select the lists ``rows``, in that order, repeats allowed. Returns values and offsets."""
    lengths = np.diff(offsets)[rows]
    taken = offsets_of(lengths)
    positions = np.arange(taken[-1]) + np.repeat(offsets[rows] - taken[:-1], lengths)
    return values[positions], taken
