"""Tables of plain text."""

from collections.abc import Iterable, Sequence


def aligned(rows: Iterable[Sequence[str]], left: int = 1) -> list[str]:
    """A line for each row, in columns of equal width: the first ``left`` to the left, others right.

    Raises ValueError for rows of unequal length.
    """
    every = list(rows)
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in every
    ]
