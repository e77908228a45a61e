"""`Results`: base of returned rows, which iterate, index, slice, print, and convert to tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from numbers import Integral
from typing import TYPE_CHECKING, Any

from miner.libraries import library

if TYPE_CHECKING:
    from typing_extensions import Self

# Rows converted at a time, and rows that a notebook shows.
BLOCK, SHOWN = 16_384, 10


class Results:
    """Base of results: rows of named cells. Subclasses define ``len``, :meth:`take` and
    :meth:`columns`.
    """

    def __len__(self) -> int:
        raise NotImplementedError

    def take(self, keep: Any) -> Self:
        """Return the rows of a slice, or at an array of positions."""
        raise NotImplementedError

    def columns(self) -> dict[str, Any]:
        """Return the columns by name: lists of text, and arrays or lists of numbers."""
        raise NotImplementedError

    def every_column(self) -> dict[str, Any]:
        """Return :meth:`columns`, and further columns for tables."""
        return self.columns()

    def __getitem__(self, place: Any) -> Any:
        """Return a row as a dictionary, or the rows of a slice or an array."""
        if not isinstance(place, Integral):
            return self.take(place)
        row = range(len(self))[int(place)]
        return next(iter(self.take(slice(row, row + 1))))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self), BLOCK):
            columns = self.take(slice(start, start + BLOCK)).columns()
            cells = (getattr(column, "tolist", lambda c=column: c)() for column in columns.values())
            for row in zip(*cells, strict=True):
                yield dict(zip(columns, row, strict=True))

    def to_arrow(self) -> Any:
        """Return a :class:`pyarrow.Table` of all columns. Raises DependencyError."""
        arrow = library("pyarrow", "to_arrow()", "parquet")
        columns = self.every_column()
        lists = [name for name, column in columns.items() if isinstance(column, list)]
        text = {name: arrow.string() for name in lists if not _numbers(columns[name])}
        return arrow.table(
            {name: arrow.array(column, text.get(name)) for name, column in columns.items()}
        )

    def to_pandas(self) -> Any:
        """Return a :class:`pandas.DataFrame` of all columns. Raises DependencyError."""
        return library("pandas", "to_pandas()").DataFrame(self.every_column())

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the first rows, and the line of ``repr``."""
        some = self.take(slice(0, SHOWN))
        columns = some.columns()
        heads = "".join(f"<th>{escape(name)}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_shown(cell)}</td>" for cell in row.values()) + "</tr>"
            for row in some
        )
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<p>{escape(repr(self).strip('<>'))}</p>{table}"


@dataclass(frozen=True, eq=False, repr=False)
class KeptPairs(Results):
    """Base of results whose ``pairs``, best first, were kept of ``all_pairs`` by their scores."""

    pairs: Any
    all_pairs: Any
    estimate: Any

    def __repr__(self) -> str:
        return f"<{len(self.pairs)} of {len(self.all_pairs)} pairs kept{estimated(self.precision)}>"

    def __len__(self) -> int:
        return len(self.pairs)

    def take(self, keep: Any) -> Self:
        """Return the result with only some of its pairs."""
        return replace(self, pairs=self.pairs.take(keep))

    @property
    def precision(self) -> float | None:
        """Estimated precision of the kept pairs; None without an estimate or without pairs."""
        if self.estimate is None or not len(self.pairs):
            return None
        return float(self.estimate.precision_at(float(self.pairs.score[-1])))


def estimated(precision: float | None) -> str:
    """Return the end of a line about results, with the estimated precision; "" without an
    estimate.
    """
    return "" if precision is None else f", estimated precision {precision:.3f}"


def _numbers(column: list[Any]) -> bool:
    return bool(column) and isinstance(column[0], int | float)


def _shown(cell: Any) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else escape(str(cell))
