"""The evaluations by name, and what they found as text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from miner.evaluation import bucc, noisy, paraphrase, speed, sts, tatoeba
from miner.evaluation.bootstrap import DRAWS
from miner.evaluation.results import Difference, Figure, Outcome, differences
from miner.evaluation.subject import Subject
from miner.text_table import aligned

# In the order in which all of them run. Each has evaluate(subject, data, report) and sets(data);
# those that look at given text have texts(data), too.
TASKS: dict[str, ModuleType] = {
    "sts": sts,
    "tatoeba": tatoeba,
    "bucc": bucc,
    "paraphrase": paraphrase,
    "noisy": noisy,
    "speed": speed,
}


def sentences(data: Path, tasks: Iterable[ModuleType]) -> Iterator[str]:
    """All sentences that evaluations look at, as often as they stand there."""
    for task in tasks:
        for _, lot in task.texts(data):
            yield from lot


def shown(figures: Sequence[Figure]) -> list[str]:
    """A line for each set and a column for each metric; sets with other metrics in further tables.

    Behind each figure stands the interval that holds 95% of the bootstrap's draws.
    """
    rows: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        rows.setdefault(figure.name, {})[figure.metric] = figure
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for name, row in rows.items():
        table = tables.setdefault(tuple(row), [["", *row]])
        table.append([name, *map(cell, row.values())])
    lines: list[str] = []
    for table in tables.values():
        lines += ["", *aligned(table)]
    return lines[1:]


def cell(figure: Figure) -> str:
    """A figure with its interval."""
    between = _between(figure)
    return f"{_value(figure)} ({between})" if between else _value(figure)


def text(outcome: Outcome) -> str:
    """An outcome for people to read."""
    parts = [shown(outcome.figures), outcome.notes, missing([outcome])]
    return "\n\n".join("\n".join(part) for part in parts if part)


def summary(outcomes: Sequence[Outcome]) -> str:
    """One table of what counts of several evaluations."""
    rows = [["evaluation", "set", "metric", "value", "95% of draws"]]
    for outcome in outcomes:
        for figure in outcome.headline:
            between = _between(figure)
            rows.append([outcome.task, figure.name, figure.metric, _value(figure), between])
    parts = [aligned(rows, left=3), missing(outcomes)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def missing(outcomes: Sequence[Outcome]) -> list[str]:
    """What was not measured, or not in full, a line each."""
    return [f"missing: {line}" for outcome in outcomes for line in outcome.missing]


def apart(one: Sequence[Outcome], other: Sequence[Outcome]) -> list[Difference]:
    """All differences between two models, of what both have. Raises MismatchError."""
    against = {outcome.task: outcome.figures for outcome in other}
    return [
        replace(difference, task=mine.task)
        for mine in one
        for difference in differences(mine.figures, against.get(mine.task, ()))
        if not difference.metric.endswith("majority")  # the same for any model
    ]


def unpaired(one: Sequence[Outcome], other: Sequence[Outcome]) -> list[str]:
    """Figures with an interval that one model has and the other has not, by set and metric."""
    keys = [
        dict.fromkeys(
            f"{figure.name} {figure.metric}"
            for outcome in outcomes
            for figure in outcome.figures
            if figure.draws is not None
        )
        for outcomes in (one, other)
    ]
    return [key for key in keys[0] | keys[1] if not (key in keys[0] and key in keys[1])]


def compared(differences: Sequence[Difference]) -> str:
    """A line for each difference."""
    rows = [["evaluation", "set", "metric", "difference", "95% of draws", "p"]]
    least = 2 / (DRAWS + 1)
    for one in differences:
        low, high = one.interval
        between = f"{low:+.3f} to {high:+.3f}"
        p = f"{'≤' if one.p <= least else ''}{one.p:.3f}"
        rows.append([one.task, one.name, one.metric, f"{one.value:+.3f}", between, p])
    return "\n".join(aligned(rows, left=3))


def record(subject: Subject, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """A model and what was found of it, by evaluation, ready for JSON."""
    return {
        "model": subject.name,
        "fingerprint": getattr(subject, "fingerprint", None),
        "evaluations": {outcome.task: outcome.as_dict() for outcome in outcomes},
    }


def _value(figure: Figure) -> str:
    # Speeds are whole numbers; all else is a share.
    return f"{figure.value:,.0f}" if abs(figure.value) >= 10 else f"{figure.value:.3f}"


def _between(figure: Figure) -> str:
    if figure.interval is None:
        return ""
    low, high = figure.interval
    return f"{low:.3f} to {high:.3f}"
