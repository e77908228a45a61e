"""Texts that a program gives in place of files: lists, iterators, columns of tables."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from miner.errors import CorpusError
from miner.text.patterns import matching

# A file, a pattern of files, several files, or texts.
Corpus = str | Path | Iterable[Any]
_ADDRESS = re.compile(r"[a-z][a-z0-9+]*://\S+")


@dataclass(frozen=True, eq=False)
class GivenTexts:
    """Texts that are no file yet; messages call them ``name``."""

    texts: Iterable[Any]
    name: str

    def __str__(self) -> str:
        return self.name

    def lines(self) -> Iterator[bytes]:
        """Yield a line of JSONL for each text; a missing one (None, NaN) is empty.

        Raises CorpusError for what is no text.
        """
        for number, value in enumerate(self.texts, 1):
            text = value.as_py() if hasattr(value, "as_py") else value
            text = "" if text is None or text != text else text
            if not isinstance(text, str):
                kind = type(text).__name__
                raise CorpusError(f"{self.name}, text {number}: is {kind}, not text: {text!r:.40}")
            yield json.dumps({"text": text}).encode() + b"\n"


def named(corpus: Corpus, name: str) -> list[str | Path | GivenTexts]:
    """List the files of a corpus, or its texts as one.

    A string is a file, a pattern of files or ``-``. A list of paths and of addresses in object
    stores is files; other strings in a list are texts. Raises CorpusError for a pattern without
    files, and ValueError for a list of strings that are all files.
    """
    if isinstance(corpus, Path):
        return [corpus]
    if isinstance(corpus, str):
        return [*matching(corpus)]
    if isinstance(corpus, list | tuple) and corpus:
        if all(isinstance(one, Path) or _is_address(one) for one in corpus):
            return [*corpus]
        if all(isinstance(one, str) and os.path.isfile(one) for one in corpus):
            raise ValueError(
                f"{name}: {corpus[0]!r} is a file and would be read as a text; give several files "
                "as pathlib.Path, or as one pattern"
            )
    items = iter(corpus)
    first = next(items, None)
    if isinstance(first, Path):
        return [first, *items]
    return [GivenTexts(items if first is None else chain([first], items), name)]


def _is_address(name: Any) -> bool:
    return isinstance(name, str) and _ADDRESS.fullmatch(name) is not None
