"""How far a figure could be off by the choice of sentences: the bootstrap.

A test set is drawn again and again, as many items as it has, with replacement, and the figure is
taken of every draw (Efron & Tibshirani 1993; of two systems over the same draws, Koehn 2004). A
draw is how often it holds each item, its *weights*; statistics here take many draws at once. The
seed is made of the set's name and size, so that two models are judged on the same draws.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256

import numpy as np

DRAWS = 1000
# Weights that are held at a time.
HELD = 1 << 22

# Of weights (b, n) float64, b values.
Statistic = Callable[[np.ndarray], np.ndarray]


def draws(statistics: Sequence[Statistic], items: int, name: str, count: int = DRAWS) -> np.ndarray:
    """Each statistic of ``count`` draws of ``items`` items: ``(statistics, count) float64``.

    The draws are those of ``name`` and the number of items, whatever is measured on them.
    """
    seed = int.from_bytes(sha256(f"{name}\0{items}".encode()).digest()[:8], "big")
    generator = np.random.default_rng(seed)
    found = np.empty((len(statistics), count))
    step = max(1, HELD // max(1, items))
    for start in range(0, count, step):
        weights = np.empty((min(step, count - start), items))
        for row in weights:
            row[:] = np.bincount(generator.integers(items, size=items), minlength=items)
        for statistic, values in zip(statistics, found, strict=True):
            values[start : start + step] = statistic(weights)
    return found


def once(statistic: Statistic, items: int) -> float:
    """The statistic of the set itself: every item once."""
    return float(statistic(np.ones((1, items)))[0])


def mean(values: np.ndarray) -> Statistic:
    """The mean of ``values (n,)``, n >= 1."""
    return lambda weights: weights @ values / weights.sum(axis=1)


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> Statistic:
    """The sum of one over the sum of the other, ``(n,)`` each, such as precision; 0 for 0 / 0."""

    def statistic(weights: np.ndarray) -> np.ndarray:
        below = weights @ denominator
        return (weights @ numerator) / np.where(below > 0, below, 1)

    return statistic


def pearson(x: np.ndarray, y: np.ndarray) -> Statistic:
    """Pearson's correlation of ``x (n,)`` and ``y (n,)``; 0 where either is constant."""
    x, y = (values.astype(np.float64) - values.mean() for values in (x, y))

    def statistic(weights: np.ndarray) -> np.ndarray:
        rows = weights.shape
        return _pearson(weights, np.broadcast_to(x, rows), np.broadcast_to(y, rows))

    return statistic


def spearman(x: np.ndarray, y: np.ndarray) -> Statistic:
    """Spearman's: Pearson's of the ranks, equal values sharing the mean of theirs."""

    def statistic(weights: np.ndarray) -> np.ndarray:
        return _pearson(weights, _ranks(weights, x), _ranks(weights, y))

    return statistic


def auc(score: np.ndarray, good: np.ndarray) -> Statistic:
    """Area under the ROC curve: the share of (good, bad) pairs of items with the good one above.

    Equal scores count half. 1/2 where a draw has no good or no bad item.
    """
    place = np.unique(score, return_inverse=True)[1]

    def statistic(weights: np.ndarray) -> np.ndarray:
        right, wrong = _sums(weights * good, place), _sums(weights * ~good, place)
        below = np.cumsum(wrong, axis=1) - wrong / 2
        every = right.sum(axis=1) * wrong.sum(axis=1)
        above = (right * below).sum(axis=1)
        return np.where(every > 0, above / np.maximum(every, 1), 0.5)

    return statistic


def average_precision(score: np.ndarray, good: np.ndarray) -> Statistic:
    """Mean, over good items, of the precision at their score; 0 where a draw has none."""
    place = np.unique(-score, return_inverse=True)[1]

    def statistic(weights: np.ndarray) -> np.ndarray:
        right = _sums(weights * good, place)
        kept = np.maximum(np.cumsum(_sums(weights, place), axis=1), 1)
        precision = np.cumsum(right, axis=1) / kept
        return (right * precision).sum(axis=1) / np.maximum(right.sum(axis=1), 1)

    return statistic


def _pearson(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of each row of ``(b, n)`` values and weights."""
    count = weights.sum(axis=1, keepdims=True)
    x, y = (values - np.einsum("bn,bn->b", weights, values)[:, None] / count for values in (x, y))
    both, xx, yy = (
        np.einsum("bn,bn,bn->b", weights, left, right) for left, right in ((x, y), (x, x), (y, y))
    )
    # What a constant leaves is rounding, some 1e-16 of the values' square.
    scale = np.sqrt(xx * yy)
    return np.where(scale > 1e-12 * count[:, 0], both / np.where(scale > 0, scale, 1), 0.0)


def _ranks(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Ranks ``(b, n)`` among the items of each draw, from 1."""
    place = np.unique(values, return_inverse=True)[1]
    count = _sums(weights, place)
    return (np.cumsum(count, axis=1) - (count - 1) / 2)[:, place]


def _sums(weights: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Weights ``(b, p)`` of each of p places, of items ``(n,)`` at those places."""
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    return np.add.reduceat(weights[:, order], starts, axis=1)
