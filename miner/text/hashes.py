"""64-bit hashes of integers."""

import numpy as np


def hash_of(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Hash integers, or rows of several columns, to 64 bits: ``(n,) uint64``.

    One step of the generator SplitMix64 (Steele et al. 2014) for each column.
    """
    value = np.zeros(len(first), dtype=np.uint64)
    for column in (first, *others):
        value = value + column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        value = value ^ (value >> np.uint64(31))
    return value
