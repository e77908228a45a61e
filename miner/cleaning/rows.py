"""Rows of a bitext in memory: results of `score` and `filter`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miner.cleaning.clean_sample import SampleBounds
from miner.cleaning.funnel import FilterSummary, table
from miner.option_values import Languages
from miner.results import Results
from miner.text.formats import TABLES, check_suffix
from miner.text.write_bitext import write_bitext

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False, repr=False)
class BitextRows(Results):
    """Rows of a bitext: dictionaries with ``source``, ``target`` and all other cells.

    ``warnings`` are lines about the languages of the text.
    """

    rows: list[dict[str, Any]]
    warnings: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, keep: Any) -> Self:
        rows = self.rows[keep] if isinstance(keep, slice) else [self.rows[int(i)] for i in keep]
        return replace(self, rows=rows)

    def columns(self) -> dict[str, Any]:
        names = dict.fromkeys(key for row in self.rows for key in row)
        return {name: [row.get(name) for row in self.rows] for name in names}

    def write(self, *paths: str | Path, languages: Languages = (None, None)) -> None:
        """Write the rows in the format of one path, or both sides to two paths.

        ``languages`` are the codes in TMX. Raises ValueError for the suffix of an unknown format,
        and ResourceError.
        """
        for path in paths:
            check_suffix(str(path), TABLES)
        write_bitext(self.rows, [*map(str, paths)], languages)


@dataclass(frozen=True, eq=False, repr=False)
class FilteredRows(BitextRows):
    """Rows that filters keep; ``rejected`` rows have the further cells ``filter`` and ``value``.

    ``summary`` has the counts of each filter, which printing the result shows. With all_scores,
    ``scores`` are all scores of every row by filter; None for a score that was not computed.
    ``fitted``: the bounds from the clean sample ``like``.
    """

    rejected: BitextRows
    summary: FilterSummary
    scores: BitextRows = BitextRows([])
    fitted: SampleBounds | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        return f"<{len(self)} of {self.summary.rows} rows kept>"

    def __str__(self) -> str:
        return table(self.summary)
