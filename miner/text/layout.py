"""`Layout`: parse blocks of a bitext's raw rows into texts, and write rows with other texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError, UnreadableError
from miner.text import jsonl, tsv
from miner.text.columns import Column, is_blank
from miner.text.output import one_line
from miner.text.records import decode, parser

# Status of a row.
READ, UNREADABLE, REPLACED = 0, 1, 2

# Raw record of one row: the line in each file, or the columns of a Parquet file.
Raw = tuple[bytes, ...]
# Takes the line of a row and its raw record; returns source, target and further columns (None:
# undecodable), and whether bytes were replaced. Raises CorpusError for a line that is broken.
RowParser = Callable[[int, Raw], tuple[tuple[str, ...] | None, bool]]


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
        """Return the row with other texts in its two columns; the rest is unchanged."""
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

        The row itself is unchanged, but two files become one row: source, target, and the
        cells; tabs in the texts become spaces. For JSON see :func:`miner.text.jsonl.with_keys`.
        """
        if self.formats == ("jsonl",):
            return jsonl.with_keys(raw[0], cells)
        sides = [line.replace(b"\t", b" ") for line in raw] if len(raw) == 2 else list(raw)
        texts = (f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells.values())
        return b"\t".join([*sides, *[one_line(str(text)).encode() for text in texts]])
