"""A logistic function over named features, and its form in a model's JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.machine import blas

# Maximum Newton steps, and maximum change of a weight in a step.
STEPS, LONGEST_STEP = 50, 5.0
# Minimum gain of a step as a share of what the slope promises, and tolerance for rounding; a step
# is halved until it gains enough.
LEAST_GAIN, ROUNDING = 1e-4, 1e-12
# Maximum constant added to logits, and bisections to find it.
FARTHEST, BISECTIONS = 20.0, 40
# Minimum distance of a probability from 0 and 1, so that its log-odds are finite.
LEAST = 1e-15


@dataclass(frozen=True, eq=False)
class Logistic:
    """``sigmoid(intercept + (x - mean) · weight)`` over features ``names``.

    ``mean (f,) float64``: mean of each feature over translations in the training text, so that a
    feature's part in a logit is its difference from a usual translation. ``weight (f,) float64``.
    """

    names: tuple[str, ...]
    intercept: float
    weight: np.ndarray
    mean: np.ndarray

    def parts(self, features: np.ndarray) -> np.ndarray:
        """Return the contribution of each feature to the logit: ``(m, f) float64``."""
        return (features.astype(np.float64) - self.mean) * self.weight

    def logit(self, features: np.ndarray) -> np.ndarray:
        """Return the logits ``(m,) float64`` of features ``(m, f)``.

        Sums run feature by feature, so that a logit does not depend on the number of rows.
        """
        total = np.full(len(features), self.intercept)
        for column in range(len(self.names)):
            centred = features[:, column].astype(np.float64) - self.mean[column]
            total += centred * self.weight[column]
        return total

    def mapped(self, constant: float, slope: float) -> "Logistic":
        """Return the function with logits ``constant + slope * logit``."""
        intercept = constant + slope * self.intercept
        return Logistic(self.names, intercept, slope * self.weight, self.mean)

    def as_dict(self) -> dict[str, Any]:
        """Return the function ready for JSON."""
        return {
            "intercept": self.intercept,
            "weight": dict(zip(self.names, self.weight.tolist(), strict=True)),
            "mean": dict(zip(self.names, self.mean.tolist(), strict=True)),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], names: tuple[str, ...]) -> "Logistic":
        """Invert :meth:`as_dict`. Raises ValueError or KeyError for other features."""
        if set(values["weight"]) != set(names) or set(values["mean"]) != set(names):
            raise ValueError("it has other features")
        weight = np.array([values["weight"][name] for name in names], dtype=np.float64)
        mean = np.array([values["mean"][name] for name in names], dtype=np.float64)
        intercept = float(values["intercept"])
        if not (np.isfinite(weight).all() and np.isfinite(mean).all() and np.isfinite(intercept)):
            raise ValueError("a number in it is not finite")
        return cls(names, intercept, weight, mean)


def sigmoid(logit: np.ndarray) -> np.ndarray:
    """Map logits to probabilities, without overflow."""
    return np.exp(-np.logaddexp(0, -logit))


def log_odds(probability: np.ndarray) -> np.ndarray:
    """Invert :func:`sigmoid`; finite for 0 and 1, too."""
    # The greatest float32 below 1 is further from it than LEAST.
    step = np.finfo(np.result_type(np.asarray(probability), np.float32)).epsneg
    inside = np.clip(probability, LEAST, 1 - max(LEAST, step))
    return np.log(inside) - np.log1p(-inside)


def shift_to(logit: np.ndarray, total: float) -> float:
    """Return the constant that, added to ``logit (m,)``, makes the probabilities sum to ``total``.

    It lies in [-FARTHEST, FARTHEST]; the nearer end where no constant in it does.
    """
    low, high = -FARTHEST, FARTHEST
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if sigmoid(logit + middle).sum() > total:
            high = middle
        else:
            low = middle
    return low


def fit_ridge(
    design: np.ndarray,
    positive: np.ndarray,
    negative: np.ndarray,
    penalty: np.ndarray,
    center: np.ndarray,
) -> np.ndarray:
    """Fit logistic weights ``(f,)`` to rows weighted for both answers, by Newton's method.

    Row ``i`` of ``design (m, f)`` counts ``positive[i]`` times as right and ``negative[i]`` times
    as wrong; weights are at least 0. ``penalty[j] / 2 · (weight[j] - center[j])²`` is added to the
    negative log-likelihood, so that with few rows the weights stay near ``center``.
    """
    # One thread, so that the order of sums is fixed.
    with blas().limit(limits=1):
        at = center.astype(np.float64)
        total = positive + negative

        def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
            logit = design @ at
            soft = np.logaddexp(0, -logit)  # -log of the probability
            return float(total @ soft + negative @ logit + penalty @ (at - center) ** 2 / 2), soft

        value, soft = loss(at)
        for _ in range(STEPS):
            share = np.exp(-soft)
            gradient = design.T @ (total * share - positive) + penalty * (at - center)
            curvature = np.maximum(total * share * (1 - share), 1e-12)
            hessian = (design * curvature[:, None]).T @ design
            step = np.linalg.solve(hessian + np.diag(penalty + 1e-9), gradient)
            # A long step on a flat function would overshoot; full steps may cycle.
            step *= min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
            tried, soft = loss(at - step)
            while tried > value - LEAST_GAIN * float(gradient @ step) + ROUNDING * (1 + abs(value)):
                step /= 2
                tried, soft = loss(at - step)
            at, value = at - step, tried
            if np.abs(step).max() < 1e-7:
                break
        return at
