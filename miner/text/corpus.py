"""Text in: corpora and bitexts as streams of sentences, in every format of the tool.

Every record is accounted for: kept, empty, or skipped as undecodable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from miner.errors import CorpusError
from miner.text.bitext_format import USUAL_FORMAT, BitextFormat, check_on_error, file_format
from miner.text.output import StrPath
from miner.text.records import (
    Record,
    Want,
    display_name,
    hold,
    is_blank,
    raw_records,
    read_plain,
    read_records,
)


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


@dataclass(frozen=True, eq=False)
class Bitext:
    """n aligned rows, or a block of them, neither side empty; records == n + empty + undecodable.

    source, target: n texts each, row by row translations. lines: (n,) int64, >= 1, as in `Corpus`.
    records: rows in the input, a header not counted. empty: rows dropped because a side was empty.
    undecodable: rows dropped under on_error="skip". replaced: rows in which bytes were replaced.
    more: of each row, the text of the further columns that were asked for, as it stands.
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


class Reader:
    """A corpus as a stream of `Corpus` blocks of at most ``block`` sentences each.

    format: one of `miner.names.FORMATS`; None decides by suffix, a compression suffix aside, and takes
        everything else (standard input too) for plain. column: where the sentence is: for tsv a
        number from 1 (default 1) or, with ``header``, a name; for jsonl and parquet a name
        (default "text"). id_column: likewise for the id; jsonl and parquet use "id" if it is there.
    header: the first line of a tsv names the columns; it has a line number but is no record.
    every: a record without a sentence counts as ever, and is yielded too, with the sentence "".
    on_error: what bytes that are not UTF-8 do anywhere in a line: "fail" raises, "replace" puts
        U+FFFD, "skip" drops the record. A lone surrogate in JSON (``"\\ud800"``) counts as such.

    When the iteration has ended, `lines` records were seen, of which `empty` were empty or white
    space, `undecodable` were skipped and the rest were kept; in `replaced` bytes were replaced.
    Each iteration reads the file and counts anew; standard input can be read only once.

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
        self._wants = [
            Want(column),
            Want("id" if optional else id_column, required=not optional, is_id=True),
        ]

    def __iter__(self) -> Iterator[Corpus]:
        self.lines = self.empty = self.undecodable = self.replaced = 0
        if self.format == "plain":
            yield from self._plain()
            return
        kept: list[tuple[str, str, int]] = []
        for line, fields, replaced in read_records(
            self.origin, self.format, self._wants, self.header, self.on_error
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
        """What the iteration over a plain file yields, many lines at a time."""
        for texts, replaced in read_plain(
            self.origin, self._wants, self.header, self.on_error, self.block
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

    def count(self, held: bytes | None = None) -> int:
        """Records of the file, or of its bytes ``held`` in memory; raises CorpusError.

        None is decoded, so this is much faster than the iteration.
        """
        records = sum(1 for _ in raw_records(self.origin, self.format, self._wants, held))
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
    """The whole file as one block, of no sentences if it has none; arguments and errors as Reader.

    What was empty or skipped is not reported: use a `Reader` where the tallies matter.
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


def read_bitext(
    source: StrPath,
    target: StrPath | None = None,
    bitext_format: BitextFormat = USUAL_FORMAT,
    *,
    more: Sequence[int | str] = (),
) -> Bitext:
    """Read two aligned files, or (``target`` None) two columns of one tsv, jsonl or parquet file.

    One file whose suffix says nothing, and standard input, are tsv. The records of two files are
    counted before any are decoded; standard input and pipes are held in memory for that. A row is
    dropped, and counted, when either side is empty or, with on_error="skip", undecodable. ``more``
    are further columns of one file, such as scores, which may be numbers or true and false; they
    may be empty.

    Raises CorpusError and DependencyError as `Reader` does, and CorpusError with both counts for
    files of unequal length.
    """
    return next(stream_bitext(source, target, bitext_format, more=more, block=sys.maxsize))


def stream_bitext(
    source: StrPath,
    target: StrPath | None = None,
    bitext_format: BitextFormat = USUAL_FORMAT,
    *,
    more: Sequence[int | str] = (),
    block: int = 8192,
) -> Iterator[Bitext]:
    """Read as :func:`read_bitext` does, in blocks of at most ``block`` rows each.

    There is one block at least, of no rows for an empty bitext; the last may have none but drop
    some. Each counts the records since the one before, so that the counts of all add up.

    Raises, while iterating, as `read_bitext` does, and ValueError for a block < 1.
    """
    if block < 1:
        raise ValueError(f"block is {block}; it must be at least 1")
    rows = _rows(source, target, bitext_format, more)
    done = 0
    while True:
        bitext = _next_block(rows, block)
        if bitext.records or not done:
            yield bitext
        if len(bitext) < block:
            return
        done += bitext.records


