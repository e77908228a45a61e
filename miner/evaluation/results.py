"""What an evaluation finds: figures, each with the interval that a bootstrap gives it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from miner.errors import MismatchError
from miner.evaluation import bootstrap

# The share of draws that an interval holds.
SHARE = 0.95

# (the evaluation, sets done, sets in all)


@dataclass(frozen=True, eq=False)
class Figure:
    """One number: ``metric`` of a model on the set ``name``.

    value: as the metric has it; correlations, accuracies and F1 are shares, not percent
    items: how many of which it is the figure; 0 for a mean over sets
    draws: ``(DRAWS,) float64``, the same figure on every draw of the bootstrap; None where the
        metric has none (a speed)
    """

    name: str
    metric: str
    value: float
    items: int
    draws: np.ndarray | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Between these lie 95% of the draws."""
        return None if self.draws is None else _interval(self.draws)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        found: dict[str, Any] = {"set": self.name, "metric": self.metric, "value": self.value}
        if self.items:
            found["items"] = self.items
        if self.interval:
            found["interval"] = list(self.interval)
        return found


@dataclass(frozen=True)
class Difference:
    """How much higher one model's figure is than that of another, on the same items.

    interval: between these lie 95% of the differences on the same draws. p: how often a difference
    of the other sign would turn up, both ways; at least 2 / (draws + 1). task: the evaluation.
    """

    name: str
    metric: str
    value: float
    interval: tuple[float, float]
    p: float
    task: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "evaluation": self.task,
            "set": self.name,
            "metric": self.metric,
            "difference": self.value,
            "interval": list(self.interval),
            "p": self.p,
        }


@dataclass(frozen=True)
class Outcome:
    """All that one evaluation found.

    figures: in the order to show. headline: those of them that stand in a summary. missing: what
    was not measured, and why, a line each. notes: what else to show, as lines; more: and to write,
    ready for JSON.
    """

    task: str
    figures: tuple[Figure, ...]
    headline: tuple[Figure, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "figures": [figure.as_dict() for figure in self.figures],
            "missing": list(self.missing),
            **self.more,
        }


def measure(
    name: str, statistics: Mapping[str, bootstrap.Statistic], items: int
) -> tuple[Figure, ...]:
    """A figure for each metric of ``statistics``, with its draws; ``items`` >= 1."""
    drawn = bootstrap.draws(tuple(statistics.values()), items, name)
    return tuple(
        Figure(name, metric, bootstrap.once(statistic, items), items, values)
        for (metric, statistic), values in zip(statistics.items(), drawn, strict=True)
    )


def mean_of(name: str, figures: Sequence[Figure]) -> Figure:
    """The mean of figures of one metric over several sets, each drawn by itself."""
    (metric,) = {figure.metric for figure in figures}
    value = float(np.mean([figure.value for figure in figures]))
    drawn = [figure.draws for figure in figures if figure.draws is not None]
    return Figure(name, metric, value, 0, np.mean(drawn, axis=0) if drawn else None)


def without_vector(name: str, *sides: np.ndarray) -> list[str]:
    """A line on the sentences of a set that have the zero vector, if any have."""
    every = sum(map(len, sides))
    zero = every - sum(int(rows.any(axis=1).sum()) for rows in sides)
    if not zero:
        return []
    return [f"{name}: vectors of {zero:,} of {every:,} sentences; their cosines count as 0"]


def differences(one: Iterable[Figure], other: Iterable[Figure]) -> list[Difference]:
    """Each figure of ``one`` against that of ``other``, where both have it, and draws of it.

    Raises MismatchError for a set that is not of the same size.
    """
    known = {(figure.name, figure.metric): figure for figure in other}
    found = []
    for figure in one:
        against = known.get((figure.name, figure.metric))
        if against is None or figure.draws is None or against.draws is None:
            continue
        if against.items != figure.items:
            raise MismatchError(
                f"{figure.name}: {figure.items} and {against.items} items; the same text is needed"
            )
        apart = figure.draws - against.draws
        # One is added, so that no finite number of draws makes a difference certain.
        least = min((apart <= 0).sum(), (apart >= 0).sum())
        p = min(1.0, 2 * (int(least) + 1) / (len(apart) + 1))
        found.append(
            Difference(
                figure.name, figure.metric, figure.value - against.value, _interval(apart), p
            )
        )
    return found


def _interval(values: np.ndarray) -> tuple[float, float]:
    rest = (1 - SHARE) / 2
    low, high = np.quantile(values, (rest, 1 - rest))
    return float(low), float(high)
