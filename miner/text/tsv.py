"""Tab-separated columns, without quotes or escapes, by number or by name."""

from collections.abc import Sequence
from typing import Any

from miner.errors import CorpusError
from miner.option_values import SIDES
from miner.text.output import one_line
from miner.text.text_format import Columns, Parse, TextFormat, is_blank, unused

_PARACRAWL = ("url1", "url2", "source", "target")


class Tsv(TextFormat):
    """Format of lines with cells between tabs; a blank line has empty texts."""

    name = "tsv"
    suffixes: tuple[str, ...] = (".tsv",)
    sides = (1, 2)
    text = 1
    has_header = rewritable = True

    def found(self, name: str, columns: Columns, header: Sequence[str] | None) -> Columns:
        """Return the positions of the columns, from 0."""
        return [
            column if column.key is None else column._replace(key=_place(name, column.key, header))
            for column in columns
        ]

    def parser(self, name: str, columns: Columns) -> Parse:
        places = [None if column.key is None else int(column.key) for column in columns]
        blank = ("",) * len(columns)
        wanted = 1 + max((position for position in places if position is not None), default=0)

        def parse(line: int, text: str) -> tuple[str, ...]:
            if is_blank(text):
                return blank
            cells = text.split("\t")
            try:
                return tuple(["" if position is None else cells[position] for position in places])
            except IndexError:
                raise CorpusError(
                    f"{name}, line {line}: column {wanted} is asked for, {len(cells)} "
                    "found; mend the line or choose another column"
                ) from None

        return parse

    def with_texts(self, line: str, columns: Columns, texts: Sequence[str]) -> str:
        if is_blank(line):
            return line
        cells = line.split("\t")
        for column, text in zip(columns, texts, strict=True):
            position = int(column.key or 0)
            if cells[position] != text:
                cells[position] = one_line(text)
        return "\t".join(cells)

    def fields(self, line: str, header: Sequence[str]) -> dict[str, Any]:
        cells = line.split("\t")
        return dict(zip(_names(len(cells), header), cells, strict=False))

    def cells(self, line: str, columns: Columns, header: Sequence[str]) -> dict[str, Any]:
        cells = line.split("\t")
        names = _names(len(cells), header)
        places = [int(column.key or 0) for column in columns[:2]]
        texts = {
            side: cells[position] if position < len(cells) else ""
            for side, position in zip(SIDES, places, strict=True)
        }
        more = {names[i]: cell for i, cell in enumerate(cells) if i not in places}
        return texts | {unused(name, texts): cell for name, cell in more.items()}


class ParaCrawl(Tsv):
    """Format of ParaCrawl and HPLT: two addresses, two texts, and further columns."""

    name = "paracrawl"
    suffixes = ()
    sides = (3, 4)
    text = 3

    def fields(self, line: str, header: Sequence[str]) -> dict[str, Any]:
        return super().fields(line, header or _PARACRAWL)

    def cells(self, line: str, columns: Columns, header: Sequence[str]) -> dict[str, Any]:
        return super().cells(line, columns, header or _PARACRAWL)


def _names(count: int, header: Sequence[str]) -> list[str]:
    """Return the names of ``count`` columns: from the header, else ``column3`` and so on."""
    return [*header, *(f"column{number + 1}" for number in range(len(header), count))]


def _place(name: str, key: int | str, header: Sequence[str] | None) -> int:
    """Return the position of a column, from 0; a number may be a string of the command line."""
    if isinstance(key, str) and header and key in header:
        return header.index(key)
    if isinstance(key, int) or str(key).isdecimal():
        number = int(str(key))
        if number < 1:
            raise CorpusError(f"{name}: there is no column {key}; columns count from 1")
        return number - 1
    if header is None:
        raise CorpusError(
            f"{name}: column {key!r} is a name and nothing names the columns; "
            "pass --header if the first line does, or give a number"
        )
    raise CorpusError(f"{name}: no column {key!r}; there are: {', '.join(header)}")
