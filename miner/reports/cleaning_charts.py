"""Bokeh charts of the report of a cleaning, and the curve of thresholds in them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.cleaning.config import Step
from miner.cleaning.decide import Cleaned
from miner.cleaning.samples import StepSummary
from miner.filters.filter_types import MODEL
from miner.reports import page

INSIDE, OUTSIDE, WORDS = "#4c78a8", "#e45756", "#f58518"
# Number of thresholds at equal steps, of pairs and of scores each.
STEPS = 1000


@dataclass(frozen=True, eq=False)
class Curve:
    """Counts at s thresholds of the ranking score, ``(s,)`` each, strictest first.

    threshold: the bound. kept: pairs. words: their tokens on the target side. quality: mean of
    their scores. now: index of the threshold that keeps as many pairs as the run. most: True if
    counts beyond the run's bounds are upper limits, because expensive filters did not score there.
    """

    threshold: np.ndarray
    kept: np.ndarray
    words: np.ndarray
    quality: np.ndarray
    now: int
    most: bool


def curve_of(cleaned: Cleaned, free: Cleaned) -> Curve:
    """Compute the curve of a run, at thresholds of six digits.

    ``free`` is the same run without a bound on the ranking score.
    """
    step = cleaned.config.ranking
    assert step is not None and free.rank is not None
    rows = np.flatnonzero(free.kept)
    rows = rows[np.argsort(-free.rank[rows], kind="stable")]
    rank = free.rank[rows]
    sign = 1 if step.filter.better == "higher" else -1
    bound = step.minimum if sign > 0 else step.maximum
    most = any(
        np.isnan(free.scores(other.label)[rows]).any() for other in cleaned.config.stage(MODEL)
    )
    total = len(rows)
    tried = np.linspace(1, total, min(STEPS, total)).astype(np.int64)
    finite = rank[np.isfinite(rank)]
    if len(finite):  # more thresholds, at equal distances
        more = np.linspace(finite[0], finite[-1], STEPS)
        tried = np.concatenate([tried, np.searchsorted(-rank, -more, side="right")])
    tried = np.append(tried, min(int(cleaned.kept.sum()), total))
    limits = _lax(rank[np.unique(tried[tried > 0]) - 1])
    limits = np.append(limits, [] if bound is None else [sign * bound])
    # Compared in float32, like bounds.
    limits = np.unique(limits)[::-1]
    count = np.searchsorted(-rank, -limits.astype(np.float32).astype(np.float64), side="right")
    limits, count = limits[count > 0], count[count > 0]
    words = np.cumsum(free.words[rows], dtype=np.int64)
    means = np.cumsum(rank) / np.arange(1, total + 1)
    now = int(np.searchsorted(count, cleaned.kept.sum(), side="right")) - 1
    return Curve(
        sign * limits,
        count,
        words[count - 1],
        sign * means[count - 1],
        max(now, 0),
        most,
    )


def _lax(rank: np.ndarray) -> np.ndarray:
    """Round ranks down to six digits, so that a rounded bound keeps its row."""
    size = np.maximum(np.abs(rank), 1e-12)
    with np.errstate(invalid="ignore"):
        scale = 10.0 ** (5 - np.floor(np.log10(size)))
        out = np.floor(rank * scale) / scale
    return np.where(np.isfinite(out), out, rank)


def _figure(**settings: Any) -> Any:
    from bokeh.models import NumeralTickFormatter
    from bokeh.plotting import figure

    chart = figure(width=960, sizing_mode="scale_width", **{"toolbar_location": None, **settings})
    chart.toolbar.logo = None
    if settings.get("y_axis_type") == "log" or settings.get("x_axis_type") == "log":
        return chart
    chart.xaxis.formatter = NumeralTickFormatter(format="0,0")
    return chart


def _legend(chart: Any) -> None:
    chart.legend.orientation = "horizontal"
    chart.add_layout(chart.legend[0], "above")
    chart.legend.padding = 0


def histogram(summary: StepSummary, now: float | None) -> Any:
    """Draw a histogram of scores, coloured by the filter's decision, with a line at ``now``."""
    from bokeh.models import Label, Range1d, Span

    step, edges = summary.step, summary.edges
    most = int((summary.inside + summary.outside).max())
    margin = (edges[-1] - edges[0]) * 0.01
    chart = _figure(
        height=230,
        y_axis_type="log",
        tools="pan,xwheel_zoom,box_zoom,reset,hover",
        active_scroll=None,
        toolbar_location="right",
        tooltips=[("score", "@said"), ("pairs", "@count{0,0}")],
        x_range=Range1d(edges[0] - margin, edges[-1] + margin),
        y_range=Range1d(0.6, max(most, 5) * 2.5),
    )
    last = len(edges) - 2
    said = []
    for bar, (low, high) in enumerate(zip(edges, edges[1:], strict=False)):
        if step.filter.whole:
            low, high = np.ceil(low), np.floor(high)
        text = f"{low:.6g}" if step.filter.whole and low == high else f"{low:.6g} to {high:.6g}"
        text = f"up to {high:.6g}" if bar == 0 and summary.below else text
        said.append(f"from {low:.6g}" if bar == last and summary.above else text)
    for name, count, color in (
        ("within the bounds", summary.inside, INSIDE),
        ("beyond them", summary.outside, OUTSIDE),
    ):
        some = count > 0
        if not some.any():
            continue
        chart.quad(
            left="left", right="right", bottom=0.6, top="count", fill_color=color,
            line_color="white", line_width=0.5, legend_label=name,
            source={
                "left": edges[:-1][some], "right": edges[1:][some], "count": count[some],
                "said": [text for text, is_there in zip(said, some, strict=True) if is_there],
            },
        )  # fmt: skip
    for bound, sign, cut in _lines(step, edges):
        chart.add_layout(
            Span(location=cut, dimension="height", line_color="#222", line_dash="dashed")
        )
        chart.add_layout(
            Label(
                x=cut, y=most * 2.2, text=f"{sign} {bound:g}", text_font_size="12px",
                text_baseline="top", text_align="left" if sign == "≥" else "right",
                x_offset=4 if sign == "≥" else -4,
            )
        )  # fmt: skip
    if now is not None:
        chart.add_layout(page.moved(1, now))
    chart.xaxis.axis_label = f"score; {step.filter.better} is better"
    chart.yaxis.axis_label = "pairs (logarithmic)"
    _legend(chart)
    return chart


