"""Lines of Markdown tables."""

from collections.abc import Iterable


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head(names: Iterable[str]) -> list[str]:
    """Return the line of column names and the rule below it."""
    names = list(names)
    return [line(names), f"|{'---|' * len(names)}"]


def table(names: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    return [*head(names), *map(line, rows)]


def conjoined(parts: Iterable[list[str]]) -> list[str]:
    """Join parts of a page with an empty line after each."""
    return [text for part in parts for text in (*part, "")]
