"""`Corpus` and `Reader`: the sentences of one text in any format, whole or as a stream of blocks.

Every record is accounted for: kept, empty, or skipped as undecodable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from miner.text.bitext_format import check_on_error, file_format
from miner.text.columns import Column, is_blank
from miner.text.output import StrPath
from miner.text.records import raw_records, read_plain, read_records


@dataclass(frozen=True, eq=False)
class Corpus:
    """A block of n sentences, none of them empty.

    ids: n texts: the id given in the file (bucc; tsv, jsonl and parquet with an id column), else,
        or where that is empty, the number in ``lines`` as text. Not checked for duplicates.
    sentences: n texts as they stand in the file, spaces at the ends included; valid Unicode
        without lone surrogates. From jsonl and parquet they may hold ``\\n`` (see `one_line`).
    lines: (n,) int64, ascending, >= 1: the line in the file (a header is line 1); for parquet
        the record.
    origin: the file's name as given, ``-`` for standard input.
    """

    ids: list[str]
    sentences: list[str]
    lines: np.ndarray
    origin: str

    def __len__(self) -> int:
        return len(self.sentences)


class Reader:
    """Stream of the `Corpus` blocks of a file, of at most ``block`` sentences each.

    format: one of `miner.names.FORMATS`; None decides by suffix, a compression suffix aside;
        other suffixes and standard input are plain.
    column: where the sentence is: for tsv a number from 1 (default 1) or, with ``header``, a name;
        for jsonl and parquet a name (default "text").
    id_column: likewise for the id; jsonl and parquet use "id" if it is there.
    header: the first line of a tsv names the columns; it has a line number but is no record.
    every: yield records without a sentence too, with the sentence ""; they count as empty.
    on_error: action on bytes that are not UTF-8 anywhere in a line: "fail" raises, "replace" puts
        U+FFFD, "skip" drops the record. A lone surrogate in JSON (``"\\ud800"``) counts as such.

    After an iteration, `lines` records were seen: `empty` were empty or white space,
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
        check_on_error(on_error)
        if block < 1:
            raise ValueError(f"block is {block}; it must be at least 1")
        self.header, self.on_error, self.every, self.block = header, on_error, every, block
        self.lines = self.empty = self.undecodable = self.replaced = 0
        named = self.format in ("jsonl", "parquet")
        if column is None and self.format not in ("plain", "bucc"):
            column = "text" if named else 1
        optional = named and id_column is None
        self._columns = [
            Column(column),
            Column("id" if optional else id_column, required=not optional, is_id=True),
        ]

    def __iter__(self) -> Iterator[Corpus]:
        self.lines = self.empty = self.undecodable = self.replaced = 0
        if self.format == "plain":
            yield from self._plain()
            return
        kept: list[tuple[str, str, int]] = []
        for line, fields, replaced in read_records(
            self.origin, self.format, self._columns, self.header, self.on_error
        ):
            self.lines += 1
            self.replaced += replaced
            sentence, name = ("", "") if fields is None else fields
            if fields is None:
                self.undecodable += 1
            elif is_blank(sentence):
                self.empty += 1
                sentence = ""
            if sentence or self.every:
                kept.append((name or str(line), sentence, line))
                if len(kept) == self.block:
                    yield _corpus(kept, self.origin)
                    kept = []
        if kept:
            yield _corpus(kept, self.origin)

    def _plain(self) -> Iterator[Corpus]:
        """Iterate over a plain file, many lines at a time."""
        for texts, replaced in read_plain(
            self.origin, self._columns, self.header, self.on_error, self.block
        ):
            lines = np.arange(self.lines + 1, self.lines + 1 + len(texts))
            without = [i for i, text in enumerate(texts) if not text or text.isspace()]
            undecodable = sum(texts[i] is None for i in without)
            self.lines += len(texts)
            self.undecodable += undecodable
            self.empty += len(without) - undecodable
            self.replaced += replaced
            for i in without:
                texts[i] = ""
            sentences = cast(list[str], texts)
            if without and not self.every:
                lines = np.delete(lines, without)
                sentences = [text for text in sentences if text]
            if sentences:
                yield Corpus(list(map(str, lines.tolist())), sentences, lines, self.origin)

    def count(self) -> int:
        """Count the records without decoding them, much faster than an iteration.

        Raises CorpusError and DependencyError.
        """
        records = sum(1 for _ in raw_records(self.origin, self.format, self._columns))
        return max(0, records - (self.header and self.format == "tsv"))


def read(
    path: StrPath,
    *,
    format: str | None = None,
    on_error: str = "fail",
    column: int | str | None = None,
    id_column: int | str | None = None,
    header: bool = False,
) -> Corpus:
    """Read a whole file as one block; arguments and errors as `Reader`.

    Empty and skipped records are not reported: use a `Reader` where the tallies matter.
    """
    reader = Reader(
        path,
        format=format,
        on_error=on_error,
        column=column,
        id_column=id_column,
        header=header,
        block=sys.maxsize,
    )
    return next(iter(reader), _corpus([], reader.origin))


def _corpus(kept: list[tuple[str, str, int]], origin: str) -> Corpus:
    return Corpus(
        [row[0] for row in kept],
        [row[1] for row in kept],
        np.array([row[2] for row in kept], dtype=np.int64),
        origin,
    )
