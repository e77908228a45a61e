"""Columns that are asked for of a file, and the types that readers of all formats share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Column(NamedTuple):
    """A column to read, by number from 1 or by name; without a key its text is "".

    An id may be a whole number, which is read as its text. An annotation may be any number, and
    true and false, which are read as 1 and 0. A column that is not required may be missing.
    """

    key: int | str | None
    required: bool = True
    is_id: bool = False
    is_annotation: bool = False


# Takes the number of a line and the text of its raw record (of each column in Parquet); returns
# the text of each wanted column. Raises CorpusError for a line that is broken.
Parse = Callable[..., tuple[str, ...]]
# Undecoded bytes of one record: of a text format its line, of Parquet each wanted column.
RawRecord = tuple[bytes, ...]


def is_blank(text: str) -> bool:
    """Return whether there is nothing but white space in ``text``."""
    return not text or text.isspace()
