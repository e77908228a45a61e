"""The evaluations by name, and what they found as text."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from miner.columns import aligned
from miner.tasks import bucc, noisy, paraphrase, speed, sts, tatoeba
from miner.tasks.figures import Difference, Figure, Outcome, differences
from miner.tasks.subject import Subject

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
    if figure.interval is None:
        return f"{figure.value:,.0f}"
    low, high = figure.interval
    return f"{figure.value:.3f} ({low:.3f} to {high:.3f})"


def text(outcome: Outcome, brief: bool = False) -> str:
    """An outcome for people to read; ``brief``: what stands in a summary alone."""
    blocks = (
        shown(outcome.headline if brief else outcome.figures),
        () if brief else outcome.notes,
        [f"not measured: {line}" for line in outcome.missing],
    )
    return "\n\n".join("\n".join(block) for block in blocks if block)


def apart(
    one: Sequence[Outcome], other: Sequence[Outcome], brief: bool = False
) -> list[Difference]:
    """All differences between two models, evaluation by evaluation. Raises MismatchError."""
    found: list[Difference] = []
    for mine, theirs in zip(one, other, strict=True):
        figures = mine.headline if brief else mine.figures
        found += differences(figures, theirs.figures)
    return found


def compared(differences: Sequence[Difference]) -> str:
    """A line for each difference."""
    rows = [["", "", "difference", "95% of draws", "p"]]
    for one in differences:
        low, high = one.interval
        between = f"{low:+.3f} to {high:+.3f}"
        rows.append([one.name, one.metric, f"{one.value:+.3f}", between, f"{one.p:.3f}"])
    return "\n".join(aligned(rows, left=2))


def record(subject: Subject, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """A model and what was found of it, by evaluation, ready for JSON."""
    return {
        "model": subject.name,
        "fingerprint": getattr(subject, "fingerprint", None),
        "evaluations": {outcome.task: outcome.as_dict() for outcome in outcomes},
    }
