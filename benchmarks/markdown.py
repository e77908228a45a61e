"""Lines of Markdown tables, and their places in a page."""

import re
from collections.abc import Callable, Iterable, Mapping


def line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head(names: Iterable[str]) -> list[str]:
    """Return the line of column names and the rule below it."""
    names = list(names)
    return [line(names), f"|{'---|' * len(names)}"]


def table(names: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    return [*head(names), *map(line, rows)]


def conjoined(parts: Iterable[list[str]]) -> list[str]:
    """Join parts of a page with blank lines between them."""
    return [text for part in parts for text in (*part, "")]


def filled(text: str, sections: Mapping[str, Callable[[], list[str]]]) -> str:
    """Fill the tables of each section between its marks in the text."""

    def content(marked: re.Match[str]) -> str:
        lines = "\n".join(sections[marked[1]]()).strip("\n")
        inside = f"{lines}\n" if lines else ""
        return f"<!-- {marked[1]} -->\n{inside}<!-- /{marked[1]} -->\n"

    return re.sub(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->\n", content, text, flags=re.DOTALL)
