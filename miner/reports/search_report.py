"""A page to look at, about a search: what a threshold keeps, and samples of the pairs found."""

import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from miner.mining.pairs import Pairs
from miner.mining.precision import Estimate, rounded
from miner.mining.search import Search
from miner.reports import page
from miner.reports.page import check
from miner.scoring.explain import Token, match
from miner.scoring.verifier import FEATURES

# Bands of probability that samples are shown of.
BANDS = ((0.99, 1.0), (0.9, 0.99), (0.5, 0.9), (0.1, 0.5), (0.01, 0.1), (0.0, 0.01))
SAMPLES = 6
# Pairs shown on either side of the threshold, and of each kind of suspicion.
AROUND, SUSPECTS = 8, 8
# Below this many pieces a sentence is very short; above this share of same pieces, a near-copy.
SHORT, COPIED = 4, 0.8
# Points of the threshold that the slider knows.
STEPS = 1000
TICKS = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
LIMIT = 12.0


def write(
    path: str | Path, found: Search, estimate: Estimate | None, threshold: float | None
) -> None:
    """Write the page about a search whose pairs were looked at twice.

    ``threshold`` is the one that was applied, None for none. Raises
    :class:`~miner.errors.DependencyError` without Bokeh, ResourceError where it cannot be written.
    """
    check(path)
    start = 0.5 if threshold is None or not 0 <= threshold <= 1 else threshold
    steps = _steps(found.pairs, estimate, start)
    divisions, script = page.embedded(_charts(found.pairs, steps, start))
    title = f"{_names(found.pairs.source)} × {_names(found.pairs.target)}"
    body = _BODY.format(
        title=html.escape(title),
        summary=_summary(found, estimate, threshold),
        slider=page.slider(steps["logit"], _said(steps), _position(steps, start)),
        charts="".join(divisions),
        samples=_samples(found, threshold),
        suspects=_suspects(found, threshold),
    )
    page.write(path, f"Mined pairs: {title}", body, script)


def _logit(score: np.ndarray) -> np.ndarray:
    inside = np.clip(score, 1e-12, 1 - 1e-12)
    return np.clip(np.log(inside) - np.log1p(-inside), -LIMIT, LIMIT)


def _steps(pairs: Pairs, estimate: Estimate | None, start: float) -> dict[str, list[Any]]:
    """Thresholds for the slider, strictest first, ``start`` among them, and what each keeps."""
    kept = np.unique(np.linspace(1, max(len(pairs), 1), STEPS).astype(np.int64))
    # Most pairs are wrong: steps at equal distances of the score as well.
    at = -np.log(1 / np.linspace(0.9999, 0.001, STEPS) - 1)
    more = np.searchsorted(-_logit(pairs.score), -at, side="right")
    kept = np.concatenate([kept, more, [pairs.count_at_least(start)]])
    kept = np.unique(kept[(kept > 0) & (kept <= len(pairs))])
    # Rounded down, so that the threshold as printed keeps what is printed beside it.
    score = np.unique(np.floor(pairs.score[kept - 1] * 1e6) / 1e6)[::-1]
    kept = np.searchsorted(-pairs.score, -score, side="right")
    steps: dict[str, list[Any]] = {
        "score": score.tolist(),
        "logit": _logit(score).tolist(),
        "kept": kept.tolist(),
    }
    if estimate is not None:
        steps["precision"] = [estimate.precision(int(count)) for count in kept]
        steps["recall"] = [estimate.recall(int(count)) for count in kept]
    return steps


def _said(steps: dict[str, list[Any]]) -> list[str]:
    """What each threshold keeps, in words."""
    said = [
        f"--threshold {score:.6f} keeps {kept:,} pairs"
        for score, kept in zip(steps["score"], steps["kept"], strict=True)
    ]
    if "precision" in steps:
        shares = zip(said, steps["precision"], steps["recall"], strict=True)
        said = [
            f"{text}, estimated precision {precision:.3f}, recall {recall:.3f}"
            for text, precision, recall in shares
        ]
    return said