def _lines(step: Step, edges: np.ndarray) -> Iterable[tuple[float, str, float]]:
    """Yield each bound that lies within a histogram, its sign, and the position of its line."""
    for bound, sign in ((step.minimum, "≥"), (step.maximum, "≤")):
        if bound is None:
            continue
        cut = float(edges[np.argmin(np.abs(edges - bound))]) if step.filter.whole else bound
        if edges[0] <= cut <= edges[-1]:
            yield bound, sign, cut


def thresholds(cleaned: Cleaned, curve: Curve) -> Any:
    """Draw pairs and words kept by threshold of the ranking score; a line marks the current one."""
    from bokeh.models import LinearAxis, NumeralTickFormatter, Range1d

    step = cleaned.config.ranking
    assert step is not None
    chart = _figure(height=300, tools="pan,xwheel_zoom,box_zoom,reset", toolbar_location="right")
    finite = curve.threshold[np.isfinite(curve.threshold)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    margin = (high - low) * 0.02 or 0.5
    chart.x_range = Range1d(low - margin, high + margin)
    most = int(curve.kept.max()), int(max(curve.words.max(), 1))
    chart.y_range = Range1d(0, most[0] * 1.03)
    chart.extra_y_ranges = {"words": Range1d(0, most[1] * 1.03)}
    chart.add_layout(LinearAxis(y_range_name="words", axis_label="words kept"), "right")
    for name, values, color, more in (
        ("pairs kept", curve.kept, INSIDE, {}),
        ("words kept", curve.words, WORDS, {"y_range_name": "words"}),
    ):
        chart.line(curve.threshold, values, color=color, line_width=2, legend_label=name, **more)
    chart.yaxis.formatter = NumeralTickFormatter(format="0,0")
    chart.yaxis[0].axis_label = "pairs kept"
    chart.xaxis.formatter = NumeralTickFormatter(format="0,0.[0000]")
    chart.xaxis.axis_label = f"threshold of {step.label}; {step.filter.better} is better"
    chart.add_layout(page.moved(0, float(curve.threshold[curve.now])))
    _legend(chart)
    return chart
