"""HTML report of a search: the threshold with its estimates, charts, and samples of the pairs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from miner.mining.result import Mined
from miner.precision.estimate import Estimate, interval_text, rounded
from miner.precision.search_result import SearchResult
from miner.reports import page
from miner.reports.page import check
from miner.scoring.explain import match
from miner.scoring.highlight import segments, spans_of
from miner.scoring.pairs import Pairs
from miner.scoring.verifier import FEATURES

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
    kept = int(np.searchsorted(-np.array(steps["score"]), -threshold, side="right"))
    return max(kept - 1, 0)


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


# Bands of probability from which samples are shown.
BANDS = ((0.99, 1.0), (0.9, 0.99), (0.5, 0.9), (0.1, 0.5), (0.01, 0.1), (0.0, 0.01))
SAMPLES = 6
# Pairs shown on either side of the threshold, and of each suspicious kind.
AROUND, SUSPECTS = 8, 8
# Pieces below which a sentence is very short, and share of common pieces above which a pair is a
# near-copy.
SHORT, COPIED = 4, 0.8


def write(path: str | Path, mined: Mined) -> None:
    """Write the report of a mining whose scores are probabilities.

    Raises DependencyError without Bokeh, and ResourceError if the page cannot be written.
    """
    check(path)
    search, estimate, threshold = mined.search, mined.estimate, mined.applied
    start = 0.5 if threshold is None or not 0 <= threshold <= 1 else threshold
    steps = thresholds(search.pairs, estimate, start)
    title = f"{_names(search.pairs.source)} × {_names(search.pairs.target)}"
    page.write(
        path,
        "search.html",
        f"Mined pairs: {title}",
        draw(search.pairs, steps, start),
        {
            "heading": title,
            "summary": _summary(mined),
            "steps": {
                "at": steps["logit"],
                "said": _said(steps),
                "start": position(steps, start),
            },
            "samples_by_score": _samples(search, threshold),
            "suspects": _suspects(search, threshold),
            "verified": search.verifier is not None,
        },
    )


def _said(steps: dict[str, list[Any]]) -> list[str]:
    """Return the text of the slider for each threshold."""
    said = [
        f"--threshold {score:.6f} keeps {kept:,} pairs"
        for score, kept in zip(steps["score"], steps["kept"], strict=True)
    ]
    for name, words in (("precision", "estimated precision"), ("recall", "recall")):
        if name in steps:
            said = [
                f"{text}, {words} {share:.3f}"
                for text, share in zip(said, steps[name], strict=True)
            ]
    return said


def _names(index: Any) -> str:
    return ", ".join(Path(source.path).name for source in index.sources)


def _summary(mined: Mined) -> list[tuple[str, str]]:
    """Return the facts at the head of the page: name and text of each."""
    search, estimate, threshold = mined.search, mined.estimate, mined.applied
    pairs = search.pairs
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
    settings = search.settings
    rows.append(("model", pairs.source.model_name))
    rows.append(
        ("search", f"{settings.neighbors} neighbours each way, {settings.retrieval} retrieval")
    )
    rows.append(("pairs found", f"{len(pairs):,}"))
    if threshold is not None and np.isfinite(threshold):
        rows.append(("threshold", f"{rounded(threshold):.6f}"))
        rows.append(("pairs kept", f"{len(mined.pairs):,}"))
        if mined.left_out is not None:
            left = len(mined.left_out.pairs)
            rows.append(("pairs left out", f"{left:,}, with text of --without"))
    elif threshold is not None:
        rows.append(("pairs kept", "none: no threshold is as precise as was asked"))
    if estimate is not None:
        if threshold is not None and np.isfinite(threshold):
            kept = pairs.count_at_least(threshold)
            (bounds,) = estimate.intervals([kept])
            precision, recall = (None, None) if bounds is None else bounds
            shown = f"{estimate.precision(kept):.3f}{_interval(precision)}"
            rows.append(("estimated precision", shown))
            share = estimate.recall(kept)
            shown = "" if share is None else f"{share:.3f}{_interval(recall)}, "
            rows.append(("estimated recall", f"{shown}{estimate.recall_of}"))
        rows.append(
            (
                "how it is known",
                f"{estimate.decoys:,} decoys, sentences that cannot be translations, were mixed "
                f"in among the targets; {estimate.matched:,} were matched, few with high scores",
            )
        )
        if estimate.near is not None and threshold is not None and np.isfinite(threshold):
            rows.append(
                (
                    "near-copies",
                    f"{estimate.near.kept(threshold):.0%} of {len(estimate.near.score)} likely "
                    "pairs would be kept with one fact changed; such pairs are not among those "
                    "estimated to be wrong",
                )
            )
        rows += [("score", note) for note in estimate.notes]
        rows += [("doubt", doubt) for doubt in estimate.doubts]
    else:
        rows.append(("precision", "not estimated"))
    return rows


def _interval(bounds: tuple[float, float] | None) -> str:
    return "" if bounds is None else f" (90% interval {interval_text(bounds)})"


def _samples(search: SearchResult, threshold: float | None) -> list[dict[str, Any]]:
    """Return pairs around the threshold, and of every band of scores."""
    pairs = search.pairs
    parts = []
    if threshold is not None and 0 <= threshold <= 1:
        kept = pairs.count_at_least(threshold)
        above = range(max(0, kept - AROUND), kept)
        below = range(kept, min(len(pairs), kept + AROUND))
        parts.append(_group("Just above the threshold", search, above))
        parts.append(_group("Just below the threshold", search, below))
    for low, high in BANDS:
        # Scores descend; the highest band includes scores of 1.
        first = np.searchsorted(-pairs.score, -high, side="right") if high < 1 else 0
        last = np.searchsorted(-pairs.score, -low, side="right")
        chosen = (
            np.unique(np.linspace(first, last - 1, SAMPLES).astype(int)) if last > first else ()
        )
        title = f"Score from {low:g} to {high:g}: {last - first:,} pairs"
        parts.append(_group(title, search, chosen))
    return parts


def _suspects(search: SearchResult, threshold: float | None) -> list[dict[str, Any]]:
    """Return the best kept pairs of each suspicious kind."""
    pairs = search.pairs
    kept = pairs.score >= (0.5 if threshold is None else threshold)
    popular = np.maximum(
        _popularity(search.backward.row, len(pairs.source))[pairs.source_row],
        _popularity(search.forward.row, len(pairs.target))[pairs.target_row],
    )
    hub = popular > 10 * search.settings.neighbors
    kinds = [*_of_tokens(search), ("Hubs: sentences that are near to a great many others", hub)]
    return [
        _group(
            f"{title}: {np.count_nonzero(kept & which):,} of the pairs kept",
            search,
            np.flatnonzero(kept & which)[:SUSPECTS],
        )
        for title, which in kinds
    ]


def _of_tokens(search: SearchResult) -> list[tuple[str, np.ndarray]]:
    """Return the kinds detected by token ids, with a mask of pairs; none without verification."""
    pairs = search.pairs
    if pairs.features is None or search.source_text is None or search.target_text is None:
        return []
    feature = dict(zip(FEATURES, pairs.features.T, strict=True))
    pieces = np.minimum(
        np.diff(search.source_text.offsets)[pairs.source_row],
        np.diff(search.target_text.offsets)[pairs.target_row],
    )
    return [
        ("Numbers disagree", feature["numbers_differ"] > 0),
        ("Nearly the same text on both sides", feature["shared_pieces"] > COPIED),
        ("Very short", pieces < SHORT),
    ]


def _popularity(rows: np.ndarray, size: int) -> np.ndarray:
    """Return the number of neighbour lists that have each row, ``(size,)``."""
    return np.bincount(rows[rows >= 0], minlength=size)


def _group(title: str, search: SearchResult, chosen: Iterable[int]) -> dict[str, Any]:
    """Return a group of pairs: score, q-value and both sides, in pieces of text with highlights."""
    pairs = search.pairs.take(np.array(list(chosen), dtype=np.int64))
    q_values = [None] * len(pairs) if pairs.q_value is None else pairs.q_value.tolist()
    rows = [
        {"score": score, "q_value": q_value, "sides": _sides(search, source, target)}
        for (score, source, target), q_value in zip(pairs.texts(), q_values, strict=True)
    ]
    return {"title": title, "pairs": rows}


def _sides(
    search: SearchResult, source: str, target: str
) -> list[tuple[list[tuple[str, bool]], str]]:
    """Return the pieces of both sentences, True for words to highlight, and a note."""
    if search.verifier is None:
        return [([(source, False)], ""), ([(target, False)], "")]
    sides = []
    texts, matched = (source, target), match(search.verifier, source, target)
    for text, tokens, spans in zip(texts, matched, spans_of(texts, matched), strict=True):
        notes = [
            f"{token.text.strip()}: usually {' or '.join(token.usual)}"
            for token in tokens
            if token.usual
        ]
        sides.append((segments(text, spans), "; ".join(notes)))
    return sides
