"""Thresholds and charts of the report of a search: a histogram and a curve."""

from typing import Any

import numpy as np

from miner.precision.estimate import Estimate
from miner.reports import page
from miner.scoring.pairs import Pairs

# Number of thresholds on the slider.
STEPS = 1000
# Probabilities with a tick on the axis, which shows logits within ±LIMIT.
TICKS = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
LIMIT = 12.0


def thresholds(pairs: Pairs, estimate: Estimate | None, start: float) -> dict[str, list[Any]]:
    """Return the thresholds of the slider, strictest first, with ``start`` among them.

    Each has its ``score`` and ``logit``, the number of pairs ``kept`` and, with an estimate,
    ``precision`` and ``recall``, if estimated.
    """
    kept = np.unique(np.linspace(1, max(len(pairs), 1), STEPS).astype(np.int64))
    # Most pairs are wrong and score low, so steps at equal distances of the score are added.
    at = -np.log(1 / np.linspace(0.9999, 0.001, STEPS) - 1)
    more = np.searchsorted(-_logit(pairs.score), -at, side="right")
    kept = np.concatenate([kept, more, [pairs.count_at_least(start)]])
    kept = np.unique(kept[(kept > 0) & (kept <= len(pairs))])
    # Rounded down, so that the printed threshold keeps all the pairs of its row.
    score = np.unique(np.floor(pairs.score[kept - 1] * 1e6) / 1e6)[::-1]
    kept = np.searchsorted(-pairs.score, -score, side="right")
    steps: dict[str, list[Any]] = {
        "score": score.tolist(),
        "logit": _logit(score).tolist(),
        "kept": kept.tolist(),
    }
    if estimate is not None:
        steps["precision"] = [estimate.precision(int(count)) for count in kept]
        if not estimate.no_recall:
            steps["recall"] = [estimate.recall(int(count)) for count in kept]
    return steps


def position(steps: dict[str, list[Any]], threshold: float) -> int:
    """Return the step that keeps the same pairs as ``threshold``."""
    found = int(np.searchsorted(-np.array(steps["score"]), -threshold, side="right"))
    return max(found - 1, 0)


def draw(pairs: Pairs, steps: dict[str, list[Any]], threshold: float) -> dict[str, Any]:
    """Return the histogram of scores and the curve of kept pairs by threshold, by name."""
    from bokeh.models import LinearAxis, Range1d
    from bokeh.plotting import figure

    logit = _logit(pairs.score)
    count, edges = np.histogram(logit, bins=80, range=(-LIMIT, LIMIT))
    shown = {"width": 960, "sizing_mode": "scale_width", "tools": "pan,xwheel_zoom,box_zoom,reset"}
    spread = (float(logit.min(initial=-6)) - 0.5, float(logit.max(initial=6)) + 0.5)
    histogram = figure(
        title="Pairs by score", height=260, y_axis_type="log", x_range=Range1d(*spread), **shown
    )
    filled = count > 0
    histogram.quad(
        left=edges[:-1][filled], right=edges[1:][filled], bottom=0.5, top=count[filled],
        fill_color="#4c78a8", line_color="white",
    )  # fmt: skip
    histogram.yaxis.axis_label = "pairs (logarithmic)"
    curve = figure(title="Pairs kept by threshold", height=260, x_range=histogram.x_range, **shown)
    most = max(steps["kept"], default=1)
    curve.y_range = Range1d(0, 1.02)
    curve.extra_y_ranges = {"kept": Range1d(0, most * 1.02)}
    curve.add_layout(LinearAxis(y_range_name="kept", axis_label="pairs kept"), "right")
    curve.line(
        steps["logit"], steps["kept"], y_range_name="kept", color="#4c78a8", line_width=2,
        legend_label="pairs kept",
    )  # fmt: skip
    for name, color in (("precision", "#e45756"), ("recall", "#54a24b")):
        if name in steps:
            curve.line(
                steps["logit"], steps[name], color=color, line_width=2,
                legend_label=f"estimated {name}",
            )  # fmt: skip
    curve.yaxis[0].axis_label = "share"
    curve.legend.orientation = "horizontal"
    curve.add_layout(curve.legend[0], "above")
    at = float(_logit(np.array([threshold]))[0])
    for number, chart in enumerate((histogram, curve)):
        chart.xaxis.axis_label = "score: probability of being a translation"
        ticks = _logit(np.array(TICKS)).tolist()
        chart.xaxis.ticker = ticks
        chart.xaxis.major_label_overrides = {
            tick: f"{value:g}" for tick, value in zip(ticks, TICKS, strict=True)
        }
        chart.add_layout(page.moved(number, at))
        chart.toolbar.logo = None
    return {"histogram": histogram, "curve": curve}


def _logit(score: np.ndarray) -> np.ndarray:
    """Return log-odds of probabilities, clipped to ±LIMIT."""
    inside = np.clip(score, 1e-12, 1 - 1e-12)
    return np.clip(np.log(inside) - np.log1p(-inside), -LIMIT, LIMIT)
