"""The rows of a bitext as they stand in their files: to be looked at, and written back untouched.

Reading and understanding are apart, since the one is quick and the other is work for many
processes: a `Rows` hands out blocks of raw lines, and its `layout`, which can be sent to another
process, turns them into texts.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from miner.errors import CorpusError, UnreadableError
from miner.text.bitext_format import USUAL_FORMAT, BitextFormat, file_format
from miner.text.output import StrPath, one_line
from miner.text.records import (
    Want,
    column_names,
    decode,
    display_name,
    is_blank,
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
            except CorpusError as error:
                if self.on_error != "skip":
                    if isinstance(error, UnreadableError):
                        raise
                    raise UnreadableError(str(error), "skip") from None
                fields, state[number] = blank, UNREADABLE
            rows.append(fields)
        return Texts(
            [row[0] for row in rows], [row[1] for row in rows], [row[2:] for row in rows], state
        )

    def with_texts(self, raw: Raw, source: str, target: str) -> Raw:
        """The row with other texts in its two columns; the rest as it stands."""
        sides = (source, target)
        if len(raw) == 2:
            pairs = zip(raw, self.formats, self.wants, sides, strict=True)
            return tuple(
                self._with_cells(line, format, wants[:1], (text,))
                for line, format, wants, text in pairs
            )
        return (self._with_cells(raw[0], self.formats[0], self.wants[0][:2], sides),)

    def _with_cells(
        self, line: bytes, format: str, wants: Sequence[Want], texts: Sequence[str]
    ) -> bytes:
        """The line with other texts, valid UTF-8; what is the same already stays as it stands."""
        text = line.decode("utf-8", "replace")
        if format == "plain":
            return (text if texts[0] == text else one_line(texts[0])).encode()
        if is_blank(text):  # which has no columns
            return text.encode()
        if format == "jsonl":
            record = json.loads(text)
            new = {str(want.key): text for want, text in zip(wants, texts, strict=True)}
            if all(record[key] == text for key, text in new.items()):
                return text.encode()
            # What cannot be encoded, half a character in another key, becomes JSON's escape for it.
            return json.dumps(record | new, ensure_ascii=False).encode("utf-8", "backslashreplace")
        cells = text.split("\t")
        for want, cell in zip(wants, texts, strict=True):
            place = self.place(want.key)
            if cells[place] != cell:
                cells[place] = one_line(cell)
        return "\t".join(cells).encode()

    def place(self, key: Any) -> int:
        """Where a column of a tsv stands, from 0."""
        if self.header and key in self.header:
            return self.header.index(key)
        return int(key) - 1

    def with_cells(self, raw: Raw, cells: Mapping[str, str | float]) -> bytes:
        """The row as one line, with more cells at its end; of JSON, with more keys at its end.

        What the row holds stays as it stands, but two files become one row: source, target, and
        the cells, where tabs in the texts become spaces. A key that is there already gets a number:
        ``quality_2``. A line that should be a JSON object and is none becomes the text of a key
        "line". An infinite number is null in JSON, which has none.
        """
        if self.formats == ("jsonl",):
            known = {key: _finite(cell) for key, cell in cells.items()}
            text = raw[0].decode("utf-8", "replace")
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                return json.dumps({"line": text, **known}, ensure_ascii=False).encode()
            known = {_unused(key, found): cell for key, cell in known.items()}
            start = raw[0].rstrip()[:-1]
            more = json.dumps(known, ensure_ascii=False).encode()[1:]
            return start + (b", " if found else b"") + more
        sides = [line.replace(b"\t", b" ") for line in raw] if len(raw) == 2 else list(raw)
        texts = (f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells.values())
        return b"\t".join([*sides, *[one_line(str(text)).encode() for text in texts]])


def _unused(key: str, record: Mapping[str, Any]) -> str:
    """A key that the record does not have: this one, or with the first number that will do."""
    names = (key, *(f"{key}_{number}" for number in range(2, len(record) + 3)))
    return next(name for name in names if name not in record)


def _finite(cell: str | float) -> str | float | None:
    """A cell as JSON knows it: numbers that are infinite or none at all are None."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


