"""Layout of what people read: tables, counts and quotations."""

from collections.abc import Iterable, Sequence


def aligned(rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a table: the first ``left`` columns to the left, others to the right.

    Widths are those on a terminal, where a Chinese character takes two columns. Cells are printed
    as they are, without white space at their ends.
    """
    from tabulate import tabulate  # here, so that a help text loads fast

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
    """Quote text on one line; of a longer one, the beginning and "…"."""
    return repr(text if len(text) <= longest else text[: longest - 1] + "…")
