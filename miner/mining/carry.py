"""Further columns of the mined sentences (ids, addresses, licences), read again from their
files.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from miner.errors import CorpusError
from miner.index.index import Index
from miner.option_values import SIDES
from miner.scoring.pairs import Pairs
from miner.text.corpus import Reading
from miner.text.formats import ALL, FORMATS, BitextFormat, file_format
from miner.text.in_memory import GivenTexts, Name
from miner.text.lines import is_read_once
from miner.text.remote import local_copy
from miner.text.rows import Rows
from miner.text.text_format import Column, RawText

BLOCK = 8192


def check_carry(names: Sequence[str], files: Sequence[Name]) -> None:
    """Raise CorpusError for columns of a source that can be read only once."""
    once = [file for file in files if isinstance(file, GivenTexts) or is_read_once(str(file))]
    if once and names and set(names) != {"id"}:
        raise CorpusError(
            f"{once[0]}: can be read only once, and columns to carry are read after the search; "
            "give a file"
        )


def carried(pairs: Pairs, names: Sequence[str], reading: Reading) -> Pairs:
    """Add the columns ``names`` of both sides, or `ALL` except the texts, as `Pairs.more`.

    ``url`` of the sources becomes ``url1``, of the targets ``url2``; ``id`` becomes ``source_id``
    and ``target_id``. Cells are text. Raises CorpusError for a column that neither side has.
    """
    columns: dict[str, np.ndarray] = {}
    known: list[str] = []
    for number, side in enumerate(SIDES, 1):
        index, rows = getattr(pairs, side), getattr(pairs, f"{side}_row")
        if "id" in names or ALL in names:
            columns[f"{side}_id"] = np.array(index.ids(rows), object)
        cells = _cells(index, rows, reading) if set(names) != {"id"} else []
        side_columns = dict.fromkeys(key for record in cells for key in record if key != "id")
        known += side_columns
        for name in side_columns:
            if name in names or ALL in names:
                texts = [_text(record.get(name)) for record in cells]
                columns[f"{name}{number}"] = np.array(texts, object)
    missing = [name for name in names if name not in (*known, "id", ALL)]
    if missing and len(pairs):
        there = ", ".join(dict.fromkeys(known)) or "none"
        raise CorpusError(f"no column {missing[0]!r} to carry; there are: {there}")
    return replace(pairs, more=columns)


def _cells(index: Index, rows: np.ndarray, reading: Reading) -> list[Mapping[str, Any]]:
    """Return the cells of each row's record by name, without the text."""
    lines, files = np.asarray(index.store.line)[rows], np.asarray(index.store.file)[rows]
    out: list[Mapping[str, Any]] = [{}] * len(rows)
    for number, source in enumerate(index.sources):
        positions = np.flatnonzero(files == number)
        if len(positions):
            cells = dict(_records(source.path, np.unique(lines[positions]), reading))
            for position in positions.tolist():
                out[position] = cells[int(lines[position])]
    return out


def _records(
    origin: str, lines: np.ndarray, reading: Reading
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the requested ``lines``, which ascend, with the cells of each."""
    kind = FORMATS[file_format(origin, reading.get("format"))]
    key = reading.get("column") or kind.text
    with local_copy(origin) as path:
        if not kind.of_lines:
            wanted = set(lines.tolist())
            for line, cells in enumerate(kind.rows(RawText(path), []), 1):
                if line in wanted:
                    yield line, _without(cells, key)
            return
        bitext_format = BitextFormat(header=reading.get("header", False), format=kind.name)
        rows = Rows(path, None, bitext_format, columns=[Column(key)])
        for first, (raw,) in rows.cells(BLOCK):
            start, end = np.searchsorted(lines, [first, first + len(raw)])
            for line in lines[start:end].tolist():
                cells = kind.fields(
                    raw[line - first].decode("utf-8", "replace"), rows.layout.header
                )
                yield line, _without(cells, key)


def _without(cells: Mapping[str, Any], key: int | str | None) -> dict[str, Any]:
    """Drop the text, by its name or by its number from 1."""
    number = int(str(key)) if str(key).isdecimal() else 0
    return {
        name: cell
        for position, (name, cell) in enumerate(cells.items(), 1)
        if name != key and position != number
    }


def _text(cell: Any) -> str:
    if cell is None or isinstance(cell, str):
        return cell or ""
    return json.dumps(cell, ensure_ascii=False, default=str)
