"""Layout of text for people: tables, counts and quotations."""

from collections.abc import Iterable, Sequence


def aligned(rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a table: the first ``left`` columns left-aligned, others right-aligned.

    Widths are those on a terminal, where a Chinese character takes two columns. White space at the
    ends of cells is dropped.
    """
    from tabulate import tabulate  # imported here so that help texts load fast

    return tabulate(
        list(rows),
        tablefmt="plain",
        disable_numparse=True,
        colglobalalign="right",
        colalign=("left",) * left,
    ).splitlines()


def count_of(count: int, unit: str) -> str:
    """Return a count with its unit: ``1 line``, ``2,000 lines``."""
    return f"{count:,} {unit}{'s' * (count != 1)}"


def quoted(text: str, longest: int = 60) -> str:
    """Quote text on one line; a longer text is cut and ends with "…"."""
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")
