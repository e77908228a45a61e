"""Metrics: precision, recall, F1 and their best threshold; correlations, AUC, average precision.

Precision, recall and F1 follow the BUCC shared task as Artetxe & Schwenk 2019 (section 4) use it:
:func:`best_threshold` on the training gold, :func:`evaluate` with it on test. The best F1 on the
test gold itself must be labelled as an oracle. Pairs are matched by id (anything
hashable), never by text: a sentence with several ids counts once for each.

The other metrics are `Statistic` objects: functions of item weights. The bootstrap evaluates them
on many resamples at once; :func:`value_of` gives the metric of the set itself.
"""

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np

IdPair: TypeAlias = tuple[Hashable, Hashable]
ScoredIds: TypeAlias = tuple[float, Hashable, Hashable]

# Function of weights (b, n) float64 of n items, to b values. A weight is the number of times an
# item counts.
Statistic: TypeAlias = Callable[[np.ndarray], np.ndarray]


# --- mined pairs against a gold standard --------------------------------------------------------


@dataclass(frozen=True)
class Evaluation:
    """Comparison of the pairs kept by a threshold with the gold.

    precision: correct / proposed, 0..1; 0 when nothing is proposed
    recall: correct / gold, 0..1
    f1: 2 correct / (proposed + gold), the harmonic mean of the two, 0..1
    threshold: pairs of this score or more were kept; None = all were
    proposed, correct, gold: distinct pairs kept, kept and in the gold, in the gold
    """

    precision: float
    recall: float
    f1: float
    threshold: float | None
    proposed: int
    correct: int
    gold: int

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the fields by name, in order, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        # The threshold is printed in full, because users paste it into the next command.
        cut = "no threshold" if self.threshold is None else f"threshold {self.threshold!r}"
        return (
            f"precision {self.precision:.2%} recall {self.recall:.2%} F1 {self.f1:.2%} "
            f"({cut}: {self.correct} correct of {self.proposed} proposed, {self.gold} gold)"
        )


def evaluate(
    pairs: Iterable[ScoredIds], gold: Iterable[IdPair], threshold: float | None = None
) -> Evaluation:
    """Compare the pairs whose score is at least ``threshold`` (None = all pairs) with the gold.

    pairs: (score, source_id, target_id); duplicate id pairs count once, with the best score
    gold: (source_id, target_id); duplicates count once
    Raises ``ValueError`` for an empty gold or a NaN score or threshold.
    """
    if threshold is not None:
        threshold = float(threshold)
        if math.isnan(threshold):
            raise ValueError("the threshold is NaN")
    expected = _gold_set(gold)
    best = _best_scores(pairs)
    kept = [pair for pair, score in best.items() if threshold is None or score >= threshold]
    correct = sum(pair in expected for pair in kept)
    return _evaluation(threshold, len(kept), correct, len(expected))


def best_threshold(pairs: Iterable[ScoredIds], gold: Iterable[IdPair]) -> Evaluation:
    """Find the threshold with the highest F1 (arguments as for :func:`evaluate`).

    It is the midpoint of two distinct scores, or the lowest score when all pairs are kept; the
    highest wins among thresholds of equal F1. None without pairs. Raises ``ValueError`` for an
    empty gold or a NaN score.
    """
    expected = _gold_set(gold)
    best = _best_scores(pairs)
    if not best:
        return _evaluation(None, 0, 0, len(expected))
    score = np.fromiter(best.values(), dtype=np.float64, count=len(best))  # (p,)
    in_gold = np.fromiter((pair in expected for pair in best), dtype=np.int64, count=len(best))
    order = np.argsort(-score, kind="stable")
    score = score[order]
    # Pairs of equal score are kept or dropped together: a cut is after the last of them.
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True))  # (cuts,)
    proposed, correct = last + 1, np.cumsum(in_gold[order])[last]
    # Cuts descend by score, and argmax returns the first of equal values.
    cut = int(np.argmax(2 * correct / (proposed + len(expected))))
    threshold = float(score[last[cut]])
    if cut + 1 < len(last):
        threshold = _between(float(score[last[cut + 1]]), threshold)
    return _evaluation(threshold, int(proposed[cut]), int(correct[cut]), len(expected))


def _between(lower: float, upper: float) -> float:
    """Return a threshold that keeps ``upper`` and drops ``lower``, also in float32.

    It is their midpoint, or ``upper`` if the midpoint rounds to ``lower``: numpy rounds a Python
    float before it compares it with a float32 array.
    """
    middle = lower + (upper - lower) / 2
    with np.errstate(over="ignore"):
        rounded = float(np.float32(middle))
    return middle if lower < middle <= upper and lower < rounded <= upper else upper


def _evaluation(threshold: float | None, proposed: int, correct: int, gold: int) -> Evaluation:
    precision = correct / proposed if proposed else 0.0
    f1 = 2 * correct / (proposed + gold)
    return Evaluation(precision, correct / gold, f1, threshold, proposed, correct, gold)


def _best_scores(pairs: Iterable[ScoredIds]) -> dict[IdPair, float]:
    """Return the best score of each id pair. Raises ``ValueError`` for a NaN score."""
    best: dict[IdPair, float] = {}
    for score, source, target in pairs:
        value = float(score)
        if math.isnan(value):
            raise ValueError(f"the score of the pair {source!r}, {target!r} is NaN")
        pair = (source, target)
        if value > best.get(pair, -math.inf) or pair not in best:
            best[pair] = value
    return best


