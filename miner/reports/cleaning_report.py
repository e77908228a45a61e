"""HTML report of a cleaning: the funnel, thresholds, and pairs nearest to each filter's bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from miner.cleaning import funnel, samples
from miner.cleaning.config import Step
from miner.cleaning.decide import Cleaned, FunnelRow
from miner.cleaning.filtered import Filtered
from miner.cleaning.samples import SampleGroup, StepSummary
from miner.cleaning.write import namers
from miner.filters.filter_types import MODEL, Batch
from miner.progress import Reporter, silent
from miner.reports import cleaning_charts, page
from miner.reports.cleaning_charts import Curve, curve_of
from miner.reports.page import check
from miner.scoring.named_faults import Fault
from miner.text.output import StrPath

# Maximum characters of a text, and number of kept pairs, on the page.
CUT, KEPT = 400, 12


def write(
    path: StrPath, filtered: Filtered, *, sample: bool = False, report: Reporter = silent
) -> None:
    """Write the report of a cleaning, reading its text again for the samples.

    ``sample``: only a sample was cleaned. Raises DependencyError without Bokeh, ResourceError if
    the page cannot be written, and CorpusError for a text that has changed.
    """
    check(path)
    cleaned = filtered.whole()
    names = [
        file.name for piece in filtered.pieces if not piece.number for file in piece.bitext.files
    ]
    summaries = samples.summaries(cleaned)
    others = samples.others(cleaned)
    kept = samples.kept(cleaned, KEPT)
    curve = None if cleaned.config.ranking is None else curve_of(cleaned, filtered.unbounded())
    usable = curve if curve is not None and len(curve.threshold) else None
    groups = [group for summary in summaries for group in summary.groups]
    groups += [kept, *(group for _, more in others for group in more)]
    chosen = {int(row) for group in groups for row in group.rows}
    show = _Samples(filtered, cleaned, chosen, report)

    charts: dict[str, Any] = {}
    if usable is not None:
        charts["curve"] = cleaning_charts.thresholds(cleaned, usable)
    for number, summary in enumerate(summaries):
        if _measures(summary.step) and (summary.inside.any() or summary.outside.any()):
            now = usable if summary.step == cleaned.config.ranking else None
            charts[f"filter {number}"] = cleaning_charts.histogram(
                summary, None if now is None else float(now.threshold[now.now])
            )
    stages = {stage.label: _stage(cleaned, stage) for stage in cleaned.stages}
    ranking = cleaned.config.ranking
    title = " × ".join(str(name).rpartition("/")[2] for name in names)
    page.write(
        path,
        "cleaning.html",
        f"Filtered: {title}",
        charts,
        {
            "heading": title,
            "summary": _summary(cleaned, names, sample),
            "stages": list(stages.values()),
            "ranking": None if curve is None or ranking is None else ranking.label,
            "doubts": _doubts(cleaned, curve),
            "steps": None if usable is None else _slider(cleaned, usable),
            "kept": show(kept, ranking),
            "filters": [
                _filter(
                    summary,
                    stages[summary.step.label],
                    f"filter {number}" in charts,
                    show,
                )
                for number, summary in enumerate(summaries)
            ],
            "others": [
                {"stage": stages[label], "groups": [show(group, ranking) for group in more]}
                for label, more in others
            ],
        },
    )


def _measures(step: Step) -> bool:
    """Return True if the score is a measure, False if it is the line of another row."""
    return not step.filter.names_row


def _summary(cleaned: Cleaned, names: Sequence[str], sample: bool) -> list[tuple[str, str]]:
    """Return the facts at the head of the page: name and text of each."""
    config, counts = cleaned.config, funnel.summary(cleaned)
    total, kept = counts.rows, counts.kept
    rows = [("file" if len(names) == 1 else "files", ", ".join(map(str, names)))]
    rows += [("looked at", f"a sample of {total:,} rows, evenly spread")] * sample
    languages = [code or "not given" for code in config.context.languages]
    rows.append(("languages", " and ".join(dict.fromkeys(languages))))
    if config.stage(MODEL):
        rows.append(("model", config.context.encoder))
    rows.append(("rows", f"{total:,}"))
    rows.append(("kept", f"{kept:,} ({funnel.share(kept, total)})"))
    words = counts.words_kept, counts.words
    rows.append(
        ("words kept", f"{words[0]:,} of {words[1]:,} ({funnel.share(*words)}), target's side")
    )
    rows.append(("repaired", f"{counts.repaired:,} rows" if config.repair else "not asked for"))
    if counts.precision is not None:
        rows.append(("mean quality", f"{counts.precision:.3f} of the pairs kept"))
    times = sorted(cleaned.stages, key=lambda stage: -stage.seconds)
    spent = [f"{stage.label} {stage.seconds:.1f}" for stage in times if stage.seconds >= 0.05]
    seconds = sum(stage.seconds for stage in cleaned.stages)
    if seconds:
        text = f"{seconds:.1f}" + f": {', '.join(spent)}" * bool(spent)
        rows.append(("processor seconds", text))
    else:
        rows.append(("processor seconds", "none: the scores come from an earlier run"))
    if counts.replaced:
        rows.append(("not UTF-8", f"{counts.replaced:,} rows, the bytes replaced"))
    warning = funnel.warning(counts)
    rows += [] if warning is None else [("warning", warning)]
    return rows


def _stage(cleaned: Cleaned, stage: FunnelRow) -> dict[str, Any]:
    """Return a row of the funnel, with numbers as text."""
    total, seconds = cleaned.count, sum(row.seconds for row in cleaned.stages)
    summaries = {step.label: step.filter.summary for step in cleaned.config.steps}
    anchors = {step.label: number for number, step in enumerate(samples.steps(cleaned))}
    return {
        "label": stage.label,
        "anchor": anchors.get(stage.label),
        "summary": summaries.get(stage.label, ""),
        "bounds": stage.bounds,
        "seen": f"{stage.seen:,}",
        "alone": f"{stage.alone:,}",
        "alone_share": funnel.share(stage.alone, stage.seen),
        "all_pass": not stage.alone,
        "removed": f"{stage.removed:,}",
        "removed_share": funnel.share(stage.removed, total),
        "removed_words": f"{stage.removed_words:,}",
        "left": f"{stage.left:,}",
        "left_share": funnel.share(stage.left, total),
        "left_words": f"{stage.left_words:,}",
        "seconds": f"{stage.seconds:.1f}" if stage.seconds else "",
        "seconds_share": funnel.share(stage.seconds, seconds) if seconds else "",
    }


def _doubts(cleaned: Cleaned, curve: Curve | None) -> list[str]:
    """Return the reasons why the counts of other thresholds may be too high."""
    doubts = []
    if curve is not None and curve.most:
        doubts.append("filters with a model looked only at pairs within the present bounds")
    if any(step.filter.relative for step in cleaned.config.steps):
        doubts.append("ranks and mixtures come from this run")
    return doubts


def _slider(cleaned: Cleaned, curve: Curve) -> dict[str, Any]:
    """Return thresholds for the slider, strictest first, and the text for each."""
    said = []
    assert cleaned.config.ranking is not None
    for threshold, kept, words, quality in zip(
        curve.threshold, curve.kept, curve.words, curve.quality, strict=True
    ):
        text = f"--threshold {threshold:.6g} keeps {kept:,} pairs with {words:,} words"
        if cleaned.config.ranking.name == "quality":
            text += f", mean quality {quality:.3f}"
        said.append(f"{text}\nas many as --top-n {kept}, or --target-words {words}")
    return {"at": curve.threshold.tolist(), "said": said, "start": curve.now}


def _filter(
    summary: StepSummary, stage: dict[str, Any], drawn: bool, show: _Samples
) -> dict[str, Any]:
    """Return the section of a filter; ``drawn``: it has a histogram."""
    step = summary.step
    facts = [("measures", f"{step.filter.summary}; {step.filter.better} is better")]
    facts.append(("bounds", step.bounds()))
    settings = [f"{name} = {value}" for name, value in step.settings.items() if value != ""]
    facts += [("settings", ", ".join(settings))] * bool(settings)
    facts += [("from", step.filter.paper)] * bool(step.filter.paper)
    beyond = [
        f"scores {where} are in the {side} bar ({count:,})"
        for count, side, where in (
            (summary.below, "first", f"below {summary.edges[0]:.4g}"),
            (summary.above, "last", f"above {summary.edges[-1]:.4g}"),
        )
        if count and drawn
    ]
    return {
        "stage": stage,
        "facts": facts,
        "drawn": drawn,
        "beyond": beyond,
        "groups": [show(group, step) for group in summary.groups],
    }


def _parted(text: str, word: str = "") -> tuple[str, str, str]:
    """Split a text at a word: text before it, the word, text after. Longer texts are cut."""
    shown, escaped = text[:CUT], re.escape(word)
    more = f"… ({len(text):,} characters)" if len(text) > CUT else ""
    # Prefer an occurrence that is not part of another word or number.
    for pattern in (rf"(?<!\w)(?<!\d[.,]){escaped}(?!\w|[.,]\d)", escaped):
        match = re.search(pattern, shown, re.IGNORECASE)
        if word and match:
            return shown[: match.start()], match[0], shown[match.end() :] + more
    return shown + more, "", ""


class _Samples:
    """Samples of rows as tables; the texts of all ``rows`` are read at once."""

    def __init__(self, filtered: Filtered, cleaned: Cleaned, rows: set[int], report: Reporter):
        self.cleaned = cleaned
        self.naming = namers(cleaned)
        self.first = 1 + filtered.header
        self.copies = {
            step.label: cleaned.scores(step.label)
            for step in cleaned.config.steps
            if step.filter.names_row
        }
        better = {copy for row in rows if (copy := self._better(row)) is not None}
        self.texts = samples.texts(cleaned.config, filtered.pieces, rows | better, report)

    def _better(self, row: int) -> int | None:
        """Return the row that this row duplicates, if it was removed as a duplicate."""
        label = self._reason(row)
        if label not in self.copies:
            return None
        return int(self.copies[label][row]) - self.first

    def _fault(self, row: int) -> Fault:
        """Return the fault of a row, if the filter that removed it names one."""
        name = self.naming.get(int(self.cleaned.removed[row]))
        source, target = self.texts[row]
        return name(Batch([source], [target]))[0] if name else Fault()

    def _reason(self, row: int) -> str | None:
        number = self.cleaned.removed[row]
        return None if number < 0 else self.cleaned.reasons[number]

    def __call__(self, group: SampleGroup, step: Step | None) -> dict[str, Any]:
        """Return a table of rows, with their scores by ``step``."""
        values = None if step is None else self.cleaned.scores(step.label)
        rows = [
            self._row(int(row), step, None if values is None else float(values[row]))
            for row in group.rows
        ]
        return {"title": group.title, "rows": rows}

    def _row(self, row: int, step: Step | None, value: float | None) -> dict[str, Any]:
        reason = self._reason(row)
        notes = []
        shown, fault = "", Fault()
        if step is not None and value is not None and not np.isnan(value):
            if _measures(step):
                shown = f"{value:,.0f}" if step.filter.whole else f"{value:.6g}"
            if self.cleaned.broken(step, slice(row, row + 1))[0]:
                fault = self._fault(row)
                notes.append(step.reason(value) + (fault.name and f": {fault.name}"))
        if reason is None:
            notes.append("kept")
        elif step is None or reason != step.label or not notes:
            notes.append(f"removed: {reason}")
        notes.append(f"line {row + self.first:,}")
        better = self._better(row) if step is not None and reason == step.label else None
        return {
            "score": shown,
            "notes": "; ".join(notes),
            "texts": [
                _parted(text, fault.word if side == fault.side else "")
                for side, text in enumerate(self.texts[row])
            ],
            "usual": "" if fault.name == "number" else " or ".join(fault.usual) or "none",
            "better": None
            if better is None
            else ["".join(_parted(part)) for part in self.texts[better]],
        }
