"""The evaluations by name, and what they found as text."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from miner.tasks import bucc, noisy, paraphrase, speed, sts, tatoeba
from miner.tasks.figures import Difference, Figure, Outcome

# In the order in which all of them run. Each has evaluate(subject, data, report), and those that
# look at given text have texts(data).
TASKS: dict[str, ModuleType] = {
    "sts": sts,
    "tatoeba": tatoeba,
    "bucc": bucc,
    "paraphrase": paraphrase,
    "noisy": noisy,
    "speed": speed,
}


def shown(figures: Sequence[Figure]) -> list[str]:
    """A line for each set, a column for each metric, with the interval below 95% of the draws."""
    rows: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        rows.setdefault(figure.name, {})[figure.metric] = figure
    metrics = list(dict.fromkeys(figure.metric for figure in figures))
    # Sets with other metrics make another table.
    found: list[str] = []
    while rows:
        first = next(iter(rows.values()))
        here = [metric for metric in metrics if metric in first]
        names = [name for name, row in rows.items() if list(row) == list(first)]
        cells = [["", *here]]
        cells += [[name, *(cell(rows[name][metric]) for metric in here)] for name in names]
        found += [*aligned(cells), ""]
        rows = {name: row for name, row in rows.items() if name not in names}
    return found[:-1]


def cell(figure: Figure) -> str:
    """A figure with its interval."""
    if figure.interval is None:
        return f"{figure.value:,.0f}"
    low, high = figure.interval
    return f"{figure.value:.3f} ({low:.3f} to {high:.3f})"


def compared(differences: Sequence[Difference]) -> list[str]:
    """A line for each difference."""
    cells = [["", "", "difference", "95% of draws", "p"]]
    for one in differences:
        low, high = one.interval
        cells.append(
            [
                one.name,
                one.metric,
                f"{one.value:+.3f}",
                f"{low:+.3f} to {high:+.3f}",
                f"{one.p:.3f}",
            ]
        )
    return aligned(cells)


def aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if not place else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def record(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """By evaluation, ready for JSON."""
    return {outcome.task: outcome.as_dict() for outcome in outcomes}