def _gold_set(gold: Iterable[IdPair]) -> frozenset[IdPair]:
    """Return the gold as a set. Raises ``ValueError`` when it is empty: recall is undefined."""
    expected = frozenset(gold)
    if not expected:
        raise ValueError("the gold is empty: there is nothing to evaluate against")
    return expected


# --- metrics of weighted items ------------------------------------------------------------------


def value_of(statistic: Statistic, items: int) -> float:
    """Return the statistic of the set itself: ``items`` items, each of weight 1."""
    return float(statistic(np.ones((1, items)))[0])


def mean(values: np.ndarray) -> Statistic:
    """Statistic: mean of ``values (n,)``, n >= 1."""
    return lambda weights: weights @ values / weights.sum(axis=1)


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> Statistic:
    """Statistic: sum of ``numerator (n,)`` over the sum of ``denominator (n,)``; 0 for 0 / 0.

    For example, precision is the ratio of correct to proposed pairs.
    """

    def statistic(weights: np.ndarray) -> np.ndarray:
        below = weights @ denominator
        return (weights @ numerator) / np.where(below > 0, below, 1)

    return statistic


def pearson(x: np.ndarray, y: np.ndarray) -> Statistic:
    """Pearson's correlation of ``x (n,)`` and ``y (n,)``; 0 where either is constant."""
    x, y = (values.astype(np.float64) - values.mean() for values in (x, y))

    def statistic(weights: np.ndarray) -> np.ndarray:
        shape = weights.shape
        return _weighted_pearson(weights, np.broadcast_to(x, shape), np.broadcast_to(y, shape))

    return statistic


def spearman(x: np.ndarray, y: np.ndarray) -> Statistic:
    """Spearman's correlation: Pearson's correlation of ranks; equal values share their mean
    rank.
    """
    first, second = _Ties(x), _Ties(y)

    def statistic(weights: np.ndarray) -> np.ndarray:
        return _weighted_pearson(weights, first.ranks(weights), second.ranks(weights))

    return statistic


def auc(score: np.ndarray, good: np.ndarray) -> Statistic:
    """Area under the ROC curve: share of (good, bad) pairs of items with the good one above.

    score: ``(n,)`` floats; good: ``(n,) bool``. Equal scores count half. 1/2 without good or
    without bad items.
    """
    ties = _Ties(score)

    def statistic(weights: np.ndarray) -> np.ndarray:
        right, wrong = ties.sums(weights * good), ties.sums(weights * ~good)  # (b, groups)
        below = np.cumsum(wrong, axis=1) - wrong / 2
        every = right.sum(axis=1) * wrong.sum(axis=1)
        above = (right * below).sum(axis=1)
        return np.where(every > 0, above / np.maximum(every, 1), 0.5)

    return statistic


def average_precision(score: np.ndarray, good: np.ndarray) -> Statistic:
    """Mean over good items of the precision at their score; 0 if a resample has no good item."""
    ties = _Ties(-score)

    def statistic(weights: np.ndarray) -> np.ndarray:
        right = ties.sums(weights * good)  # (b, groups)
        kept = np.maximum(np.cumsum(ties.sums(weights), axis=1), 1)
        precision = np.cumsum(right, axis=1) / kept
        return (right * precision).sum(axis=1) / np.maximum(right.sum(axis=1), 1)

    return statistic


def _weighted_pearson(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correlate row by row ``x``, ``y`` and their ``weights``, all ``(b, n)``: ``(b,)``."""
    count = weights.sum(axis=1, keepdims=True)
    x, y = (values - np.einsum("bn,bn->b", weights, values)[:, None] / count for values in (x, y))
    both, xx, yy = (
        np.einsum("bn,bn,bn->b", weights, left, right) for left, right in ((x, y), (x, x), (y, y))
    )
    # A constant column leaves rounding errors, about 1e-16 of the square of its values.
    scale = np.sqrt(xx * yy)
    return np.where(scale > 1e-12 * count[:, 0], both / np.where(scale > 0, scale, 1), 0.0)


class _Ties:
    """Items ``(n,)`` in ascending order of a value, in groups of equal values."""

    def __init__(self, values: np.ndarray):
        self.order = np.argsort(values, kind="stable")
        ordered = values[self.order]
        first = np.ones(len(values), dtype=bool)
        first[1:] = ordered[1:] != ordered[:-1]
        self.starts = np.flatnonzero(first)  # (groups,)
        self.group = np.empty(len(values), dtype=np.int64)
        self.group[self.order] = np.cumsum(first) - 1

    def sums(self, weights: np.ndarray) -> np.ndarray:
        """Sum weights ``(b, n)`` within each group: ``(b, groups)``."""
        return np.add.reduceat(weights[:, self.order], self.starts, axis=1)

    def ranks(self, weights: np.ndarray) -> np.ndarray:
        """Rank the items of each resample from 1: ``(b, n)``."""
        count = self.sums(weights)
        return (np.cumsum(count, axis=1) - (count - 1) / 2)[:, self.group]
