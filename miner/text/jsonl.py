"""JSON Lines: texts by key, and lines with changed texts or added keys."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring as _quoted
from typing import Any

from miner.errors import CorpusError
from miner.expressions import expression
from miner.json_files import parsed
from miner.option_values import SIDES
from miner.text.output import StrPath, open_output
from miner.text.text_format import (
    Cells,
    Column,
    Columns,
    Languages,
    NamedRows,
    Parse,
    TextFormat,
    is_blank,
    unused,
)

_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
# Line ends for other readers, which JSON need not escape.
_LINE_END = expression("[\x85\u2028\u2029]")
# An object with text values only, whose first keys are both sides, as `Jsonl.line` writes it.
_PLAIN = r"[^\"\\\x00-\x1f\x85\u2028\u2029]*"
_TEXT = rf'"{_PLAIN}(?:\\["\\bfnrt]{_PLAIN})*"'
_NAMED = expression(
    rf'{{"source": {_TEXT}, "target": {_TEXT}(?:, (?!"source"|"target"){_TEXT}: {_TEXT})*}}'
)
# Escapes of JSON; the group is half of a surrogate pair without its other half.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


class Jsonl(TextFormat):
    """Format of lines that are JSON objects; a blank line has empty texts."""

    name = "jsonl"
    suffixes = (".jsonl", ".ndjson")
    sides = ("source", "target")
    text, id = "text", "id"
    rewritable = True

    def parser(self, name: str, columns: Columns) -> Parse:
        blank = ("",) * len(columns)
        keys = [None if column.key is None else str(column.key) for column in columns]

        def parse(line: int, text: str) -> tuple[str, ...]:
            if not text.startswith("{") and is_blank(text):
                return blank
            where = f"{name}, line {line}"
            try:
                record = parsed(text)
            except ValueError as error:
                raise CorpusError(
                    f"{where}: broken JSON ({str(error).partition(':')[0]} "
                    f"at character {getattr(error, 'pos', 0)}); mend the line"
                ) from None
            if not isinstance(record, dict):
                raise CorpusError(f"{where}: not a JSON object; each line must be one")
            values = [record.get(key) for key in keys]
            texts = tuple([cell for cell in values if isinstance(cell, str)])
            if len(texts) == len(columns):
                return texts
            return tuple([_text(where, record, column) for column in columns])

        return parse

    def columns(self, cells: Cells, first: int, parse: Parse) -> list[Sequence[str]]:
        texts = super().columns(cells, first, parse)
        for column in texts:
            "".join(column).encode()  # raises for a lone surrogate
        return texts

    def with_texts(self, line: str, columns: Columns, texts: Sequence[str]) -> str:
        """Replace the ``texts`` of a line under their keys; of repeated keys the last one."""
        if is_blank(line):
            return line
        spans = _spans(line)
        changes = []
        for column, new in zip(columns, texts, strict=True):
            if str(column.key) not in spans:
                raise CorpusError(f"the nested key {column.key!r} cannot be changed in its line")
            start, end = spans[str(column.key)]
            if (parsed(line[start:end]) or "") != new:
                changes.append((start, end, _dumped(new)))
        for start, end, new in sorted(changes, reverse=True):
            line = line[:start] + new + line[end:]
        return line

    def with_cells(self, line: bytes, cells: Mapping[str, str | float]) -> bytes:
        """Append keys to a line; the rest is unchanged.

        A key that is there already gets a number: ``quality_2``. A line that is no JSON object
        becomes the text of a key "line". An infinite number or NaN becomes null.
        """
        more = {key: finite(cell) for key, cell in cells.items()}
        text = line.decode("utf-8", "replace")
        try:
            record = parsed(text)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            return _dumped({"line": text, **more}).encode()
        more = {unused(key, record): cell for key, cell in more.items()}
        end = _dumped(more).encode()[1:]
        return line.rstrip()[:-1] + (b", " if record else b"") + end

    def readable(self, line: str) -> str:
        return _ESCAPE.sub(lambda one: "\ufffd" if one[1] else one[0], line)

    def line(self, cells: Mapping[str, Any]) -> str:
        try:  # takes a fifth of the encoder's time where most cells are texts, as in TMX
            pairs = [
                f"{_quoted(key)}: {_quoted(cell) if isinstance(cell, str) else _dumped(cell)}"
                for key, cell in cells.items()
            ]
        except TypeError:
            return _dumped(cells)
        return _unbroken(f"{{{', '.join(pairs)}}}")

    def fields(self, line: str, header: Sequence[str]) -> dict[str, Any]:
        try:
            return dict(parsed(line))
        except (ValueError, TypeError):
            return {"line": line}

    def cells(self, line: str, columns: Columns, header: Sequence[str]) -> dict[str, Any]:
        record = self.fields(line, header)
        texts = {
            side: record.pop(str(column.key))
            if str(column.key) in record
            else _value(record, column.key) or ""
            for side, column in zip(SIDES, columns, strict=False)
        }
        return texts | {unused(key, texts): cell for key, cell in record.items()}

    def write(
        self, rows: NamedRows, path: StrPath, languages: Languages = (None, None), **how: Any
    ) -> None:
        with open_output(path, **how) as file:
            file.writelines(self.line(row) + "\n" for row in rows)


def named_line(line: str, more: Mapping[str, str | float]) -> str | None:
    """Return a line with source, target and ``more`` keys; None if the line must be parsed."""
    if not _NAMED.fullmatch(line) or any(f"{_quoted(key)}: " in line for key in more):
        return None
    if not more:
        return line
    return f"{line[:-1]}, {_dumped({key: finite(cell) for key, cell in more.items()})[1:]}"


def finite(cell: Any) -> Any:
    """Convert a cell for JSON: null for infinity and NaN."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _dumped(value: Any) -> str:
    return _unbroken(_ENCODER.encode(value))


