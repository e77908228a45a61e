"""`Rows`: the raw rows of a bitext, aligned and counted, to be parsed or written back untouched.

Reading is apart from parsing, because reading is quick and parsing is work for many processes: a
`Rows` hands out blocks of raw records, and its `layout`, which can be sent to another process,
turns them into texts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from miner.errors import CorpusError, UnreadableError
from miner.text import jsonl, tsv
from miner.text.bitext_format import USUAL_FORMAT, BitextFormat, file_format
from miner.text.columns import Column, RawRecord, is_blank
from miner.text.input_files import InputFiles
from miner.text.lines import display_name, hold, is_read_once
from miner.text.output import StrPath, one_line
from miner.text.records import column_names, decode, parser, raw_records, refuse_columns

# Status of a row.
READ, UNREADABLE, REPLACED = 0, 1, 2

# Raw record of one row: the line in each file, or the columns of a Parquet file.
Raw = tuple[bytes, ...]
# Takes the line of a row and its raw record; returns source, target and further columns (None:
# undecodable), and whether bytes were replaced. Raises CorpusError for a line that is broken.
RowParser = Callable[[int, Raw], tuple[tuple[str, ...] | None, bool]]

# Where the text is in each of two files, by format.
_ONE_SIDE: dict[str, int | str | None] = {
    "plain": None,
    "bucc": None,
    "tsv": 1,
    "jsonl": "text",
    "parquet": "text",
}


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows; ``first`` is the line, from 1, of the first of ``raw``."""

    first: int
    raw: list[Raw]

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of n rows: both sides, the further columns, and the status of each row.

    ``state (n,) uint8`` is READ, UNREADABLE or REPLACED. Rows are unreadable, with empty texts,
    under on_error="skip": for bytes that are not UTF-8, or without the columns asked for.
    """

    source: list[str]
    target: list[str]
    more: list[tuple[str, ...]]
    state: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Where the texts of a row are.

    names: of the one file or the two, for messages. formats: of each. columns: of each, those
    asked for: of one file source, target and further ones. header: names of a tsv's columns.
    heads: lines before the first row of each file.
    """

    names: tuple[str, ...]
    formats: tuple[str, ...]
    columns: tuple[tuple[Column, ...], ...]
    header: tuple[str, ...] | None
    heads: tuple[int, ...]
    on_error: str

    def parser(self) -> RowParser:
        """Return the function that parses one row. Raises CorpusError for an impossible column."""
        parsers = [
            parser(name, format, columns, self.header)
            for name, format, columns in zip(self.names, self.formats, self.columns, strict=True)
        ]
        if len(parsers) == 1:

            def parse_one(line: int, raw: Raw) -> tuple[tuple[str, ...] | None, bool]:
                return decode(self.names[0], self.formats[0], line, raw, parsers[0], self.on_error)

            return parse_one

        def parse_two(line: int, raw: Raw) -> tuple[tuple[str, ...] | None, bool]:
            fields: tuple[str, ...] = ()
            any_replaced = False
            for file, parse in enumerate(parsers):
                found, replaced = decode(
                    self.names[file],
                    self.formats[file],
                    line - self.heads[0] + self.heads[file],
                    raw[file : file + 1],
                    parse,
                    self.on_error,
                )
                if found is None:
                    return None, False
                fields += found[:1]  # behind the text there may be an id, which is not wanted
                any_replaced |= replaced
            return fields, any_replaced

        return parse_two

    def texts(self, block: Block) -> Texts:
        """Parse a block. Raises CorpusError for an unreadable row, unless such are skipped.

        Under on_error="replace" only a row without the columns is unreadable.
        """
        parse = self.parser()
        rows: list[tuple[str, ...]] = []
        state = np.zeros(len(block), dtype=np.uint8)
        blank = ("",) * max(2, len(self.columns[0]))
        for number, raw in enumerate(block.raw):
            try:
                fields, replaced = parse(block.first + number, raw)
            except CorpusError as error:
                if self.on_error != "skip":
                    if isinstance(error, UnreadableError):
                        raise
                    raise UnreadableError(str(error), "skip") from None
                fields, replaced = None, False
            state[number] = UNREADABLE if fields is None else REPLACED * replaced
            rows.append(blank if fields is None else fields)
        return Texts(
            [row[0] for row in rows], [row[1] for row in rows], [row[2:] for row in rows], state
        )

    def with_texts(self, raw: Raw, source: str, target: str) -> Raw:
        """Return the row with other texts in its two columns; the rest as it stands."""
        sides = (source, target)
        if len(raw) == 2:
            pairs = zip(raw, self.formats, self.columns, sides, strict=True)
            return tuple(
                self._with_cells(line, format, columns, (text,))
                for line, format, columns, text in pairs
            )
        return (self._with_cells(raw[0], self.formats[0], self.columns[0][:2], sides),)

    def _with_cells(
        self, line: bytes, format: str, columns: Sequence[Column], texts: Sequence[str]
    ) -> bytes:
        """Return the line with other texts, valid UTF-8; equal texts stay as they stand."""
        text = line.decode("utf-8", "replace")
        if format == "plain":
            return (text if texts[0] == text else one_line(texts[0])).encode()
        if is_blank(text):  # a blank line has no columns
            return text.encode()
        keys = [column.key for column in columns if column.key is not None]
        if format == "jsonl":
            new = {str(key): text for key, text in zip(keys, texts, strict=True)}
            return jsonl.with_texts(text, new)
        cells = text.split("\t")
        for key, cell in zip(keys, texts, strict=True):
            place = tsv.place(self.names[0], key, self.header)
            if cells[place] != cell:
                cells[place] = one_line(cell)
        return "\t".join(cells).encode()

    def with_cells(self, raw: Raw, cells: Mapping[str, str | float]) -> bytes:
        """Return the row as one line, with more cells at its end; of JSON, with more keys.

        The row itself stays as it stands, but two files become one row: source, target, and the
        cells; tabs in the texts become spaces. For JSON see :func:`miner.text.jsonl.with_keys`.
        """
        if self.formats == ("jsonl",):
            return jsonl.with_keys(raw[0], cells)
        sides = [line.replace(b"\t", b" ") for line in raw] if len(raw) == 2 else list(raw)
        texts = (f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells.values())
        return b"\t".join([*sides, *[one_line(str(text)).encode() for text in texts]])


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
        # The first line as it stands, to be written back.
        self.head: bytes | None = None
        # Rows in all, where it is known.
        self.count: int | None = None
        # Records of a stream that cannot be opened again.
        self._started: Iterator[RawRecord] | None = None
        if target is None:
            self._look_at_first()
        else:
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
                yield Block(1 + heads[0] + done, raw)
                done += len(raw)
        except ValueError:  # zip's, for files of which one has changed
            raw = [()]
        if raw or self.count not in (None, done):
            raise CorpusError(
                f"{' or '.join(self.layout.names)} changed while it was read: {self.count} lines "
                "were counted, and then more or fewer came; run again once it is complete"
            )
        self.count = done

    def counted(self) -> int:
        """Count the rows; they are read for it if the count is not known yet."""
        if self.count is None:
            for _ in self.blocks(1 << 14):
                pass
        assert self.count is not None
        return self.count

    def spread(self, size: int) -> Iterator[Block]:
        """Yield at most ``size`` rows, evenly spread, each as a block; 0 for all of them."""
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
        """Return whether there are no more rows than ``size``, without reading many more."""
        if self.count is None:
            lines = self._files()[0]
            return sum(1 for _ in islice(lines, size + 2)) <= size + self.layout.heads[0]
        return self.count <= size

    def _files(self) -> list[Iterator[RawRecord]]:
        if self._started is not None:
            started, self._started = self._started, None
            return [started]
        layout = self.layout
        parts = zip(self.origins, layout.formats, layout.columns, self._held, strict=True)
        return [raw_records(*part) for part in parts]


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
