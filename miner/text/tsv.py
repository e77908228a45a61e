"""Tab-separated columns: neither quotes nor escapes; columns by number or by name."""

from __future__ import annotations

from collections.abc import Sequence

from miner.errors import CorpusError
from miner.text.output import one_line
from miner.text.text_format import Column, Parse, TextFormat, is_blank


class Tsv(TextFormat):
    """Lines of cells between tabs; a blank line has no columns, and all its texts are ""."""

    name = "tsv"
    suffixes = (".tsv",)
    sides = (1, 2)
    text = 1
    has_header = rewritable = True

    def parser(self, name: str, columns: Sequence[Column], header: Sequence[str] | None) -> Parse:
        places = [
            None if column.key is None else _place(name, column.key, header) for column in columns
        ]
        blank = ("",) * len(columns)
        wanted = 1 + max((place for place in places if place is not None), default=0)

        def parse(line: int, text: str) -> tuple[str, ...]:
            if is_blank(text):
                return blank
            cells = text.split("\t")
            try:
                return tuple(["" if place is None else cells[place] for place in places])
            except IndexError:
                raise CorpusError(
                    f"{name}, line {line}: column {wanted} is asked for, {len(cells)} "
                    "found; mend the line or choose another column"
                ) from None

        return parse

    def with_texts(
        self,
        line: str,
        columns: Sequence[Column],
        texts: Sequence[str],
        name: str,
        header: Sequence[str] | None,
    ) -> str:
        if is_blank(line):
            return line
        cells = line.split("\t")
        for column, text in zip(columns, texts, strict=True):
            place = _place(name, column.key, header)
            if cells[place] != text:
                cells[place] = one_line(text)
        return "\t".join(cells)


def _place(name: str, key: int | str | None, header: Sequence[str] | None) -> int:
    """Return the position of a column, from 0; a number may come as text, as from a command line.

    Raises CorpusError, with the file's ``name``, for a column that there cannot be.
    """
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
