"""`Rows`: the raw rows of a bitext, aligned and counted, to be parsed or written back untouched.

Reading is apart from parsing, because reading is quick and parsing is work for many processes: a
`Rows` hands out blocks of raw records, and its `layout`, which can be sent to another process,
turns them into texts.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np

from miner.errors import CorpusError
from miner.text.bitext_format import USUAL_FORMAT, BitextFormat, file_format
from miner.text.columns import Column, RawRecord
from miner.text.input_files import InputFiles
from miner.text.layout import Block, Layout, Raw
from miner.text.lines import display_name, hold, is_read_once
from miner.text.output import StrPath
from miner.text.records import column_names, raw_records, refuse_columns

# Where the text is in each of two files, by format.
_ONE_SIDE: dict[str, int | str | None] = {
    "plain": None,
    "bucc": None,
    "tsv": 1,
    "jsonl": "text",
    "parquet": "text",
}


# Rows that are copied to pieces at a time. Reading drops a byte-order mark and a carriage return at
# the end of a line, so that pieces have both, lest one of the text be lost.
PART, LINE_END = 1 << 14, b"\r\n"


class Rows:
    """A bitext as raw rows: two files of a record a row, or one tsv, jsonl or parquet file.

    Arguments as :func:`miner.text.bitext.read_bitext`. ``rewritable``: refuse text that cannot be
    written back row by row: Parquet, BUCC, and two files with a header.

    Every iteration reads from the start. Of two files, standard input and pipes are held in memory;
    of one, they can be iterated over only once. Raises CorpusError as `read_bitext` does, when it
    is made (columns, unequal line counts: both files are counted) and while iterating.
    """

    def __init__(
        self,
        source: StrPath,
        target: StrPath | None = None,
        bitext_format: BitextFormat = USUAL_FORMAT,
        *,
        more: Sequence[int | str] = (),
        rewritable: bool = False,
        count: int | None = None,
    ) -> None:
        self.origins = tuple(os.fspath(path) for path in (source, target) if path is not None)
        names = tuple(map(display_name, self.origins))
        # Before anything is read, so that `InputFiles.check` covers all of it.
        self.inputs = InputFiles(self.origins, names)
        header, on_error = bitext_format.header, bitext_format.on_error
        formats, columns = _formats_and_columns(self.origins, bitext_format, more, rewritable)
        for name, kind, some in zip(names, formats, columns, strict=True):
            refuse_columns(name, kind, some, header)
        self._held = [hold(origin) if target is not None else None for origin in self.origins]
        heads = tuple(int(header and kind == "tsv") for kind in formats)
        self.layout = Layout(names, formats, columns, None, heads, on_error)
        # The unchanged first line, to be written back.
        self.head: bytes | None = None
        # Rows in all, where it is known.
        self.count = count
        # Rows of the whole text before those of this piece of it.
        self.offset = 0
        # Records of a stream that cannot be opened again.
        self._started: Iterator[RawRecord] | None = None
        if target is None:
            self._look_at_first()
        elif count is None:
            self._compare_counts()

    def _look_at_first(self) -> None:
        """Read the header of the one file, and refuse columns that it does not have."""
        layout = self.layout
        (file,) = self._files()
        first = next(file, None)
        if is_read_once(self.origins[0]):
            self._started = file if first is None else chain([first], file)
        if first is None:  # a file without a line has no header either
            self.count = 0
            return
        if layout.heads[0]:
            self.head = first[0]
            header = tuple(column_names(layout.names[0], first[0], layout.on_error))
            self.layout = replace(layout, header=header)
        self.layout.parser()  # raises here rather than in a process of its own

    def _compare_counts(self) -> None:
        """Count the rows of both files. Raises CorpusError where the counts differ."""
        layout, counts = self.layout, []
        for name, head, file in zip(layout.names, layout.heads, self._files(), strict=True):
            for first in islice(file, head):
                column_names(name, first[0], layout.on_error)
            counts.append(sum(1 for _ in file))
        if counts[0] != counts[1]:
            raise CorpusError(
                f"{layout.names[0]} has {counts[0]} lines but {layout.names[1]} has {counts[1]}; "
                "the two sides of a bitext must be aligned line by line"
            )
        self.count = counts[0]

    def blocks(self, size: int, skip: int = 0) -> Iterator[Block]:
        """Yield all rows, ``size`` at a time, but for the first ``skip``.

        Raises CorpusError where there are more or fewer rows than there were the last time.
        """
        heads = self.layout.heads
        files = [islice(file, head, None) for file, head in zip(self._files(), heads, strict=True)]
        rows: Iterator[Raw] = files[0]
        if len(files) == 2:
            rows = (left + right for left, right in zip(*files, strict=True))
        done = 0
        try:
            done = sum(1 for _ in islice(rows, skip))
            while raw := list(islice(rows, size)):
                if self.count is not None and done + len(raw) > self.count:
                    break
                yield Block(1 + heads[0] + self.offset + done, raw)
                done += len(raw)
        except ValueError:  # from zip: one of both files has changed
            raw = [()]
        if raw or self.count not in (None, done):
            raise CorpusError(
                f"{' or '.join(self.layout.names)} changed while it was read: {self.count} lines "
                "were counted, and then more or fewer came; run again once it is complete"
            )
        self.count = done

    def cut(self, size: int, place: Path) -> int:
        """Copy the rows to files in ``place``, ``size`` to a piece; return the number of pieces.

        Where one piece would hold all, there are no files. :meth:`piece` reads a piece.
        """
        done = 0
        with ExitStack() as stack:
            files: list[IO[bytes]] = []
            for block in self.blocks(min(size, PART)):
                raw = block.raw
                while raw:
                    if done % size == 0:
                        stack.close()
                        files = [
                            stack.enter_context(self._begin(place, done // size, side))
                            for side in range(len(self.origins))
                        ]
                    some = raw[: size - done % size]
                    for side, file in enumerate(files):
                        file.writelines(row[side] + LINE_END for row in some)
                    raw, done = raw[len(some) :], done + len(some)
        if 0 < done <= size:
            for side in range(len(self.origins)):
                _piece_file(place, 0, side).unlink()
        return max(1, -(-done // size))

    def _begin(self, place: Path, number: int, side: int) -> IO[bytes]:
        """Open a file of a piece, and write the head of its text."""
        file = open(_piece_file(place, number, side), "wb")  # noqa: SIM115
        file.write(codecs.BOM_UTF8)
        if self.layout.heads[side]:
            file.write((self.head or b"") + LINE_END)
        return file

    def piece(self, place: Path, number: int, size: int) -> Rows:
        """Return the rows of one piece. Faults are told by their lines in the whole text."""
        found = copy(self)
        files = range(len(self.origins))
        found.origins = tuple(str(_piece_file(place, number, side)) for side in files)
        found._held = [None for _ in files]
        found.count, found.offset = None, number * size
        if number:
            found.head = None
        return found

    def counted(self) -> int:
        """Count the rows; they are read for it if the count is not known yet."""
        if self.count is None:
            for _ in self.blocks(1 << 14):
                pass
        assert self.count is not None
        return self.count

    def spread(self, size: int) -> Iterator[Block]:
        """Yield at most ``size`` rows, evenly spread, each as a block; 0 for all of them."""
        return self.chosen(spread_rows(self.counted(), size))

    def chosen(self, rows: np.ndarray) -> Iterator[Block]:
        """Yield some ``rows (m,)``, which ascend, each as a block."""
        first = 0
        for block in self.blocks(1 << 11):
            low, high = np.searchsorted(rows, (first, first + len(block)))
            for row in (rows[low:high] - first).tolist():
                yield Block(block.first + row, [block.raw[row]])
            first += len(block)

    def first(self, size: int) -> Block:
        """Return the first ``size`` rows, or all if there are fewer. They are read again later."""
        heads = self.layout.heads
        files = [self._head(number, head + size)[head:] for number, head in enumerate(heads)]
        rows = [sum(parts, ()) for parts in zip(*files, strict=False)]
        return Block(1 + heads[0], rows)

    def at_most(self, size: int) -> bool:
        """Return whether there are no more rows than ``size``, without reading many more."""
        if self.count is None:
            most = size + self.layout.heads[0]
            return len(self._head(0, most + 1)) <= most
        return self.count <= size

    def _head(self, number: int, records: int) -> list[RawRecord]:
        """Return the first records of one file, which a stream yields again."""
        file = self._files()[number]
        first = list(islice(file, records))
        if len(self.origins) == 1 and is_read_once(self.origins[0]):
            self._started = chain(first, file)
        return first

    def _files(self) -> list[Iterator[RawRecord]]:
        if self._started is not None:
            started, self._started = self._started, None
            return [started]
        layout = self.layout
        parts = zip(self.origins, layout.formats, layout.columns, self._held, strict=True)
        return [raw_records(*part) for part in parts]


def spread_rows(count: int, size: int) -> np.ndarray:
    """Return at most ``size`` of ``count`` rows, evenly spread, ``(m,) int64``; 0 for all."""
    if not 0 < size < count:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, size).astype(np.int64))


def _piece_file(place: Path, number: int, side: int) -> Path:
    return place / f"{number:05}.{side}"


def _formats_and_columns(
    origins: Sequence[str], given: BitextFormat, more: Sequence[int | str], rewritable: bool
) -> tuple[tuple[str, ...], tuple[tuple[Column, ...], ...]]:
    """Return the format of each file and the columns to read of it.

    Raises CorpusError for files that cannot be a bitext, or not a rewritable one.
    """
    name = display_name(origins[0])
    formats = tuple(file_format(origin, given.format) for origin in origins)
    one_file = "tsv or jsonl file" if rewritable else "tsv, jsonl or parquet file"
    if rewritable:
        for origin, kind in zip(origins, formats, strict=True):
            if kind in ("bucc", "parquet"):
                raise CorpusError(
                    f"{display_name(origin)}: rows of {kind} cannot be written back; give plain "
                    "text, tsv or jsonl"
                )
        if given.header and len(origins) == 2:
            raise CorpusError(f"{name}: two files have no header; give one tsv file")
    if len(origins) == 1:
        if formats[0] == "bucc" or given.format == "plain":
            raise CorpusError(
                f"{name}: a {formats[0]} file holds one side of a bitext; give the other side's "
                f"file too, or a {one_file}"
            )
        texts = map(Column, given.columns(origins[0]))
        others = (Column(key, is_annotation=True) for key in more)
        return ("tsv" if formats[0] == "plain" else formats[0],), ((*texts, *others),)
    if more:
        raise CorpusError(
            f"{name}: column {more[0]!r} is asked for, which needs both sides in one {one_file}"
        )
    if set(origins) == {"-"}:
        raise CorpusError("standard input cannot be both sides; give a file for one of them")
    return formats, tuple((Column(_ONE_SIDE[kind]),) for kind in formats)
