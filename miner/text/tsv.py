"""Tab-separated columns: neither quotes nor escapes; columns by number or by name."""

from __future__ import annotations

from collections.abc import Sequence

from miner.errors import CorpusError
from miner.text.columns import Column, Parse, is_blank


def parser(name: str, columns: Sequence[Column], header: Sequence[str] | None) -> Parse:
    """Return a parser of lines to the texts of ``columns``, all "" for a blank line.

    ``header`` are the names of the file's columns, if it has any. Raises CorpusError for a column
    that the file cannot have.
    """
    places = [None if column.key is None else place(name, column.key, header) for column in columns]
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


def place(name: str, key: int | str, header: Sequence[str] | None) -> int:
    """Return the position of a column, from 0; a number may come as text, as from a command line.

    Raises CorpusError, with the file's ``name``, for a column that there cannot be.
    """
    if isinstance(key, str) and header and key in header:
        return header.index(key)
    if isinstance(key, int) or key.isdecimal():
        if int(key) < 1:
            raise CorpusError(f"{name}: there is no column {key}; columns count from 1")
        return int(key) - 1
    if header is None:
        raise CorpusError(
            f"{name}: column {key!r} is a name and nothing names the columns; "
            "pass --header if the first line does, or give a number"
        )
    raise CorpusError(f"{name}: no column {key!r}; there are: {', '.join(header)}")
