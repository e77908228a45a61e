"""Bootstrap confidence intervals of metrics (Efron & Tibshirani 1993; paired, Koehn 2004).

A test set is resampled many times: as many items as it has, with replacement. The metric of each
resample is computed, and the spread of these values is the uncertainty due to the choice of
sentences. A resample is a row of weights, the number of times it holds each item. The seed is a
hash of the set's name and size, so that two models are compared on the same resamples.
"""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from miner.evaluation.metrics import Statistic

RESAMPLES = 1000
# Share of the resamples that an interval holds.
CONFIDENCE = 0.95
# Weights that are in memory at a time.
WEIGHTS_AT_ONCE = 1 << 22


def resample(
    statistics: Sequence[Statistic], items: int, name: str, count: int = RESAMPLES
) -> np.ndarray:
    """Compute each statistic on ``count`` resamples of ``items`` items.

    Returns ``(statistics, count) float64``. The resamples depend on ``name`` and ``items`` alone.
    """
    seed = int.from_bytes(sha256(f"{name}\0{items}".encode()).digest()[:8], "big")
    generator = np.random.default_rng(seed)
    found = np.empty((len(statistics), count))
    step = max(1, WEIGHTS_AT_ONCE // max(1, items))
    for start in range(0, count, step):
        weights = np.empty((min(step, count - start), items))  # (resamples, items)
        for row in weights:
            row[:] = np.bincount(generator.integers(items, size=items), minlength=items)
        for statistic, values in zip(statistics, found, strict=True):
            values[start : start + step] = statistic(weights)
    return found


def interval(values: np.ndarray) -> tuple[float, float]:
    """Percentile interval that holds the share `CONFIDENCE` of ``values (resamples,)``."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, (tail, 1 - tail))
    return float(low), float(high)
