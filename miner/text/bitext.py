"""`Bitext`: aligned sentences of two files, or of two columns of a file, whole or in blocks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError
from miner.text.formats import USUAL_FORMAT, BitextFormat
from miner.text.layout import REPLACED, UNREADABLE
from miner.text.lines import display_name
from miner.text.output import StrPath
from miner.text.rows import Rows
from miner.text.text_format import is_blank


@dataclass(frozen=True, eq=False)
class Bitext:
    """n aligned rows, or a block of them, with text on both sides; records == n + empty +
    undecodable.

    source, target: n texts each, row by row translations. lines: (n,) int64, >= 1: the line in the
        (source) file; a header is line 1.
    records: rows in the input, a header not counted. empty: rows dropped because a side was empty.
    undecodable: rows dropped under on_error="skip". replaced: rows in which bytes were replaced.
    more: the text of the further columns of each row, unchanged.
    """

    source: list[str]
    target: list[str]
    lines: np.ndarray
    records: int
    empty: int
    undecodable: int
    replaced: int
    more: list[tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.source)


def read_bitext(
    source: StrPath,
    target: StrPath | None = None,
    bitext_format: BitextFormat = USUAL_FORMAT,
    *,
    more: Sequence[int | str] = (),
) -> Bitext:
    """Read two aligned files, or (``target`` None) two columns of one tsv, jsonl or parquet file.

    The records of two files are counted before any are decoded; standard input and pipes are held
    in memory for that. A row is dropped, and counted, when either side is empty or, with
    on_error="skip", undecodable. ``more`` are further columns of one file, whose cells may be
    numbers, true and false, or empty.

    Raises CorpusError and DependencyError as :class:`miner.text.corpus.CorpusReader` does, and
    CorpusError for files of unequal length.
    """
    whole, *blocks = stream_bitext(source, target, bitext_format, more=more)
    for block in blocks:
        whole.source.extend(block.source)
        whole.target.extend(block.target)
        whole.more.extend(block.more)
    parts = [whole, *blocks]
    return Bitext(
        whole.source,
        whole.target,
        np.concatenate([part.lines for part in parts]),
        sum(part.records for part in parts),
        sum(part.empty for part in parts),
        sum(part.undecodable for part in parts),
        sum(part.replaced for part in parts),
        whole.more,
    )


def stream_bitext(
    source: StrPath,
    target: StrPath | None = None,
    bitext_format: BitextFormat = USUAL_FORMAT,
    *,
    more: Sequence[int | str] = (),
    block: int = 8192,
) -> Iterator[Bitext]:
    """Stream the rows that :func:`read_bitext` reads, in blocks of ``block`` records with counts.

    There is at least one block. Raises, while iterating, the errors of `read_bitext`, and
    ValueError for a block < 1.
    """
    if block < 1:
        raise ValueError(f"block is {block}; it must be at least 1")
    rows = Rows(source, target, bitext_format, more=more)
    for first, cells in rows.cells(block):
        columns, state = rows.layout.parse(first, cells)
        lines = np.arange(first, first + len(state))
        without = {i for side in columns[:2] for i, text in enumerate(side) if is_blank(text)}
        if without:
            lines = np.delete(lines, [*without])
            columns = [
                [text for i, text in enumerate(column) if i not in without] for column in columns
            ]
        left, right, *others = map(list, columns)
        undecodable = int(np.count_nonzero(state == UNREADABLE))
        yield Bitext(
            left,
            right,
            lines,
            len(state),
            len(without) - undecodable,
            undecodable,
            int(np.count_nonzero(state == REPLACED)),
            list(zip(*others, strict=True)) if others else [()] * len(left),
        )
    if not rows.count:
        yield Bitext([], [], np.zeros(0, dtype=np.int64), 0, 0, 0, 0, [])


def parse_scores(column: Sequence[str], origin: str, lines: np.ndarray) -> np.ndarray:
    """Parse a column of numbers (`Bitext.more`) to ``(n,) float64``; infinity is allowed.

    ``lines (n,)``: line numbers in ``origin``, named by the CorpusError for other text.
    """
    out = np.array([number_in(text) for text in column], dtype=np.float64)
    if np.isnan(out).any():
        i = int(np.isnan(out).argmax())
        raise CorpusError(
            f"{display_name(origin)}, line {lines[i]}: the score {column[i]!r} is no number; mend "
            "the line or choose another column"
        )
    return out


def number_in(cell: str) -> float:
    """Parse a number; NaN for other text."""
    try:
        return float(cell)
    except ValueError:
        return math.nan
