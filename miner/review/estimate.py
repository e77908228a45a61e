"""Precision and recall of pairs, estimated from answers about a stratified sample.

The difference estimator (Särndal, Swensson & Wretman 1992, chapter 6): the score predicts how many
pairs are right, and the answers correct the prediction, stratum by stratum. The correction is
unbiased by the design of the sample, however bad the score; a good score narrows the interval.
Predictions are first fitted to the answers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from miner.review.sample import is_probability
from miner.scoring.judgement_fit import fit_answers
from miner.scoring.logistic import log_odds

# Coverage of intervals: share of cases in which one should contain the true value.
INSIDE = 0.9
# Precision of the normal priors of shift and slope of a score's log-odds: around a calibrated
# probability, and for scores of unknown scale.
CALIBRATED, UNKNOWN = (0.5, 5.0), (0.1, 0.5)
FARTHEST = 7.0
DRAWS, SEED = 4000, 1


@dataclass(frozen=True)
class EstimatedShare:
    """Estimate with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f}-{self.high:.3f})"


@dataclass(frozen=True, eq=False)
class Judged:
    """Pairs with answers about some of them.

    ``score (n,)`` and ``stratum (n,) int64`` of all pairs; ``rows (a,) int64``: the answered pairs;
    ``right (a,)``: the answers in [0, 1].
    """

    score: np.ndarray
    stratum: np.ndarray
    rows: np.ndarray
    right: np.ndarray

    @cached_property
    def predicted(self) -> np.ndarray:
        """Probability of each pair of being right by its score, fitted to the answers, ``(n,)``."""
        if is_probability(self.score):
            x, center, penalty = log_odds(self.score), (0.0, 1.0), CALIBRATED
        else:
            x = (self.score - self.score.mean()) / (self.score.std() or 1.0)
            center, penalty = (0.0, 0.0), UNKNOWN
        design = np.column_stack([np.ones(len(x)), np.clip(x, -FARTHEST, FARTHEST)])
        answered = design[self.rows]
        sure = 0.0, 1.0  # answers are the truth to be estimated
        fitted = fit_answers(answered, self.right, np.array(penalty), np.array(center), errors=sure)
        return fitted.probability(design)

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of pairs and of answers in each stratum."""
        count = int(self.stratum.max(initial=0)) + 1
        return (
            np.bincount(self.stratum, minlength=count).astype(np.float64),
            np.bincount(self.stratum[self.rows], minlength=count).astype(np.float64),
        )

    @cached_property
    def _excess(self) -> float:
        """Ratio of the answers' variance to the expected one."""
        predicted = self.predicted[self.rows]
        seen, expected = (self.right - predicted) ** 2, predicted * (1 - predicted)
        return float((seen.sum() + 1) / (expected.sum() + 1))

    def _sum(self, weight: np.ndarray) -> float:
        """Estimate the sum of ``weight · right`` of all pairs."""
        size, asked = self._sizes
        error = weight[self.rows] * (self.right - self.predicted[self.rows])
        errors = np.bincount(self.stratum[self.rows], error, minlength=len(size))
        return float(weight @ self.predicted + size @ (errors / np.maximum(asked, 1)))

    def _variance(self, weight: np.ndarray, more: int) -> float:
        """Return the variance of :meth:`_sum` with ``more`` answers, distributed as so far."""
        size, asked = self._sizes
        single = weight**2 * self.predicted * (1 - self.predicted) * self._excess
        single = np.bincount(self.stratum, single, minlength=len(size)) / np.maximum(size, 1)
        asked = np.minimum(asked * (1 + more / max(asked.sum(), 1)), size)
        return float(size @ ((size - asked) * single / np.maximum(asked, 0.5)))

    def precision(self, threshold: float, more: int = 0) -> EstimatedShare:
        """Estimate the precision of the pairs with this score or more."""
        kept = (self.score >= threshold).astype(np.float64)
        size = max(kept.sum(), 1.0)
        expected = float(kept @ self.predicted) / size
        estimate = _figure(self._sum(kept) / size, expected, self._variance(kept, more) / size**2)
        seen = self.right[kept[self.rows] > 0]
        low = 0.0 if not seen.any() else estimate.low
        return EstimatedShare(estimate.value, low, 1.0 if (seen == 1).all() else estimate.high)

    def recall(self, threshold: float, more: int = 0) -> EstimatedShare:
        """Estimate which share of all right pairs have this score or more."""
        kept = (self.score >= threshold).astype(np.float64)
        total = max(self._sum(np.ones_like(kept)), 1.0)
        expected = float(kept @ self.predicted) / max(float(self.predicted.sum()), 1e-9)
        variance = self._variance(kept - expected, more) / total**2
        return _figure(self._sum(kept) / total, expected, variance)


def _figure(value: float, expected: float, variance: float) -> EstimatedShare:
    """Return an estimated share with Jeffreys' interval, by the effective number of answers.

    This is the number in a simple random sample of the same variance, where ``expected`` is right.
    """
    value = min(max(value, 0.0), 1.0)
    if variance < 1e-12:  # all are kept, or all were judged
        return EstimatedShare(value, value, value)
    answers = expected * (1 - expected) / variance
    drawn = np.random.default_rng(SEED).beta(
        answers * value + 0.5, answers * (1 - value) + 0.5, DRAWS
    )
    low, high = np.quantile(drawn, [(1 - INSIDE) / 2, (1 + INSIDE) / 2])
    return EstimatedShare(value, min(float(low), value), max(float(high), value))


def share(right: float, answers: int) -> EstimatedShare:
    """Return the share of right pairs in a simple random sample, with its interval."""
    if not answers:
        return EstimatedShare(0.5, 0.0, 1.0)
    estimate = _figure(right / answers, 0.5, 0.25 / answers)
    low = estimate.low if right else 0.0
    return EstimatedShare(estimate.value, low, estimate.high if right < answers else 1.0)
