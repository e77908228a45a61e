"""Layout of the tables that commands print."""

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
