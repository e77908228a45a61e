"""float16 in kernels: every number is converted as by numpy."""

import numpy as np

from miner.kernels.exact import rescore
from miner.kernels.pool import to_half

EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def rounded() -> np.ndarray:
    """Return all float16 numbers, the midpoints between them, and numbers out of range."""
    with np.errstate(all="ignore"):
        wide = EVERY.astype(np.float32)
        between = (wide[1:] + wide[:-1]) / 2
        beside = [np.nextafter(between, np.float32(to)) for to in (-np.inf, np.inf)]
    extremes = np.array([65519.99, 65520, 1e30, -1e30, 1e-8, -1e-8, 2**-25, 1e-40], np.float32)
    return np.concatenate([wide, between, *beside, extremes])


def test_widened() -> None:
    rows = np.arange(len(EVERY), dtype=np.int64)[None]
    for dimension in (1, 16, 17):  # one by one, and in vector lanes
        queries = np.zeros((1, dimension), dtype=np.float16)
        base = np.zeros((len(EVERY), dimension), dtype=np.float16)
        queries[0, -1], base[:, -1] = 1, EVERY
        found = np.empty((1, len(EVERY)), dtype=np.float32)
        rescore(queries, base, rows, found)
        np.testing.assert_array_equal(found[0], EVERY.astype(np.float32))


def test_narrowed() -> None:
    numbers = rounded()
    half = np.empty(len(numbers), dtype=np.uint16)
    to_half(numbers, half)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(half.view(np.float16), numbers.astype(np.float16))
