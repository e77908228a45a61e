"""Published figures of papers and model cards: ``published.tsv``, and its tables.

A line has the paper, the version read, the figure's table, its row and column, and the value as
printed.
"""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.markdown import table

FILE = Path(__file__).with_suffix(".tsv")
PAPERS = ("P19", "P18", "P17", "S18")


@dataclass(frozen=True)
class Figure:
    """Published figure; the fields are the columns of the file."""

    paper: str
    version: str
    place: str
    row: str
    column: str
    value: str


def figures() -> list[Figure]:
    """Read the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [
            Figure(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def values(paper: str, place: str) -> dict[str, dict[str, str]]:
    """Return the figures of one place of a paper, by row and column."""
    found: dict[str, dict[str, str]] = {}
    for one in figures():
        if (one.paper, one.place) == (paper, place):
            found.setdefault(one.row, {})[one.column] = one.value
    return found


def paper_table(paper: str) -> list[str]:
    """Return the table of all figures of a paper: a line for each row of each place."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    for one in figures():
        if one.paper == paper:
            lines.setdefault((one.version, one.place, one.row), []).append(
                f"{one.column} {one.value}"
            )
    return table(
        ("version", "place", "row", "published"),
        ([*key, " · ".join(cells)] for key, cells in lines.items()),
    )


# Tables of docs/papers.md, by the names of their marks.
SECTIONS: dict[str, Callable[[], list[str]]] = {
    f"published-{paper.lower()}": partial(paper_table, paper) for paper in PAPERS
}
