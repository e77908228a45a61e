"""Bounds of filters from a sample of clean rows."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from miner.cleaning.config import FilterConfig, Step
from miner.errors import CorpusError
from miner.filters.filter_types import GLOBAL
from miner.text_table import aligned, count_of


@dataclass(frozen=True)
class SampleBound:
    """Bounds of a filter, as text, before and from a sample; ``dropped``: share of the sample that
    the new ones reject.
    """

    label: str
    default: str
    bounds: str
    dropped: float


@dataclass(frozen=True)
class SampleBounds:
    """Bounds from a sample of ``rows`` rows; all filters together drop the share ``dropped``."""

    rows: int
    filters: tuple[SampleBound, ...]
    dropped: float

    def __str__(self) -> str:
        cells = [("filter", "default", "from sample", "sample dropped")]
        cells += [
            (bound.label, bound.default, bound.bounds, f"{bound.dropped:.1%}")
            for bound in self.filters
        ]
        head = f"bounds from {count_of(self.rows, 'clean row')}, {self.dropped:.1%} dropped by any:"
        return "\n".join([head, *aligned(cells, left=3)])


def to_fit(config: FilterConfig) -> list[Step]:
    """Return the filters of single pairs, in all files, whose bounds the user did not set."""
    steps = (step for step in config.steps if step.filter.stage != GLOBAL)
    return [step for step in steps if step.usual and step.only is None]


def fit_bounds(
    config: FilterConfig, scores: np.ndarray, share: float
) -> tuple[FilterConfig, SampleBounds]:
    """Set bounds of :func:`to_fit` that drop at most a ``share`` of a sample each.

    ``scores``: ``(rows, filters)`` of the sample. A filter keeps the sides on which it has bounds;
    one without bounds gets one on its worse side. Raises CorpusError for a sample that is too
    small to tell the quantile.
    """
    if len(scores) * share < 1:
        raise CorpusError(
            f"a clean sample of {count_of(len(scores), 'row')} cannot tell a share of {share:g}; "
            f"give {int(np.ceil(1 / share)):,} rows or more, or a larger --like-share"
        )
    fitted, rows, bad = {}, [], np.zeros(len(scores), dtype=bool)
    for step, values in zip(to_fit(config), scores.T, strict=True):
        new = _fitted(step, values, share)
        dropped = np.zeros(len(values), dtype=bool)
        if new.minimum is not None:
            dropped |= values < new.minimum
        if new.maximum is not None:
            dropped |= values > new.maximum
        fitted[step.label] = new
        bad |= dropped
        rows.append(SampleBound(step.label, step.bounds(), new.bounds(), float(dropped.mean())))
    steps = tuple(fitted.get(step.label, step) for step in config.steps)
    summary = SampleBounds(len(scores), tuple(rows), float(bad.mean()))
    return dataclasses.replace(config, steps=steps), summary


def _fitted(step: Step, values: Sequence[float] | np.ndarray, share: float) -> Step:
    """Return the step with bounds that reject at most a share of the values on each side."""
    cut = int(len(values) * share)
    order = np.sort(values)
    none = step.minimum is None and step.maximum is None
    worse = step.filter.better == "higher"
    low = _outward(order[cut], np.floor) if step.minimum is not None or (none and worse) else None
    above = step.maximum is not None or (none and not worse)
    high = _outward(order[-1 - cut], np.ceil) if above else None
    return dataclasses.replace(step, minimum=low, maximum=high, usual=False, bound_of=())


def _outward(value: float, towards: Callable[[float], float]) -> float | None:
    """Round a bound to four digits, away from the scores within; None if it is infinite."""
    if not np.isfinite(value):
        return None
    scale = 10.0 ** (3 - np.floor(np.log10(abs(value) or 1)))
    return float(towards(value * scale) / scale)