def _position(steps: dict[str, list[Any]], threshold: float) -> int:
    """The step that keeps what this threshold keeps."""
    found = int(np.searchsorted(-np.array(steps["score"]), -threshold, side="right"))
    return max(found - 1, 0)


def _charts(pairs: Pairs, steps: dict[str, list[Any]], threshold: float) -> list[Any]:
    from bokeh.models import LinearAxis, Range1d, Span
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
    curve = figure(title="What a threshold keeps", height=260, x_range=histogram.x_range, **shown)
    most = max(steps["kept"], default=1)
    curve.y_range = Range1d(0, 1.02)
    curve.extra_y_ranges = {"kept": Range1d(0, most * 1.02)}
    curve.add_layout(LinearAxis(y_range_name="kept", axis_label="pairs kept"), "right")
    curve.line(
        steps["logit"], steps["kept"], y_range_name="kept", color="#4c78a8", line_width=2,
        legend_label="pairs kept",
    )  # fmt: skip
    if "precision" in steps:
        for name, color in (("precision", "#e45756"), ("recall", "#54a24b")):
            curve.line(
                steps["logit"], steps[name], color=color, line_width=2,
                legend_label=f"estimated {name}",
            )  # fmt: skip
    curve.yaxis[0].axis_label = "share"
    curve.legend.orientation = "horizontal"
    curve.legend.location = "top_center"
    curve.legend.background_fill_alpha = 0.6
    at = float(_logit(np.array([threshold]))[0])
    for number, chart in enumerate((histogram, curve)):
        chart.xaxis.axis_label = "score: probability of being a translation"
        ticks = _logit(np.array(TICKS)).tolist()
        chart.xaxis.ticker = ticks
        chart.xaxis.major_label_overrides = {
            tick: f"{value:g}" for tick, value in zip(ticks, TICKS, strict=True)
        }
        chart.add_layout(
            Span(location=at, dimension="height", line_width=2, name=page.MOVED[number])
        )
        chart.toolbar.logo = None
    return [histogram, curve]


def _names(index: Any) -> str:
    return ", ".join(Path(source.path).name for source in index.sources)


def _summary(found: Search, estimate: Estimate | None, threshold: float | None) -> str:
    pairs = found.pairs
    rows = []
    for name, index in (("source", pairs.source), ("target", pairs.target)):
        for source in index.sources:
            notes = [f"{source.records:,} lines", f"{source.empty:,} empty"]
            notes += [f"{source.undecodable:,} not UTF-8 left out"] * bool(source.undecodable)
            notes += [f"{source.replaced:,} with bytes replaced"] * bool(source.replaced)
            rows.append((f"{name}: {source.path}", ", ".join(notes)))
        repeats = len(index) - index.different
        unknown = index.different - index.distinct
        text = f"{index.distinct:,} sentences ({repeats:,} repeats"
        rows.append((f"{name}: searched", f"{text}, {unknown:,} without a known piece left out)"))
    settings = found.settings
    rows.append(("model", pairs.source.model_name))
    rows.append(
        ("search", f"{settings.neighbors} neighbours each way, {settings.retrieval} retrieval")
    )
    rows.append(("pairs found", f"{len(pairs):,}"))
    if threshold is not None and np.isfinite(threshold):
        rows.append(("threshold", f"{rounded(threshold):.6f}"))
        rows.append(("pairs kept", f"{pairs.count_at_least(threshold):,}"))
    elif threshold is not None:
        rows.append(("pairs kept", "none: no threshold is as precise as was asked"))
    if estimate is not None:
        if threshold is not None and np.isfinite(threshold):
            kept = pairs.count_at_least(threshold)
            rows.append(("estimated precision", f"{estimate.precision(kept):.3f}"))
            rows.append(("estimated recall", f"{estimate.recall(kept):.3f} of what was found"))
        rows.append(
            (
                "how it is known",
                f"{estimate.decoys:,} decoys, sentences that cannot be translations, were mixed "
                f"in among the targets; {estimate.matched:,} were matched, few with high scores",
            )
        )
        rows += [("doubt", doubt) for doubt in estimate.doubts]
    else:
        rows.append(("precision", "not estimated"))
    return page.facts(rows)