def _unbroken(text: str) -> str:
    """Escape characters in JSON that other readers treat as line ends."""
    return _LINE_END.sub(lambda end: f"\\u{ord(end[0]):04x}", text)


def _text(where: str, record: dict[str, Any], column: Column) -> str:
    key, required, is_id, is_annotation = column
    value = _value(record, key)
    if value is None and (key is None or not required or _has(record, str(key))):
        return ""
    if is_annotation and isinstance(value, int | float):
        return str(int(value) if isinstance(value, bool) else value)
    if is_id and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        problem = f"is {type(value).__name__}, not text" if key in record else "is missing"
        nested = (
            [f"{outer}.{inner}" for inner in cell] if isinstance(cell, dict) else [outer]
            for outer, cell in record.items()
        )
        there = ", ".join(name for names in nested for name in names)
        raise CorpusError(f"{where}: key {key!r} {problem}; there are: {there}")
    return value


def _value(record: dict[str, Any], key: Any) -> Any:
    """Return the value of a key; `translation.de` may be a key of the object `translation`."""
    outer, dot, inner = str(key).partition(".")
    if dot and str(key) not in record and isinstance(record.get(outer), dict):
        return record[outer].get(inner)
    return record.get(str(key))


def _has(record: dict[str, Any], key: str) -> bool:
    """Return True if a record has a key, though its value is null."""
    outer, _, inner = key.partition(".")
    return key in record or (isinstance(record.get(outer), dict) and inner in record[outer])


def _spans(text: str) -> dict[str, tuple[int, int]]:
    """Return start and end of each key's value in a valid line."""
    spans = {}
    at = _behind(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _behind(text, _behind(text, at) + 1)  # after the colon
        _, end = _DECODER.raw_decode(text, start)
        spans[key] = start, end
        at = _behind(text, end)
        if text[at] == ",":
            at = _behind(text, at + 1)
    return spans


def _behind(text: str, at: int) -> int:
    """Return the position of the first character from ``at`` that is no white space of JSON."""
    while text[at] in " \t\n\r":
        at += 1
    return at