def _next_block(rows: Iterator[Record], block: int) -> Bitext:
    """As many records as hold ``block`` rows, or the rest; fewer rows tell that it is the rest."""
    empty = undecodable = replaced = 0
    kept: list[tuple[str, str, int]] = []
    others: list[tuple[str, ...]] = []
    for line, fields, was_replaced in rows:
        replaced += was_replaced
        if fields is None:
            undecodable += 1
        elif is_blank(fields[0]) or is_blank(fields[1]):
            empty += 1
        else:
            kept.append((fields[0], fields[1], line))
            others.append(fields[2:])
            if len(kept) == block:
                break
    return Bitext(
        [row[0] for row in kept],
        [row[1] for row in kept],
        np.array([row[2] for row in kept], dtype=np.int64),
        len(kept) + empty + undecodable,
        empty,
        undecodable,
        replaced,
        others,
    )


def _rows(
    source: StrPath, target: StrPath | None, layout: BitextFormat, more: Sequence[int | str]
) -> Iterator[Record]:
    """Records of a bitext: of each the source, the target, and the text of ``more``."""
    if target is not None:
        if more:
            raise CorpusError(
                f"{display_name(os.fspath(source))}: column {more[0]!r} is asked for, which needs "
                "both sides in one tsv, jsonl or parquet file"
            )
        return _aligned(
            [
                Reader(path, format=layout.format, on_error=layout.on_error, header=layout.header)
                for path in (source, target)
            ]
        )
    origin = os.fspath(source)
    kind = file_format(origin, layout.format)
    if kind == "bucc" or layout.format == "plain":
        raise CorpusError(
            f"{display_name(origin)}: a {kind} file holds one side of a bitext; "
            "give the other side's file too, or a tsv, jsonl or parquet file"
        )
    wants = [*map(Want, layout.columns(origin)), *(Want(key, is_annotation=True) for key in more)]
    return read_records(
        origin, "tsv" if kind == "plain" else kind, wants, layout.header, layout.on_error
    )


def parse_scores(column: Sequence[str], origin: str, lines: np.ndarray) -> np.ndarray:
    """A column of numbers (`Bitext.more`), ``(n,) float64``; infinite ones are numbers too.

    ``lines (n,)`` are those of ``origin``, to name in a CorpusError for what is none.
    """
    out = np.empty(len(column), dtype=np.float64)
    for i, text in enumerate(column):
        try:
            out[i] = float(text)
        except ValueError:
            out[i] = np.nan
        if np.isnan(out[i]):
            raise CorpusError(
                f"{display_name(origin)}, line {lines[i]}: the score {text!r} is no number; mend "
                "the line or choose another column"
            )
    return out


def _aligned(sides: Sequence[Reader]) -> Iterator[Record]:
    """The records of two files, row by row, once both are known to have equally many."""
    names = [display_name(side.origin) for side in sides]
    if sides[0].origin == sides[1].origin == "-":
        raise CorpusError("standard input cannot be both sides; give a file for one of them")
    held = [hold(side.origin) for side in sides]
    counts = [side.count(data) for side, data in zip(sides, held, strict=True)]
    if counts[0] != counts[1]:
        raise CorpusError(
            f"{names[0]} has {counts[0]} lines but {names[1]} has {counts[1]}; "
            "the two sides of a bitext must be aligned line by line"
        )
    rows = 0
    pairs = zip(
        *(
            read_records(side.origin, side.format, side._wants, side.header, side.on_error, data)
            for side, data in zip(sides, held, strict=True)
        ),
        strict=False,
    )
    for (line, source, replaced), (_, target, also) in pairs:
        rows += 1
        both = None if source is None or target is None else (source[0], target[0])
        yield line, both, replaced or also
    if rows != counts[0]:
        raise CorpusError(
            f"{names[0]} or {names[1]} changed while it was read: {counts[0]} lines "
            f"were counted, then {rows} came; run again once both are complete"
        )


def _corpus(kept: list[tuple[str, str, int]], origin: str) -> Corpus:
    return Corpus(
        [row[0] for row in kept],
        [row[1] for row in kept],
        np.array([row[2] for row in kept], dtype=np.int64),
        origin,
    )
