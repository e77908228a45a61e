"""`TextFormat`: base of the formats of text, one per file, and the columns they read."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from miner.errors import CorpusError
from miner.option_values import Languages
from miner.progress import silent
from miner.text.invisible import visible
from miner.text.lines import display_name, read_lines
from miner.text.output import StrPath, one_line, open_output


class Column(NamedTuple):
    """Column to read, by number from 1 or by name; without a key its text is "".

    An id may be an integer, which is read as text. An annotation may be any number or a Boolean,
    read as 1 or 0. A column that is not required may be missing.
    """

    key: int | str | None
    required: bool = True
    is_id: bool = False
    is_annotation: bool = False


Columns = Sequence[Column]
# Rows of a bitext by name: `source`, `target` and any further cells.
NamedRows = Iterable[Mapping[str, Any]]
# Parts of raw records: the lines of a file, or the cells of each column of Parquet.
Cells = Sequence[Sequence[bytes]]
# Parser of a raw record: takes its line number and text (of each column in Parquet), returns the
# text of each requested column. Raises CorpusError for a broken line.
Parse = Callable[..., tuple[str, ...]]
Note = Callable[[str], None]


class RawText(NamedTuple):
    """File whose records are read; ``held``: its content, if :func:`miner.text.lines.hold` read it.

    ``on_error`` applies to records that are not lines; a faulty one is yielded as bytes that are
    not UTF-8. ``note`` is called with a line about records that differ from the file.
    """

    origin: str
    held: bytes | None = None
    on_error: str = "fail"
    note: Note = silent


class TextFormat:
    """A format of text files: a record a line, unless a subclass says otherwise.

    suffixes: file names that promise this format; the first is the usual one.
    sides: columns of both texts of a bitext, unless others are asked for; None if one file has no
        columns. text, id: likewise the columns of a corpus; an id need not be there.
    has_header: the first line may name the columns.
    of_lines: a record is a line, and not a tuple of its wanted columns.
    written: files of this format can be written.
    rewritable: a line can be written back with other texts (`with_texts`).
    """

    name: str
    suffixes: tuple[str, ...] = ()
    sides: tuple[int | str, int | str] | None = None
    text: int | str | None = None
    id: str | None = None
    has_header = False
    of_lines = True
    written = True
    rewritable = False

    def records(self, text: RawText, columns: Columns) -> Iterator[Any]:
        """Yield the undecoded bytes of each record."""
        return read_lines(text.origin, text.held)

    def found(self, name: str, columns: Columns, header: Sequence[str] | None) -> Columns:
        """Return the columns as the keys that `parser` and `with_texts` take.

        ``header`` are the column names, if the file has any. Raises CorpusError for a column that
        the file ``name`` cannot have.
        """
        return columns

    def parser(self, name: str, columns: Columns) -> Parse:
        """Return the function from line number and line to the texts of ``columns``."""
        raise NotImplementedError

    def header(self, line: str) -> tuple[str, ...]:
        """Return the column names in a header line."""
        return tuple(line.split("\t"))

    def columns(self, cells: Cells, first: int, parse: Parse) -> list[Sequence[str]]:
        """Parse many records from line ``first``, faster than one by one; return the columns.

        Raises CorpusError or UnicodeError if a record cannot be parsed.
        """
        lines = b"\n".join(cells[0]).decode().split("\n")
        return list(zip(*map(parse, count(first), lines), strict=True))

    def with_texts(self, line: str, columns: Columns, texts: Sequence[str]) -> str:
        """Return a line with other ``texts`` in its columns, otherwise unchanged."""
        raise NotImplementedError

    def with_cells(self, line: bytes, cells: Mapping[str, str | float]) -> bytes:
        """Append cells to a line, otherwise unchanged."""
        texts = (f"{cell:.6g}" if isinstance(cell, float) else cell for cell in cells.values())
        return b"\t".join([line, *[one_line(str(text)).encode() for text in texts]])

    def readable(self, line: str) -> str:
        """Replace escapes that stand for no character by U+FFFD."""
        return line

    def line(self, cells: Mapping[str, Any]) -> str:
        """Return a new line with these cells. Numbers have all their digits."""
        return "\t".join(map(_cell, cells.values()))

    def fields(self, line: str, header: Sequence[str]) -> dict[str, Any]:
        """Return the cells of a line by name; ``header`` are the names of columns."""
        return {}

    def cells(self, line: str, columns: Columns, header: Sequence[str]) -> dict[str, Any]:
        """Return the cells of a line of a bitext by name; ``header`` are the names of columns."""
        raise NotImplementedError

    def rows(self, text: RawText, columns: Columns) -> NamedRows:
        """Read a bitext whose records are not lines, with all cells by name."""
        raise NotImplementedError

    def write(
        self, rows: NamedRows, path: StrPath, languages: Languages = (None, None), **how: Any
    ) -> None:
        """Write rows to a new file; ``how`` goes to :func:`miner.text.output.open_output`."""
        with open_output(path, **how) as file:
            for row in even(rows):
                file.write(self.line(row) + "\n")


class Tables(TextFormat):
    """Format whose records are tuples of cells, which need no parsing."""

    of_lines = False

    def parser(self, name: str, columns: Columns) -> Parse:
        return lambda line, *texts: texts

    def columns(self, cells: Cells, first: int, parse: Parse) -> list[Sequence[str]]:
        return [[cell.decode() for cell in column] for column in cells]


class Units(Tables):
    """Format of bitexts whose records are neither lines nor ordered columns."""

    sides: tuple[str, str] = ("source", "target")

    def records(self, text: RawText, columns: Columns) -> Iterator[Any]:
        if any(column.key is None for column in columns[:2]):
            raise CorpusError(
                f"{display_name(text.origin)}: a {self.name} file is a bitext, not one side; make "
                "two files of it first, by 'miner filter'"
            )
        for unit in self.rows(text, columns):
            cells = [unit["source"], unit["target"]]
            cells += [unit.get(str(column.key), "") for column in columns[2:]]
            yield tuple(cell.encode("utf-8", "surrogateescape") for cell in cells)


def even(rows: NamedRows) -> Iterator[dict[str, Any]]:
    """Yield rows with the keys of the first row. Raises CorpusError for a row with other keys."""
    keys: dict[str, None] = {}
    for number, row in enumerate(rows, 1):
        keys = keys or dict.fromkeys(row)
        if more := [key for key in row if key not in keys]:
            raise CorpusError(
                f"row {number} has {more[0]!r}, which the first row has not; write .jsonl, or name "
                "the columns by --carry"
            )
        yield {key: row.get(key) for key in keys}


def _cell(cell: Any) -> str:
    if isinstance(cell, str):
        return one_line(cell)
    if cell is None:
        return ""
    return json.dumps(cell) if isinstance(cell, list | dict | bool) else repr(cell)


def is_blank(text: str) -> bool:
    """Return True for a text without visible characters."""
    return not text[:1].isalnum() and not visible(text).strip()


def unused(key: str, record: Mapping[str, Any]) -> str:
    """Return ``key``, with a number appended if the record has it already."""
    if key not in record:
        return key
    names = (f"{key}_{number}" for number in range(2, len(record) + 3))
    return next(name for name in names if name not in record)
