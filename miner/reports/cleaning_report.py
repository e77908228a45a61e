"""A page to look at, about a cleaning: what each filter removed, and are its bounds right?"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from miner.cleaning import funnel, samples
from miner.cleaning.curve import Curve, curve_of
from miner.cleaning.decide import Cleaned
from miner.cleaning.plan import Step
from miner.cleaning.samples import Group, Look
from miner.cleaning.worker import broken
from miner.filters.filter_types import MODEL
from miner.progress import Reporter, silent
from miner.reports import cleaning_charts, page
from miner.reports.page import check
from miner.text.output import StrPath
from miner.text.rows import REPLACED

# Characters of a text that are shown, and how many of the pairs kept.
CUT, KEPT = 400, 12


def write(
    path: StrPath,
    found: Cleaned,
    *,
    names: Sequence[str] | None = None,
    sample: bool = False,
    report: Reporter = silent,
) -> None:
    """Write the page about a cleaning, whose text is read once more for the samples.

    ``names``: what the files are called, where `Rows` reads copies of them; ``sample`` where only
    a sample was looked at. Raises :class:`~miner.errors.DependencyError` without Bokeh,
    ResourceError where it cannot be written, and CorpusError for a text that has changed.
    """
    check(path)
    names = names or found.source.layout.names
    looks = samples.looks(found)
    others = samples.others(found)
    kept = samples.kept(found, KEPT)
    curve = curve_of(found)
    groups = [group for one in looks for group in one.groups]
    groups += [kept, *(group for _, more in others for group in more)]
    rows = {int(row) for group in groups for row in group.rows}
    show = _Samples(found, rows, report)

    charts: dict[str, Any] = {
        "left": cleaning_charts.left(found),
        "removed": cleaning_charts.removed(found),
    }
    if curve is not None and len(curve.threshold):
        charts["curve"] = cleaning_charts.thresholds(found, curve)
    for place, one in enumerate(looks):
        if _measures(one.step) and (one.inside.any() or one.outside.any()):
            charts[f"filter {place}"] = cleaning_charts.histogram(one, _now(found, one.step, curve))
    divisions, script = page.embedded(list(charts.values()))
    chart = dict(zip(charts, divisions, strict=True))

    title = " × ".join(str(name).rpartition("/")[2] for name in names)
    parts = [
        f"<h1>{html.escape(title)}</h1>",
        _summary(found, names, sample),
        "<h2>What each filter removed</h2>",
        "<p>Filters run one after the other; a pair is removed by the first whose bounds it does "
        "not keep. <i>Alone</i> is what a filter would remove by itself of the pairs it looked "
        "at.</p>",
        chart["left"],
        chart["removed"],
        _table(found),
        _threshold(found, curve, chart.get("curve", "")),
        "<h2>Pairs kept</h2>",
        show(kept, found.plan.ranking),
        "<h2>Filter by filter</h2>",
        "<p>Pairs nearest to each bound show whether it is right: just within it those that are "
        "kept, beyond it those that no filter before removed, while there are any.</p>",
    ]
    for place, one in enumerate(looks):
        parts.append(_filter(found, place, one, chart.get(f"filter {place}"), show))
    for label, more in others:
        shown = "".join(show(group, found.plan.ranking) for group in more)
        parts.append(f"<h3>{html.escape(label)}</h3>{_figures(found, label)}{shown}")
    page.write(path, f"Filtered: {title}", "\n".join(parts), script, _STYLE)


def _now(found: Cleaned, step: Step, curve: Curve | None) -> float | None:
    """Where the line of the slider stands at first, among the scores of the step that ranks."""
    if step != found.plan.ranking or curve is None or not len(curve.threshold):
        return None
    return float(curve.threshold[curve.now])


def _measures(step: Step) -> bool:
    """Whether the score is a measure; the line of a copy is none."""
    return not step.filter.names_row


def _summary(found: Cleaned, names: Sequence[str], sample: bool) -> str:
    plan = found.plan
    total, kept = found.count, int(found.kept.sum())
    rows = [("file" if len(names) == 1 else "files", ", ".join(map(str, names)))]
    rows += [("looked at", f"a sample of {total:,} rows, evenly spread")] * sample
    languages = [code or "not given" for code in plan.context.languages]
    rows.append(("languages", " and ".join(dict.fromkeys(languages))))
    if plan.stage(MODEL):
        rows.append(("model", plan.context.model))
    rows.append(("rows", f"{total:,}"))
    rows.append(("kept", f"{kept:,} ({funnel.share(kept, total)})"))
    words = (funnel.words(found, found.kept), int(found.words.sum(dtype=np.int64)))
    rows.append(
        ("words kept", f"{words[0]:,} of {words[1]:,} ({funnel.share(*words)}), target's side")
    )
    rows.append(("repaired", f"{found.repaired:,} rows" if plan.repair else "not asked for"))
    if found.precision is not None:
        rows.append(("mean quality", f"{found.precision:.3f} of the pairs kept"))
    times = sorted(found.stages, key=lambda stage: -stage.seconds)
    spent = [f"{one.label} {one.seconds:.1f}" for one in times if one.seconds >= 0.05]
    seconds = sum(stage.seconds for stage in found.stages)
    if seconds:
        text = f"{seconds:.1f}" + f": {', '.join(spent)}" * bool(spent)
        rows.append(("processor seconds", text))
    else:
        rows.append(("processor seconds", "none: the scores are those of an earlier run"))
    if replaced := int(np.count_nonzero(found.state & REPLACED)):
        rows.append(("not UTF-8", f"{replaced:,} rows, the bytes replaced"))
    warning = funnel.warning(found)
    rows += [] if warning is None else [("warning", warning)]
    return page.facts(rows)


def _table(found: Cleaned) -> str:
    """The waterfall in figures; each filter with what it measures, and a link to its samples."""
    total = found.count
    summary = {step.label: step.filter.summary for step in found.plan.steps}
    seconds = sum(stage.seconds for stage in found.stages)
    names = ("filter", "bounds", "looked at", "alone", "removed", "words removed", "left")
    head = "".join(f"<th>{name}</th>" for name in (*names, "words left", "seconds"))
    place = {step.label: number for number, step in enumerate(samples.steps(found))}
    rows = []
    for stage in found.stages:
        label = html.escape(stage.label)
        if stage.label in place:
            label = f'<a href="#filter-{place[stage.label]}">{label}</a>'
        what = html.escape(summary.get(stage.label, ""))
        cells = [
            f'{label}<br><span class="q">{what}</span>' if what else label,
            html.escape(stage.bounds),
            f"{stage.seen:,}",
            _part(stage.alone, stage.seen),
            _part(stage.removed, total),
            f"{stage.removed_words:,}",
            _part(stage.left, total),
            f"{stage.left_words:,}",
            _part(stage.seconds, seconds, ".1f") if stage.seconds else "",
        ]
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    return f'<table class="waterfall"><tr>{head}</tr>{"".join(rows)}</table>'


def _part(part: float, whole: float, form: str = ",") -> str:
    return f'{part:{form}}<br><span class="q">{funnel.share(part, whole)}</span>'


def _threshold(found: Cleaned, curve: Curve | None, chart: str) -> str:
    """What other thresholds would keep."""
    head = "<h2>How much to keep</h2>"
    step = found.plan.ranking
    if curve is None or step is None:
        return f"{head}<p>Nothing ranks the pairs, so that there is no threshold to choose.</p>"
    if not len(curve.threshold):
        return f"{head}<p>The other filters leave nothing to choose from.</p>"
    said = []
    for threshold, kept, words, quality in zip(
        curve.threshold, curve.kept, curve.words, curve.quality, strict=True
    ):
        text = f"--threshold {threshold:.6g} keeps {kept:,} pairs with {words:,} words"
        if step.name == "quality":
            text += f", mean quality {quality:.3f}"
        said.append(f"{text}\nas many as --top-n {kept}, or --target-words {words}")
    label = html.escape(step.label)
    note = (
        f"<p>Of the pairs that all filters leave but for the bound of {label}, which ranks them, "
        "these are kept by other thresholds. Words are those of the target's side.</p>"
    )
    doubts = []
    if curve.most:
        doubts.append("filters with a model looked only at pairs that keep the bounds there are")
    doubts += ["deciles are those of this run"] * any(s.filter.relative for s in found.plan.steps)
    if doubts:
        note += f"<p>More than would be kept may be told: {'; '.join(doubts)}.</p>"
    return head + note + page.slider(curve.threshold.tolist(), said, curve.now) + chart


def _figures(found: Cleaned, label: str) -> str:
    stage = next(stage for stage in found.stages if stage.label == label)
    if not stage.alone:
        return f"<p>It looked at {stage.seen:,} pairs, all of which pass.</p>"
    part = funnel.share(stage.alone, stage.seen)
    return (
        f"<p>It looked at {stage.seen:,} pairs. {stage.alone:,} ({part}) do not pass, of which "
        f"the filters before had left {stage.removed:,}. Now {stage.left:,} are left.</p>"
    )


def _filter(found: Cleaned, place: int, one: Look, chart: str | None, show: _Samples) -> str:
    """The section of one filter."""
    step = one.step
    rows = [("measures", f"{step.filter.summary}; {step.filter.better} is better")]
    rows.append(("bounds", step.bounds()))
    settings = [f"{name} = {value}" for name, value in step.settings.items() if value != ""]
    rows += [("settings", ", ".join(settings))] * bool(settings)
    rows += [("from", step.filter.paper)] * bool(step.filter.paper)
    parts = [
        f'<h3 id="filter-{place}">{html.escape(step.label)}</h3>',
        page.facts(rows),
        _figures(found, step.label),
        chart or "",
    ]
    beyond = [
        f"{count:,} pairs stand in the {side} bar, though their scores are {how}"
        for count, side, how in (
            (one.below, "first", f"below {one.edges[0]:.4g}"),
            (one.above, "last", f"above {one.edges[-1]:.4g}"),
        )
        if count and chart
    ]
    parts += [f'<p class="q">{"; ".join(beyond)}.</p>'] * bool(beyond)
    parts += [show(group, step) for group in one.groups]
    return "\n".join(parts)


class _Samples:
    """Shows rows, whose texts it has fetched."""

    def __init__(self, found: Cleaned, rows: set[int], report: Reporter):
        self.found = found
        self.first = 1 + (found.source.head is not None)
        self.copies = {
            step.label: found.scores(step.label)
            for step in found.plan.steps
            if step.filter.names_row
        }
        better = {copy for row in rows if (copy := self._better(row)) is not None}
        self.texts = samples.texts(found, rows | better, CUT, report)

    def _better(self, row: int) -> int | None:
        """The row that this one is a copy of, if it is removed for that."""
        label = self._reason(row)
        if label not in self.copies:
            return None
        return int(self.copies[label][row]) - self.first

    def _reason(self, row: int) -> str | None:
        place = self.found.removed[row]
        return None if place < 0 else self.found.reasons[place]

    def __call__(self, group: Group, step: Step | None) -> str:
        """A table of some rows, with their scores by ``step``."""
        values = None if step is None else self.found.scores(step.label)
        rows = [
            self._row(int(row), step, None if values is None else float(values[row]))
            for row in group.rows
        ]
        return page.samples(group.title, rows)

    def _row(self, row: int, step: Step | None, value: float | None) -> str:
        reason = self._reason(row)
        notes = []
        shown = ""
        if step is not None and value is not None and not np.isnan(value):
            if _measures(step):
                shown = f"{value:,.0f}" if step.filter.whole else f"{value:.6g}"
            if broken([step], np.array([[value]], dtype=np.float32))[0, 0]:
                notes.append(step.reason(value))
        if reason is None:
            notes.append("kept")
        elif step is None or reason != step.label or not notes:
            notes.append(f"removed: {reason}")
        notes.append(f"line {row + self.first:,}")
        small = html.escape("; ".join(notes))
        sides = list(map(html.escape, self.texts[row]))
        better = self._better(row) if step is not None and reason == step.label else None
        if better is not None:
            for side, text in enumerate(self.texts[better]):
                sides[side] += f'<br><span class="q">{html.escape(text)}</span>'
        cells = "".join(f'<td dir="auto">{side}</td>' for side in sides)
        return f'<tr><td>{shown} <div class="q">{small}</div></td>{cells}</tr>'


_STYLE = """body { max-width: 1200px; }
.facts th { width: 11em; }
.pairs { table-layout: fixed; font-size: 13px; }
.pairs td { width: auto; }
.pairs td:first-child { width: 15em; overflow-wrap: normal; }
.pairs .q { font-size: 92%; }
.waterfall th, .waterfall td { text-align: right; font-variant-numeric: tabular-nums; }
.waterfall th:nth-child(-n+2), .waterfall td:nth-child(-n+2) { text-align: left; }
.waterfall td:nth-child(2) { white-space: nowrap; }
h3 { margin-top: 2em; border-top: 2px solid #e4e4e4; padding-top: .6em; }"""
