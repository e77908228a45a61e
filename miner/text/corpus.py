"""`Corpus` and `CorpusReader`: sentences of one text in any format, whole or as a stream of blocks.

Every record is accounted for: kept, empty, or skipped as undecodable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from miner.text.formats import FORMATS, BitextFormat, file_format
from miner.text.layout import REPLACED, UNREADABLE
from miner.text.output import StrPath
from miner.text.rows import Rows
from miner.text.text_format import Column, RawText, is_blank

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class Corpus:
    """Block of n sentences, none of them empty.

    ids: n ids of the file (bucc; tsv, jsonl and parquet with an id column); a missing id is
        the line number as text. Duplicates are not detected.
    sentences: n texts as in the file, with spaces at the ends; valid Unicode without lone
        surrogates. Sentences of jsonl and parquet may contain ``\\n`` (see `one_line`).
    lines: (n,) int64, ascending, >= 1: line in the file (a header is line 1), or record of parquet.
    origin: name of the file as passed, ``-`` for standard input.
    """

    ids: list[str]
    sentences: list[str]
    lines: np.ndarray
    origin: str

    def __len__(self) -> int:
        return len(self.sentences)


class Reading(TypedDict, total=False):
    """Settings of reading a corpus, as keywords of `CorpusReader`."""

    format: str | None
    on_error: str
    column: int | str | None
    id_column: int | str | None
    header: bool


class CorpusReader:
    """Stream of the `Corpus` blocks of a file, of at most ``block`` sentences each.

    format, header, on_error: as of :class:`miner.text.formats.BitextFormat`. A lone surrogate in
        JSON (``"\\ud800"``) is not UTF-8 either. A header has a line number but is no record.
    column: of the sentence: for tsv a number from 1 (default 1) or, with ``header``, a name;
        for jsonl and parquet a name (default "text").
    id_column: likewise for the id; jsonl and parquet use "id" if it is there.
    every: yield records without a sentence too, with the sentence ""; they count as empty.

    After an iteration, `lines` records were seen: `empty` were empty: nothing visible,
    `undecodable` were skipped and the rest were kept; in `replaced` bytes were replaced. Each
    iteration reads the file and counts anew; standard input can be read only once.

    Raises ValueError for an unknown format or on_error or a block < 1; while iterating,
    CorpusError (file, compression, bytes, columns) and DependencyError (zstd, pyarrow).
    """

    def __init__(
        self,
        path: StrPath,
        *,
        format: str | None = None,
        on_error: str = "fail",
        column: int | str | None = None,
        id_column: int | str | None = None,
        header: bool = False,
        every: bool = False,
        block: int = 8192,
    ) -> None:
        self.origin = os.fspath(path)
        self.format = file_format(self.origin, format)
        self._reading = BitextFormat(header=header, format=self.format, on_error=on_error)
        if block < 1:
            raise ValueError(f"block is {block}; it must be at least 1")
        self.every, self.block = every, block
        self.lines = self.empty = self.undecodable = self.replaced = 0
        format_ = FORMATS[self.format]
        self._columns = [
            Column(format_.text if column is None else column),
            Column(
                format_.id if id_column is None else id_column,
                required=id_column is not None,
                is_id=True,
            ),
        ]

    def __iter__(self) -> Iterator[Corpus]:
        self.lines = self.empty = self.undecodable = self.replaced = 0
        rows = Rows(self.origin, None, self._reading, columns=self._columns)
        for first, cells in rows.cells(self.block):
            (texts, names), state = rows.layout.parse(first, cells)
            without = [i for i, text in enumerate(texts) if is_blank(text)]
            undecodable = int(np.count_nonzero(state == UNREADABLE))
            self.lines += len(texts)
            self.undecodable += undecodable
            self.empty += len(without) - undecodable
            self.replaced += int(np.count_nonzero(state == REPLACED))
            lines, sentences = np.arange(first, first + len(texts)), list(texts)
            for i in without:
                sentences[i] = ""
            if without and not self.every:
                names = [name for name, text in zip(names, sentences, strict=True) if text]
                lines, sentences = np.delete(lines, without), [text for text in sentences if text]
            if sentences:
                ids = list(map(str, lines.tolist()))
                if any(names):
                    ids = [name or number for name, number in zip(names, ids, strict=True)]
                yield Corpus(ids, sentences, lines, self.origin)

    def count(self) -> int:
        """Count the records without decoding them, much faster than an iteration.

        Raises CorpusError and DependencyError.
        """
        text = RawText(self.origin)
        records = sum(1 for _ in FORMATS[self.format].records(text, self._columns))
        return max(0, records - self.head)

    @property
    def head(self) -> int:
        """Number of lines before the first record."""
        return int(self._reading.header and FORMATS[self.format].has_header)


def read(path: StrPath, **reading: Unpack[Reading]) -> Corpus:
    """Read a whole file as one block; arguments and errors as `CorpusReader`.

    Empty and skipped records are not reported: use a `CorpusReader` to get their counts.
    """
    reader = CorpusReader(path, **reading)
    blocks = list(reader)
    return Corpus(
        [name for block in blocks for name in block.ids],
        [sentence for block in blocks for sentence in block.sentences],
        np.concatenate([np.zeros(0, np.int64), *[block.lines for block in blocks]]),
        reader.origin,
    )
