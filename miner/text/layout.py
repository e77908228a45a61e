"""`Layout`: parsing of a bitext's raw rows to texts, and rows with replaced texts."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from miner.errors import CorpusError, UnreadableError
from miner.option_values import SIDES
from miner.text.formats import FORMATS
from miner.text.jsonl import finite, named_line
from miner.text.lines import undecodable
from miner.text.text_format import Cells, Columns, Parse, unused

# Escape of an undecodable byte of TMX, in the JSON line that replaces the unit.
_BAD_UNIT = b"\\udcff"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Status of a row.
READ, UNREADABLE, REPLACED = 0, 1, 2

# Raw record of one row: the line in each file, or the columns of a Parquet file.
Raw = tuple[bytes, ...]


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows; ``first`` is the line number, from 1, of the first of ``raw``."""

    first: int
    raw: list[Raw]

    def __len__(self) -> int:
        return len(self.raw)


@dataclass(frozen=True, eq=False)
class RowTexts:
    """Texts of n rows, and the status of each, ``state (n,) uint8``: READ, UNREADABLE or REPLACED.

    Under on_error="skip", rows that are not UTF-8 or lack a column are unreadable, and their texts
    empty.
    """

    source: list[str]
    target: list[str]
    more: list[tuple[str, ...]]
    state: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Positions of the texts in the raw rows of a bitext.

    names: names of the file or the two files, for messages.
    formats: format of each file.
    columns: requested columns of each file; of a single file source, target and further ones.
    heads: number of lines before the first row of each file.
    header: column names of a TSV.
    carry: names of the further cells that `named` rows keep; empty for all.
    """

    names: tuple[str, ...]
    formats: tuple[str, ...]
    columns: tuple[Columns, ...]
    heads: tuple[int, ...]
    on_error: str
    header: tuple[str, ...] = ()
    carry: tuple[str, ...] = ()

    def parsers(self) -> list[Parse]:
        parts = zip(self.names, self.formats, self.columns, strict=True)
        return [FORMATS[format].parser(name, some) for name, format, some in parts]

    def parse(
        self, first: int, cells: Cells, *, broken: bool = False
    ) -> tuple[list[Sequence[str]], np.ndarray]:
        """Parse raw rows: return the texts of each column, and the status of each row ``(n,)
        uint8``.

        ``cells`` are the parts of at least one raw row, starting at line ``first``. Raises
        CorpusError for a row that cannot be parsed; with ``broken`` it is marked unreadable
        instead.
        """
        parsers, width = self.parsers(), sum(map(len, self.columns))
        state = np.zeros(len(cells[0]), dtype=np.uint8)
        with suppress(CorpusError, UnicodeError):
            return self._columns(first, cells, parsers), state
        rows: list[tuple[str, ...]] = []
        for number, raw in enumerate(zip(*cells, strict=True)):
            try:
                fields, replaced = self._row(first + number, raw, parsers)
            except CorpusError:
                if not broken:
                    raise
                fields, replaced = None, False
            state[number] = UNREADABLE if fields is None else REPLACED * replaced
            rows.append(("",) * width if fields is None else fields)
        return list(zip(*rows, strict=True)), state

    def texts(self, block: Block) -> RowTexts:
        """Parse a block. Raises UnreadableError for an unreadable row, unless these are skipped.

        Under on_error="replace" only a row without the columns is unreadable.
        """
        if not block.raw:
            return RowTexts([], [], [], np.zeros(0, dtype=np.uint8))
        try:
            cells = list(zip(*block.raw, strict=True))
            columns, state = self.parse(block.first, cells, broken=self.on_error == "skip")
        except UnreadableError:
            raise
        except CorpusError as error:
            raise UnreadableError(str(error), "skip") from None
        source, target, *others = map(list, columns)
        more: list[tuple[str, ...]] = [()] * len(block)
        if others:
            more = list(zip(*others, strict=True))
        return RowTexts(source, target, more, state)

    def _columns(self, first: int, cells: Cells, parsers: Sequence[Parse]) -> list[Sequence[str]]:
        """Parse rows without a fault. Raises CorpusError or UnicodeError for any other."""
        out: list[Sequence[str]] = []
        for file, parse in enumerate(parsers):
            file_cells = cells[file : file + 1] if len(parsers) == 2 else cells
            texts = FORMATS[self.formats[file]].columns(
                file_cells, first + self._ahead(file), parse
            )
            out += texts[: len(self.columns[file])]
        return out

    def _row(
        self, line: int, raw: Raw, parsers: Sequence[Parse]
    ) -> tuple[tuple[str, ...] | None, bool]:
        """Return the texts of a row (None: undecodable), and whether bytes were replaced."""
        fields: tuple[str, ...] = ()
        any_replaced = False
        for file, parse in enumerate(parsers):
            file_parts = raw[file : file + 1] if len(parsers) == 2 else raw
            line_number = line + self._ahead(file)
            try:
                texts = parse(line_number, *[part.decode() for part in file_parts])
                "".join(texts).encode()  # an escape in JSON may encode a lone surrogate
            except UnicodeError as error:
                if self.on_error == "fail":
                    raise UnreadableError(
                        undecodable(self.names[file], line_number, error)
                    ) from None
                if self.on_error == "skip":
                    return None, False
                texts = parse(
                    line_number, *[part.decode("utf-8", "replace") for part in file_parts]
                )
                texts = tuple(map(replaced, texts))
                any_replaced = True
            fields += texts[: len(self.columns[file])]
        return fields, any_replaced

    def _ahead(self, file: int) -> int:
        """Return the offset of a row's line number in a file from that in the first file."""
        return self.heads[file] - self.heads[0]

    def with_texts(self, raw: Raw, source: str, target: str) -> Raw:
        """Replace the texts in the row's two columns; return valid UTF-8, otherwise unchanged."""
        sides = [(source,), (target,)] if len(raw) == 2 else [(source, target)]
        out = []
        for line, format, columns, texts in zip(
            raw, self.formats, self.columns, sides, strict=True
        ):
            text = line.decode("utf-8", "replace")
            new = FORMATS[format].with_texts(text, columns[: len(texts)], texts)
            out.append(new.encode())
        return tuple(out)

    def line(self, raw: Raw) -> bytes:
        """Return the row as one line; two files are joined by a tab, without other tabs."""
        return raw[0] if len(raw) == 1 else b"\t".join([side.replace(b"\t", b" ") for side in raw])

    def with_cells(self, raw: Raw, cells: Mapping[str, str | float]) -> bytes:
        """Append cells to the row and return it as one line; for JSON, append keys."""
        format = self.formats[0] if len(raw) == 1 else "tsv"
        if self._is_named and _BAD_UNIT in raw[0]:
            raw = self.readable(raw)
        return FORMATS[format].with_cells(self.line(raw), cells)

    def readable(self, raw: Raw) -> Raw:
        """Replace bytes that are not UTF-8, and escapes of no character, by U+FFFD."""
        lines = [line.decode("utf-8", "replace") for line in raw]
        return tuple(
            FORMATS[format].readable(line).encode()
            for line, format in zip(lines, self.formats, strict=True)
        )

    def named(self, raw: Raw) -> dict[str, Any]:
        """Return the cells of a row by name: source, target, and other cells of a single file."""
        lines = [line.decode("utf-8", "replace") for line in raw]
        if len(lines) == 2:
            return dict(zip(SIDES, lines, strict=True))
        cells = FORMATS[self.formats[0]].cells(lines[0], self.columns[0], self.header)
        if not self.carry:
            return cells
        return {name: cells.get(name, "") for name in (*SIDES, *self.carry)}

    def named_line(self, raw: Raw, more: Mapping[str, str | float]) -> bytes:
        """Return a row by name as JSON, with ``more`` cells at its end.

        A key that is there already gets a number. An infinite number or NaN becomes null.
        """
        if self._is_named and (line := named_line(raw[0].decode("utf-8", "replace"), more)):
            return line.encode()
        cells = self.named(raw)
        cells |= {unused(key, cells): finite(cell) for key, cell in more.items()}
        return replaced(FORMATS["jsonl"].line(cells)).encode()

    @cached_property
    def _is_named(self) -> bool:
        """Return True if lines can have keys with names, as those converted from TMX."""
        keys = [column.key for some in self.columns for column in some]
        return self.formats == ("jsonl",) and keys[:2] == [*SIDES] and not self.carry


def column_names(name: str, format: str, line: bytes, on_error: str) -> tuple[str, ...]:
    """Return the names in the first line of a file with a header."""
    try:
        text = line.decode("utf-8", "strict" if on_error == "fail" else "replace")
    except UnicodeDecodeError as error:
        raise UnreadableError(undecodable(name, 1, error)) from None
    return FORMATS[format].header(text)


def replaced(text: str) -> str:
    """Replace lone surrogates, which JSON escapes may encode, by U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)
