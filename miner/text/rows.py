"""`Rows`: the raw rows of a bitext, aligned and counted, to be parsed or written back untouched.

Reading is quick and parsing is work for many processes: a `Rows` hands out blocks of raw records,
and its `layout`, which can be sent to another process, turns them into texts.
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
from typing import IO, Any

import numpy as np

from miner.errors import CorpusError
from miner.option_values import SIDES
from miner.text.formats import ALL, FORMATS, USUAL_FORMAT, BitextFormat, file_format
from miner.text.layout import Block, Layout, column_names
from miner.text.lines import display_name, hold, is_read_once
from miner.text.output import StrPath
from miner.text.refusals import formats_and_columns, refuse_columns, refuse_scores
from miner.text.text_format import Columns, RawText
from miner.text_table import count_of

# Rows copied to pieces at a time. Pieces are written with BOM and CRLF because reading strips one
# of each.
PART, LINE_END = 1 << 14, b"\r\n"


class Rows:
    """A bitext as raw rows: two files of a record a row, or one file with columns.

    Arguments as :func:`miner.text.bitext.read_bitext`. ``rewritable``: refuse text that cannot be
    written back row by row: Parquet, BUCC, and two files with a header. ``columns``: columns of the
    one file, of any format, in place of both sides. ``count``: number of rows, if it is known.

    Every iteration reads from the start. Standard input and pipes are held in memory if there are
    two files; a single one can be iterated over only once. Raises CorpusError when it is made
    (columns, unequal line counts) and while iterating.
    """

    def __init__(
        self,
        source: StrPath,
        target: StrPath | None = None,
        bitext_format: BitextFormat = USUAL_FORMAT,
        *,
        more: Sequence[int | str] = (),
        rewritable: bool = False,
        columns: Columns = (),
        count: int | None = None,
    ) -> None:
        self.origins = tuple(os.fspath(path) for path in (source, target) if path is not None)
        names = tuple(map(display_name, self.origins))
        header, on_error = bitext_format.header, bitext_format.on_error
        formats: tuple[str, ...]
        wanted: tuple[Columns, ...]
        if columns:
            formats = (file_format(self.origins[0], bitext_format.format),)
            wanted = (columns,)
        else:
            formats, wanted = formats_and_columns(self.origins, bitext_format, more, rewritable)
        for name, kind, some in zip(names, formats, wanted, strict=True):
            refuse_columns(name, kind, some, header)
        self._held = [hold(origin) if target is not None else None for origin in self.origins]
        heads = tuple(int(header and FORMATS[kind].has_header) for kind in formats)
        carry = () if ALL in bitext_format.carry else bitext_format.carry
        if carry and target is not None:
            raise CorpusError(f"{names[0]}: two files have no columns to carry")
        self.layout = Layout(names, formats, wanted, heads, on_error, carry=carry)
        # First line, unchanged, to be written back.
        self.head: bytes | None = None
        self.count = count
        # Rows of the whole text before this piece.
        self.offset = 0
        # Records of a stream that cannot be, or need not be, read again.
        self._once = target is None and (bool(columns) or is_read_once(self.origins[0]))
        self._started: Iterator[Any] | None = None
        if target is None:
            usual = bitext_format.source_column is None and bitext_format.target_column is None
            self._look_at_first(usual=usual and not columns)
        else:
            self._find_columns(None)
            if count is None:
                self._compare_counts()

    def _find_columns(self, header: Sequence[str] | None) -> None:
        """Find the columns in each file. Raises CorpusError for missing ones."""
        layout = self.layout
        parts = zip(layout.names, layout.formats, layout.columns, strict=True)
        columns = tuple(FORMATS[kind].found(name, some, header) for name, kind, some in parts)
        self.layout = replace(layout, columns=columns, header=tuple(header or ()))

    def _look_at_first(self, *, usual: bool) -> None:
        """Read the header of the only file, and find the columns. ``usual``: the defaults."""
        layout = self.layout
        (file,), (columns,), (ahead,) = self._files(), layout.columns, layout.heads
        lines = list(islice(file, 1 + ahead))
        if self._once:
            self._started = chain(lines, file)
        if not lines:  # an empty file has no header
            self.count = 0
            return
        first, header = lines[0], None
        if ahead:
            self.head = first
            header = column_names(layout.names[0], layout.formats[0], first, layout.on_error)
        if usual and header and {*SIDES} <= {*header}:
            named = [
                column._replace(key=side) for column, side in zip(columns, SIDES, strict=False)
            ]
            self.layout = replace(layout, columns=((*named, *columns[2:]),))
        elif usual and layout.formats[0] == "tsv" and lines[ahead:]:
            refuse_scores(layout.names[0], 1 + ahead, lines[ahead])
        if layout.carry:
            text = first.decode("utf-8", "replace")
            there = [*(header or FORMATS[layout.formats[0]].fields(text, ()))]
            if missing := [name for name in layout.carry if name not in there]:
                raise CorpusError(
                    f"{layout.names[0]}: no column {missing[0]!r} to carry; there are: "
                    f"{', '.join(there)}"
                )
        self._find_columns(header)

    def _compare_counts(self) -> None:
        """Count the rows of both files. Raises CorpusError where the counts differ."""
        layout, counts = self.layout, []
        parts = zip(layout.names, layout.formats, layout.heads, self._files(), strict=True)
        for name, format, head, file in parts:
            for first in islice(file, head):
                column_names(name, format, first, layout.on_error)
            counts.append(sum(1 for _ in file))
        if counts[0] != counts[1]:
            raise CorpusError(
                f"{layout.names[0]} has {count_of(counts[0], 'line')} but {layout.names[1]} has "
                f"{counts[1]:,}; the two sides of a bitext must be aligned line by line"
            )
        self.count = counts[0]

    def blocks(self, size: int) -> Iterator[Block]:
        """Yield all rows, ``size`` at a time; see :meth:`cells`."""
        for first, cells in self.cells(size):
            yield Block(first, list(zip(*cells, strict=True)))

    def cells(self, size: int) -> Iterator[tuple[int, list[Sequence[bytes]]]]:
        """Yield all rows in blocks of ``size``: line of the first row, and parts of the rows.

        Raises CorpusError if the number of rows has changed since the last iteration.
        """
        heads = self.layout.heads
        files = [islice(file, head, None) for file, head in zip(self._files(), heads, strict=True)]
        done = 0
        while True:
            taken = [list(islice(file, size)) for file in files]
            count = len(taken[0])
            alike = all(len(records) == count for records in taken)
            if not count or not alike or (self.count is not None and done + count > self.count):
                break
            yield 1 + heads[0] + self.offset + done, self._parts(taken)
            done += count
        if any(taken) or self.count not in (None, done):
            raise CorpusError(
                f"{' or '.join(self.layout.names)} changed while it was read: {self.count} lines "
                "were counted, and then more or fewer came; run again once it is complete"
            )
        self.count = done

    def cut(self, size: int, directory: Path) -> int:
        """Copy the rows to files in ``directory``, ``size`` rows to a piece; return the number of
        pieces.

        No file is written if one piece would hold all rows. :meth:`piece` reads a piece.
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
                            stack.enter_context(self._begin(directory, done // size, side))
                            for side in range(len(self.origins))
                        ]
                    some = raw[: size - done % size]
                    for side, file in enumerate(files):
                        file.writelines(row[side] + LINE_END for row in some)
                    raw, done = raw[len(some) :], done + len(some)
        if 0 < done <= size:
            for side in range(len(self.origins)):
                _piece_file(directory, 0, side).unlink()
        return max(1, -(-done // size))

    def _begin(self, directory: Path, number: int, side: int) -> IO[bytes]:
        """Open a file of a piece, and write the head of its text."""
        file = open(_piece_file(directory, number, side), "wb")  # noqa: SIM115
        file.write(codecs.BOM_UTF8)
        if self.layout.heads[side]:
            file.write((self.head or b"") + LINE_END)
        return file

    def piece(self, directory: Path, number: int, size: int) -> Rows:
        """Return the rows of one piece. Errors name the lines of the whole text."""
        piece = copy(self)
        files = range(len(self.origins))
        piece.origins = tuple(str(_piece_file(directory, number, side)) for side in files)
        piece._held = [None for _ in files]
        piece.count, piece.offset = None, number * size
        if number:
            piece.head = None
        return piece

    def counted(self) -> int:
        """Return the number of rows, counting them if needed."""
        if self.count is None:
            for _ in self.blocks(1 << 14):
                pass
        assert self.count is not None
        return self.count

    def chosen(self, rows: np.ndarray) -> Iterator[Block]:
        """Yield the chosen ``rows (m,)``, ascending, as blocks of one row."""
        first = 0
        for block in self.blocks(1 << 11):
            low, high = np.searchsorted(rows, (first, first + len(block)))
            for row in (rows[low:high] - first).tolist():
                yield Block(block.first + row, [block.raw[row]])
            first += len(block)

    def first(self, size: int) -> Block:
        """Return the first ``size`` rows, or all if there are fewer. A later iteration reads them
        again.
        """
        files, heads = self._files(), self.layout.heads
        taken = [list(islice(file, head + size)) for file, head in zip(files, heads, strict=True)]
        if self._once:
            self._started = chain(taken[0], files[0])
        bodies = [records[head:] for records, head in zip(taken, heads, strict=True)]
        return Block(1 + heads[0], list(zip(*self._parts(bodies), strict=False)))

    def _parts(self, files: Sequence[Sequence[Any]]) -> list[Sequence[bytes]]:
        """Return the lines of each file, or the columns of its records if they are not lines."""
        parts: list[Sequence[bytes]] = []
        for records, format in zip(files, self.layout.formats, strict=True):
            parts += [records] if FORMATS[format].of_lines else zip(*records, strict=True)
        return parts

    def _files(self) -> list[Iterator[Any]]:
        if self._started is not None:
            started, self._started = self._started, None
            return [started]
        layout = self.layout
        parts = zip(self.origins, layout.formats, layout.columns, self._held, strict=True)
        return [
            FORMATS[format].records(RawText(origin, held, layout.on_error), columns)
            for origin, format, columns, held in parts
        ]


def spread_rows(count: int, size: int) -> np.ndarray:
    """Return at most ``size`` of ``count`` rows, evenly spaced, ``(m,) int64``; 0 for all."""
    if not 0 < size < count:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, size).astype(np.int64))


def _piece_file(directory: Path, number: int, side: int) -> Path:
    return directory / f"{number:05}.{side}"