def _samples(found: Search, threshold: float | None) -> str:
    pairs = found.pairs
    parts = []
    if threshold is not None and 0 <= threshold <= 1:
        kept = pairs.count_at_least(threshold)
        above = range(max(0, kept - AROUND), kept)
        below = range(kept, min(len(pairs), kept + AROUND))
        parts.append(_section("Just above the threshold", found, above))
        parts.append(_section("Just below the threshold", found, below))
    for low, high in BANDS:
        # Scores descend; the highest band takes the scores of 1 as well.
        first = np.searchsorted(-pairs.score, -high, side="right") if high < 1 else 0
        last = np.searchsorted(-pairs.score, -low, side="right")
        chosen = (
            np.unique(np.linspace(first, last - 1, SAMPLES).astype(int)) if last > first else ()
        )
        title = f"Score from {low:g} to {high:g}: {last - first:,} pairs"
        parts.append(_section(title, found, chosen))
    return "".join(parts)


def _suspects(found: Search, threshold: float | None) -> str:
    """The best of the pairs kept that something speaks against."""
    pairs = found.pairs
    assert pairs.features is not None
    assert found.source_text is not None and found.target_text is not None
    feature = dict(zip(FEATURES, pairs.features.T, strict=True))
    kept = pairs.score >= (0.5 if threshold is None else threshold)
    pieces = np.minimum(
        np.diff(found.source_text.offsets)[pairs.source_row],
        np.diff(found.target_text.offsets)[pairs.target_row],
    )
    popular = np.maximum(
        _popularity(found.backward.row, len(pairs.source))[pairs.source_row],
        _popularity(found.forward.row, len(pairs.target))[pairs.target_row],
    )
    hub = popular > 10 * found.settings.neighbors
    kinds = (
        ("Numbers disagree", feature["numbers_differ"] > 0),
        ("Nearly the same text on both sides", feature["shared_pieces"] > COPIED),
        ("Very short", pieces < SHORT),
        ("Hubs: sentences that are near to a great many others", hub),
    )
    return "".join(
        _section(
            f"{title}: {np.count_nonzero(kept & which):,} of the pairs kept",
            found,
            np.flatnonzero(kept & which)[:SUSPECTS],
        )
        for title, which in kinds
    )


def _popularity(rows: np.ndarray, size: int) -> np.ndarray:
    """``(size,)``: on how many neighbour lists each row stands."""
    return np.bincount(rows[rows >= 0], minlength=size)


def _section(title: str, found: Search, chosen: Iterable[int]) -> str:
    pairs = found.pairs.take(np.array(list(chosen), dtype=np.int64))
    assert found.verifier is not None
    rows = []
    texts = list(pairs.texts())
    q_values = [None] * len(pairs) if pairs.q_value is None else pairs.q_value.tolist()
    for (score, source, target), q_value in zip(texts, q_values, strict=True):
        left, right = match(found.verifier, source, target)
        note = "" if q_value is None else f'<br><span class="q">q {q_value:.3f}</span>'
        rows.append(
            f"<tr><td>{score:.4f}{note}</td><td>{_marked(left)}</td><td>{_marked(right)}</td></tr>"
        )
    return page.samples(title, rows)


def _marked(tokens: list[Token]) -> str:
    """A sentence as the model reads it, pieces without a counterpart marked."""
    parts = []
    for token in tokens:
        text = html.escape(token.text)
        if token.partner is None:
            parts.append(f"<mark>{text}</mark>")
        else:
            strength = max(token.similarity, token.probability)
            parts.append(f'<span title="best counterpart {strength:.2f}">{text}</span>')
    return "".join(parts)


_BODY = """<h1>{title}</h1>
{summary}
<h2>Threshold</h2>
{slider}
{charts}
<h2>Samples</h2>
<p>The text is shown as the model reads it. Pieces without a counterpart on the other side are
<mark>marked</mark>.</p>
{samples}
<h2>Suspicious pairs with high scores</h2>
{suspects}
"""