class Rows:
    """A bitext as raw rows: two files of a line a row, or one tsv or jsonl file.

    Arguments as :func:`miner.text.corpus.read_bitext`. Reads from the start at every iteration, so
    standard input must be put into a file first. Raises CorpusError as `read_bitext` does, when
    it is made (columns, unequal line counts: both files are counted) and while iterating.
    """

    def __init__(
        self,
        source: StrPath,
        target: StrPath | None = None,
        bitext_format: BitextFormat = USUAL_FORMAT,
        *,
        more: Sequence[int | str] = (),
    ) -> None:
        format, header = bitext_format.format, bitext_format.header
        on_error = bitext_format.on_error
        self.origins = tuple(os.fspath(path) for path in (source, target) if path is not None)
        names = tuple(map(display_name, self.origins))
        formats = [file_format(origin, format) for origin in self.origins]
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
                (
                    *map(Want, bitext_format.columns(self.origins[0])),
                    *(Want(key, is_annotation=True) for key in more),
                ),
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
        for name, kind, want in zip(names, formats, wants, strict=True):
            refuse_columns(name, kind, want, header and kind != "jsonl")
        first = next(raw_records(self.origins[0], formats[0], wants[0], None), None)
        if header and formats == ["tsv"] and first is not None:
            self.head = first[0]
            columns = tuple(column_names(names[0], first[0], on_error))
        self.layout = Layout(names, tuple(formats), wants, columns, on_error)
        # Rows in all, where it is known. A file without a line has no header either.
        self.count: int | None = 0 if first is None and target is None else None
        if self.count is None:
            for name, kind, want in zip(names, formats, wants, strict=True):
                # What cannot be is refused now, rather than in a process of its own.
                parser(name, kind, want, None if columns is None else list(columns))
        if target is not None:
            counts = [sum(1 for _ in lines) for lines in self._files()]
            if counts[0] != counts[1]:
                raise CorpusError(
                    f"{names[0]} has {counts[0]} lines but {names[1]} has {counts[1]}; "
                    "the two sides of a bitext must be aligned line by line"
                )
            self.count = counts[0]

    def blocks(self, size: int, skip: int = 0) -> Iterator[Block]:
        """All rows, ``size`` at a time; the first ``skip`` are passed over.

        Raises CorpusError where there are more or fewer rows than there were the last time.
        """
        files = self._files()
        rows: Iterator[Raw] = files[0]
        if len(files) == 2:
            rows = (left + right for left, right in zip(*files, strict=True))
        head = self.head is not None
        done = -head
        try:
            done += sum(1 for _ in islice(rows, head + skip))
            while raw := list(islice(rows, size)):
                if self.count is not None and done + len(raw) > self.count:
                    break
                yield Block(1 + head + done, raw)
                done += len(raw)
        except ValueError:  # zip's, for files of which one has changed
            raw = [()]
        if raw or self.count not in (None, done):
            raise CorpusError(
                f"{' or '.join(self.layout.names)} changed while it was read; run again once it "
                "is complete"
            )
        self.count = done

    def counted(self) -> int:
        """Rows in all; they are read if that is not known yet."""
        if self.count is None:
            for _ in self.blocks(1 << 14):
                pass
        assert self.count is not None
        return self.count

    def spread(self, size: int) -> Iterator[Block]:
        """At most ``size`` rows, evenly spread over all, each as a block; 0 for all of them."""
        count = self.counted()
        chosen = np.arange(count)
        if 0 < size < count:
            chosen = np.unique(np.linspace(0, count - 1, size).astype(np.int64))
        first = 0
        for block in self.blocks(1 << 11):
            low, high = np.searchsorted(chosen, (first, first + len(block)))
            for row in (chosen[low:high] - first).tolist():
                yield Block(block.first + row, [block.raw[row]])
            first += len(block)

    def at_most(self, size: int) -> bool:
        """Whether there are no more rows than ``size``; no more of them are read to know."""
        if self.count is None:
            lines = self._files()[0]
            return sum(1 for _ in islice(lines, size + 2)) <= size + (self.head is not None)
        return self.count <= size

    def _files(self) -> list[Iterator[Raw]]:
        layout = self.layout
        return [
            raw_records(origin, kind, wants, None)
            for origin, kind, wants in zip(self.origins, layout.formats, layout.wants, strict=True)
        ]
