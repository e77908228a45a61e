"""The curve of a filter run: pairs that other thresholds of the score that ranks would keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miner.cleaning.decide import Cleaned
from miner.filters.filter_types import MODEL

# Thresholds at equal distances, of pairs and of scores.
STEPS = 1000


@dataclass(frozen=True, eq=False)
class Curve:
    """Counts at s thresholds of the score that ranks, ``(s,)`` each, the strictest first.

    threshold: the bound. kept: pairs. words: their tokens on the target's side. quality: the mean
    of their scores. now: index of the threshold that keeps as many pairs as the run. most: counts
    beyond the run's bounds are upper limits, since expensive filters did not score there.
    """

    threshold: np.ndarray
    kept: np.ndarray
    words: np.ndarray
    quality: np.ndarray
    now: int
    most: bool


def curve_of(found: Cleaned, free: Cleaned) -> Curve:
    """Compute the curve of a run, at thresholds of six digits.

    ``free`` is the same run without a bound on the score that ranks.
    """
    step = found.plan.ranking
    assert step is not None and free.rank is not None
    rows = np.flatnonzero(free.kept)
    rows = rows[np.argsort(-free.rank[rows], kind="stable")]
    rank = free.rank[rows]
    sign = 1 if step.filter.better == "higher" else -1
    bound = step.minimum if sign > 0 else step.maximum
    most = any(np.isnan(free.scores(one.label)[rows]).any() for one in found.plan.stage(MODEL))
    total = len(rows)
    tried = np.linspace(1, total, min(STEPS, total)).astype(np.int64)
    finite = rank[np.isfinite(rank)]
    if len(finite):  # at equal distances of the score
        more = np.linspace(finite[0], finite[-1], STEPS)
        tried = np.concatenate([tried, np.searchsorted(-rank, -more, side="right")])
    tried = np.append(tried, min(int(found.kept.sum()), total))
    limits = _lax(rank[np.unique(tried[tried > 0]) - 1])
    limits = np.append(limits, [] if bound is None else [sign * bound])
    # Compared in float32, as bounds are.
    limits = np.unique(limits)[::-1]
    count = np.searchsorted(-rank, -limits.astype(np.float32).astype(np.float64), side="right")
    limits, count = limits[count > 0], count[count > 0]
    words = np.cumsum(free.words[rows], dtype=np.int64)
    means = np.cumsum(rank) / np.arange(1, total + 1)
    now = int(np.searchsorted(count, found.kept.sum(), side="right")) - 1
    return Curve(
        sign * limits,
        count,
        words[count - 1],
        sign * means[count - 1],
        max(now, 0),
        most,
    )


def _lax(rank: np.ndarray) -> np.ndarray:
    """Round ranks down to six digits, so that they keep such a bound."""
    size = np.maximum(np.abs(rank), 1e-12)
    with np.errstate(invalid="ignore"):
        scale = 10.0 ** (5 - np.floor(np.log10(size)))
        out = np.floor(rank * scale) / scale
    return np.where(np.isfinite(out), out, rank)
