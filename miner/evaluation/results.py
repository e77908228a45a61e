"""Results of an evaluation: metrics with bootstrap intervals, and differences of two models.

The bootstrap (Efron & Tibshirani 1993; paired, Koehn 2004) draws resamples of a test set, of the
same size, with replacement. The spread of a metric over them is the uncertainty due to the choice
of sentences. A resample is a row of weights: the number of times that each item was drawn. The seed
is a hash of the set's name and size, so that two models are compared on the same resamples.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from miner.errors import MismatchError
from miner.evaluation.metrics import Statistic, value_of

RESAMPLES = 1000
# Share of the resamples inside an interval.
CONFIDENCE = 0.95
# Maximum weights in memory at a time.
WEIGHTS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric of a model on one test set.

    value: correlations, accuracies and F1 are shares (0..1), not percent
    items: number of items that it is computed from; 0 for a mean over sets
    resamples: ``(RESAMPLES,) float64``, the metric on every resample; None for a speed
    """

    dataset: str
    name: str
    value: float
    items: int
    resamples: np.ndarray | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95% bootstrap interval."""
        return None if self.resamples is None else interval(self.resamples)

    def as_dict(self) -> dict[str, Any]:
        """Return the metric ready for JSON."""
        record: dict[str, Any] = {"set": self.dataset, "metric": self.name, "value": self.value}
        if self.items:
            record["items"] = self.items
        if self.interval:
            record["interval"] = list(self.interval)
        return record


@dataclass(frozen=True)
class Difference:
    """Difference of a metric between two models on the same items, with a paired bootstrap
    interval.

    task: the evaluation. interval: 95% of the differences on the same resamples. p: two-sided
    probability of a difference of the other sign, at least 2 / (resamples + 1).
    """

    dataset: str
    name: str
    value: float
    interval: tuple[float, float]
    p: float
    task: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the difference ready for JSON."""
        return {
            "evaluation": self.task,
            "set": self.dataset,
            "metric": self.name,
            "difference": self.value,
            "interval": list(self.interval),
            "p": self.p,
        }


@dataclass(frozen=True)
class TaskResult:
    """Result of one evaluation task.

    metrics: in display order. headline: metrics in the summary of several tasks. missing: a line
    with the reason for everything that was not measured. notes: further lines to print. more:
    further entries of the JSON record.
    """

    task: str
    metrics: tuple[Metric, ...]
    headline: tuple[Metric, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the result ready for JSON."""
        return {
            "figures": [metric.as_dict() for metric in self.metrics],
            "missing": list(self.missing),
            **self.more,
        }


def resample(
    statistics: Sequence[Statistic], items: int, name: str, count: int = RESAMPLES
) -> np.ndarray:
    """Compute each statistic on ``count`` resamples of ``items`` items.

    Returns ``(statistics, count) float64``. The resamples depend only on ``name`` and ``items``.
    """
    seed = int.from_bytes(sha256(f"{name}\0{items}".encode()).digest()[:8], "big")
    generator = np.random.default_rng(seed)
    resampled = np.empty((len(statistics), count))
    step = max(1, WEIGHTS_AT_ONCE // max(1, items))
    for start in range(0, count, step):
        weights = np.empty((min(step, count - start), items))  # (resamples, items)
        for row in weights:
            row[:] = np.bincount(generator.integers(items, size=items), minlength=items)
        for statistic, values in zip(statistics, resampled, strict=True):
            values[start : start + step] = statistic(weights)
    return resampled


def interval(values: np.ndarray) -> tuple[float, float]:
    """Percentile interval that holds the share `CONFIDENCE` of ``values (resamples,)``."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, (tail, 1 - tail))
    return float(low), float(high)


def measure(dataset: str, statistics: Mapping[str, Statistic], items: int) -> tuple[Metric, ...]:
    """Compute each metric of ``statistics`` and its resamples; ``items`` >= 1."""
    resampled = resample(tuple(statistics.values()), items, dataset)
    return tuple(
        Metric(dataset, name, value_of(statistic, items), items, values)
        for (name, statistic), values in zip(statistics.items(), resampled, strict=True)
    )


def mean_of(dataset: str, metrics: Sequence[Metric]) -> Metric:
    """Return the mean of a metric over several sets, which are resampled independently."""
    (name,) = {metric.name for metric in metrics}
    value = float(np.mean([metric.value for metric in metrics]))
    resamples = [metric.resamples for metric in metrics if metric.resamples is not None]
    return Metric(dataset, name, value, 0, np.mean(resamples, axis=0) if resamples else None)


def without_vector(dataset: str, *sides: np.ndarray) -> list[str]:
    """Return a line with the number of zero vectors of a set; none without zero vectors."""
    every = sum(map(len, sides))
    zero = every - sum(int(rows.any(axis=1).sum()) for rows in sides)
    if not zero:
        return []
    return [f"{dataset}: vectors of {zero:,} of {every:,} sentences; their cosines count as 0"]


def differences(metrics: Iterable[Metric], others: Iterable[Metric]) -> list[Difference]:
    """Compare ``metrics`` and ``others`` of the same name for which both have resamples.

    Raises MismatchError for sets of different sizes.
    """
    known = {(metric.dataset, metric.name): metric for metric in others}
    compared = []
    for metric in metrics:
        against = known.get((metric.dataset, metric.name))
        if against is None or metric.resamples is None or against.resamples is None:
            continue
        if against.items != metric.items:
            raise MismatchError(
                f"{metric.dataset}: {metric.items} and {against.items} items; the same text is "
                "needed"
            )
        change = metric.resamples - against.resamples
        # Add 1, so that no finite number of resamples makes a difference certain.
        opposite = min((change <= 0).sum(), (change >= 0).sum())
        p = min(1.0, 2 * (int(opposite) + 1) / (len(change) + 1))
        compared.append(
            Difference(
                metric.dataset, metric.name, metric.value - against.value, interval(change), p
            )
        )
    return compared
