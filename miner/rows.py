"""The rows of a bitext as they stand in their files: to be looked at, and written back untouched.

Reading and understanding are apart, since the one is quick and the other is work for many
processes: a `Rows` hands out blocks of raw lines, and its `layout`, which can be sent to another
process, turns them into texts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from miner.corpus import file_format
from miner.errors import CorpusError
from miner.files import StrPath, one_line
from miner.records import (
    Want,
    column_names,
    decode,
    display_name,
    parser,
    raw_records,
    refuse_columns,
)

# What became of a row.
READ, UNREADABLE, REPLACED = 0, 1, 2

# The line of one row in each file.
Raw = tuple[bytes, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows that stand in a row: ``first`` is the line, from 1, of the first of ``raw``."""

    first: int
    raw: list[Raw]

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True, eq=False)
class Texts:
    """What n rows hold: both sides, the further columns, and what became of each row.

    Texts may be empty, and are where ``state (n,) uint8`` is UNREADABLE: bytes that are not UTF-8
    or a row without the columns asked for, under on_error="skip".
    """

    source: list[str]
    target: list[str]
    more: list[tuple[str, ...]]
    state: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Where the texts of a row are.

    names: of the one file or the two, for messages. formats: of each. wants: of each, the columns
    asked for: of one file source, target and further ones. header: the names of a tsv's columns.
    """

    names: tuple[str, ...]
    formats: tuple[str, ...]
    wants: tuple[tuple[Want, ...], ...]
    header: tuple[str, ...] | None
    on_error: str

    def texts(self, block: Block) -> Texts:
        """The texts of a block. Raises CorpusError for an unreadable row, unless such are skipped.

        Under on_error="replace" that is a row without the columns; bytes are replaced.
        """
        header = None if self.header is None else list(self.header)
        parsers = [
            parser(name, format, wants, header)
            for name, format, wants in zip(self.names, self.formats, self.wants, strict=True)
        ]
        rows: list[tuple[str, ...]] = []
        state = np.zeros(len(block), dtype=np.uint8)
        blank = ("",) * (len(self.wants[0]) if len(self.names) == 1 else 2)
        for number, raw in enumerate(block.raw):
            fields: tuple[str, ...] = ()
            try:
                for file, (line, parse) in enumerate(zip(raw, parsers, strict=True)):
                    found, replaced = decode(
                        self.names[file],
                        self.formats[file],
                        block.first + number,
                        (line,),
                        parse,
                        self.on_error,
                    )
                    if found is None:
                        fields, state[number] = blank, UNREADABLE
                        break
                    # Of two files each has one column that is wanted, and an id that is not.
                    fields += found if len(self.names) == 1 else found[:1]
                    state[number] |= REPLACED * replaced
            except CorpusError:
                if self.on_error != "skip":
                    raise
                fields, state[number] = blank, UNREADABLE
            rows.append(fields)
        return Texts(
            [row[0] for row in rows], [row[1] for row in rows], [row[2:] for row in rows], state
        )

    def with_texts(self, raw: Raw, source: str, target: str) -> Raw:
        """The row with other texts in its two columns; the rest as it stands."""
        sides = (source, target)
        if len(raw) == 2:
            if set(self.formats) == {"plain"}:
                return tuple(one_line(text).encode() for text in sides)
            pairs = zip(raw, self.formats, self.wants, sides, strict=True)
            return tuple(
                self._with_cells(line, format, wants[:1], (text,))
                for line, format, wants, text in pairs
            )
        return (self._with_cells(raw[0], self.formats[0], self.wants[0][:2], sides),)

    def _with_cells(
        self, line: bytes, format: str, wants: Sequence[Want], texts: Sequence[str]
    ) -> bytes:
        text = line.decode("utf-8", "replace")
        if format == "jsonl":
            record = json.loads(text)
            record |= {str(want.key): text for want, text in zip(wants, texts, strict=True)}
            return json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")
        cells = text.split("\t")
        for want, new in zip(wants, texts, strict=True):
            cells[self.place(want.key)] = one_line(new)
        return "\t".join(cells).encode()

    def place(self, key: Any) -> int:
        """Where a column of a tsv stands, from 0."""
        if self.header and key in self.header:
            return self.header.index(key)
        return int(key) - 1

    def with_cells(self, raw: Raw, cells: Mapping[str, str | float]) -> bytes:
        """The row as one line, with more cells at its end; of JSON, with more keys.

        Two files become one row: source, target, and the cells. A line that should be JSON and is
        not becomes the text of a key "line".
        """
        if self.formats == ("jsonl",):
            text = raw[0].decode("utf-8", "replace")
            try:
                record = dict(json.loads(text))
            except (ValueError, TypeError, RecursionError):
                record = {"line": text}
            return json.dumps({**record, **cells}, ensure_ascii=False).encode("utf-8", "replace")
        sides = [line.replace(b"\t", b" ") for line in raw] if len(raw) == 2 else list(raw)
        texts = (f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells.values())
        return b"\t".join([*sides, *[one_line(str(text)).encode() for text in texts]])


class Rows:
    """A bitext as raw rows: two files of a line a row, or one tsv or jsonl file.

    Arguments as :func:`miner.corpus.read_bitext`. Reads from the start at every iteration, so
    standard input must be put into a file first. Raises CorpusError as `read_bitext` does, when
    it is made (columns, unequal line counts: both files are counted) and while iterating.
    """

    def __init__(
        self,
        source: StrPath,
        target: StrPath | None = None,
        *,
        scol: int | str = 1,
        tcol: int | str = 2,
        more: Sequence[int | str] = (),
        header: bool = False,
        format: str | None = None,
        on_error: str = "fail",
    ) -> None:
        self.origins = tuple(os.fspath(path) for path in (source, target) if path is not None)
        names = tuple(map(display_name, self.origins))
        formats = [file_format(origin, format, on_error) for origin in self.origins]
        for name, kind in zip(names, formats, strict=True):
            if kind in ("bucc", "parquet"):
                raise CorpusError(
                    f"{name}: rows of {kind} cannot be written back; give plain text, tsv or jsonl"
                )
        if target is None:
            if format == "plain":
                raise CorpusError(
                    f"{names[0]}: a plain file holds one side of a bitext; give the other side's "
                    "file too, or a tsv or jsonl file"
                )
            formats = ["tsv" if kind == "plain" else kind for kind in formats]
            wants: tuple[tuple[Want, ...], ...] = (
                (Want(scol), Want(tcol), *(Want(key, is_annotation=True) for key in more)),
            )
        elif more:
            raise CorpusError(
                f"{names[0]}: column {more[0]!r} is asked for, which needs both sides in one tsv "
                "or jsonl file"
            )
        else:
            default = {"plain": None, "tsv": 1, "jsonl": "text"}
            wants = tuple((Want(default[kind]), Want(None)) for kind in formats)
        # The first line as it stands, to be written back.
        self.head: bytes | None = None
        columns = None
        if header and target is not None:
            raise CorpusError(f"{names[0]}: two files have no header; give one tsv file")
        if header and formats == ["tsv"]:
            first = next(raw_records(self.origins[0], "tsv", wants[0], None), None)
            if first is not None:
                self.head = first[0]
                columns = tuple(column_names(names[0], first[0], on_error))
        self.layout = Layout(names, tuple(formats), wants, columns, on_error)
        for name, kind, want in zip(names, formats, wants, strict=True):
            refuse_columns(name, kind, want, header and kind != "jsonl")
            # What cannot be is refused now, rather than in a process of its own.
            parser(name, kind, want, None if columns is None else list(columns))
        # Rows in all, where it is known.
        self.count: int | None = None
        if target is not None:
            counts = [sum(1 for _ in lines) for lines in self._files()]
            if counts[0] != counts[1]:
                raise CorpusError(
                    f"{names[0]} has {counts[0]} lines but {names[1]} has {counts[1]}; "
                    "the two sides of a bitext must be aligned line by line"
                )
            self.count = counts[0]

    def blocks(self, size: int, skip: int = 0) -> Iterator[Block]:
        """All rows, ``size`` at a time; the first ``skip`` are passed over."""
        rows = (sum(parts, ()) for parts in zip(*self._files(), strict=True))
        first = 1 + (self.head is not None)
        done = 0
        for _ in islice(rows, first - 1 + skip):
            pass
        first += skip
        try:
            while raw := list(islice(rows, size)):
                yield Block(first + done, raw)
                done += len(raw)
        except ValueError:  # zip's, for files that have changed
            raise CorpusError(
                f"{' or '.join(self.layout.names)} changed while it was read; run again once "
                "both are complete"
            ) from None

    def _files(self) -> list[Iterator[Raw]]:
        layout = self.layout
        return [
            raw_records(origin, kind, wants, None)
            for origin, kind, wants in zip(self.origins, layout.formats, layout.wants, strict=True)
        ]
