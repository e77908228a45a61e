"""Texts passed in memory instead of files: lists, iterators, columns of tables."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from miner.errors import CorpusError
from miner.option_values import SIDES
from miner.text.formats import FORMATS
from miner.text.patterns import matching
from miner.text.text_format import NamedRows

# Corpus: a file, a pattern of files, several files, or texts.
Corpus = str | Path | Iterable[Any]
# Bitext: a file, a pattern of files, or pairs; one side of it if a second argument is passed.
Given = str | Path | Iterable[Any]
_END = object()
_ADDRESS = re.compile(r"[a-z][a-z0-9+]*://\S+")


@dataclass(frozen=True, eq=False)
class GivenTexts:
    """Texts or rows in memory, as lines of JSONL; messages call them ``name``."""

    lines: Iterable[bytes]
    name: str

    def __str__(self) -> str:
        return self.name


# File, address in an object store, or texts in memory.
Name = str | Path | GivenTexts


def given_texts(texts: Iterable[Any], name: str) -> GivenTexts:
    """Wrap texts as a corpus; missing texts (None, NaN) are empty.

    Reading raises CorpusError for an item that is not text.
    """
    rows = ({"text": _text(value, name, number)} for number, value in enumerate(texts, 1))
    return given_rows(rows, name)


def given_rows(rows: NamedRows, name: str) -> GivenTexts:
    """Wrap rows as a bitext."""
    line = FORMATS["jsonl"].line
    # A lone surrogate becomes its JSON escape, and is refused when it is read.
    lines = (line(row).encode("utf-8", "backslashreplace") + b"\n" for row in rows)
    return GivenTexts(lines, name)


def given_pairs(source: Iterable[Any], target: Iterable[Any] | None = None) -> GivenTexts:
    """Wrap pairs as a bitext: the texts of both sides, or pairs, rows or a table as ``source``.

    Reading raises CorpusError for sides of unequal length, and for an item that is not a pair.
    """
    if target is None:
        table: Any = source
        if hasattr(table, "to_pylist"):  # Arrow table
            source = table.to_pylist()
        elif hasattr(table, "iterrows"):  # pandas table
            source = table.to_dict("records")
        return given_rows((_pair(row, number) for number, row in enumerate(source, 1)), "pairs")
    sides = enumerate(zip_longest(source, target, fillvalue=_END), 1)
    return given_rows((_both(pair, number) for number, pair in sides), "pairs")


def given_bitexts(source: Given, target: Given | None) -> list[list[str | GivenTexts]]:
    """Return the bitexts of one file, two files or a pattern; pairs in memory are one bitext."""
    sides = [source] if target is None else [source, target]
    file_lists = [matching(str(side)) for side in sides if isinstance(side, str | Path)]
    texts = [side for side in sides if not isinstance(side, str | Path)]
    if not file_lists:
        return [[given_pairs(*texts)]]
    if texts:
        raise TypeError("source and target must both be files, or both be texts")
    if len(file_lists[0]) != len(file_lists[-1]):
        raise ValueError(f"{source} has {len(file_lists[0])} files, {target} {len(file_lists[-1])}")
    return [list(files) for files in zip(*file_lists, strict=True)]


def _pair(row: Any, number: int) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 2:
        raise CorpusError(f"pair {number}: is {row!r:.40}, neither a pair of texts nor a row")
    return _both((row[0], row[1]), number)


def _both(pair: tuple[Any, Any], number: int) -> dict[str, str]:
    for side, value in zip(SIDES, pair, strict=True):
        if value is _END:
            raise CorpusError(f"{side}: ends before text {number}, and the other side does not")
    return {side: _text(value, side, number) for side, value in zip(SIDES, pair, strict=True)}


def _text(value: Any, name: str, number: int) -> str:
    text = value.as_py() if hasattr(value, "as_py") else value
    text = "" if text is None or text != text else text
    if not isinstance(text, str):
        kind = type(text).__name__
        raise CorpusError(f"{name}, text {number}: is {kind}, not text: {text!r:.40}")
    return text


def named(corpus: Corpus, name: str) -> list[Name]:
    """List the files of a corpus, or its texts as one.

    A string is a file, a pattern of files or ``-``. A list of paths and of addresses in object
    stores is files; other strings in a list are texts. Raises CorpusError for a pattern that
    matches no file, and ValueError for a list of strings that all name files.
    """
    if isinstance(corpus, Path):
        return [corpus]
    if isinstance(corpus, str):
        return [*matching(corpus)]
    if isinstance(corpus, list | tuple) and corpus:
        strings = [item for item in corpus if not isinstance(item, Path)]
        if all(isinstance(item, str) and _ADDRESS.fullmatch(item) for item in strings):
            return [*corpus]
        if all(isinstance(item, str) and os.path.isfile(item) for item in corpus):
            raise ValueError(
                f"{name}: {corpus[0]!r} is a file and would be read as a text; give several files "
                "as pathlib.Path, or as one pattern"
            )
    items = iter(corpus)
    first = next(items, None)
    if isinstance(first, Path):
        return [first, *items]
    return [given_texts(items if first is None else chain([first], items), name)]
