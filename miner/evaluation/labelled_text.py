"""Test sets of labelled sentence pairs: their files and their reader.

``miner data get`` writes this layout. Every file may be compressed: ``.gz .bz2 .xz .zst``.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner.errors import CorpusError
from miner.text.bitext import number_in
from miner.text.corpus import CorpusReader
from miner.text.output import StrPath
from miner.text_table import quoted

SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Sentence pairs with a human label each: ``score (n,) float64``."""

    score: np.ndarray
    first: list[str]
    second: list[str]

    def __len__(self) -> int:
        return len(self.first)


def tab_rows(path: StrPath) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each non-empty line, split at tabs."""
    for block in CorpusReader(path, format="plain"):
        for line, text in zip(block.lines.tolist(), block.sentences, strict=True):
            yield line, text.split("\t")


def find_file(directory: Path, name: str) -> Path | None:
    """Return the file ``name`` of a directory, compressed or not; None if it is missing."""
    for suffix in SUFFIXES:
        path = directory / f"{name}{suffix}"
        if path.is_file():
            return path
    return None


def tsv_files(directory: Path) -> dict[str, Path]:
    """List the files ``NAME.tsv`` of a directory, compressed or not, by name, sorted.

    Raises CorpusError for a name with two files.
    """
    files: dict[str, Path] = {}
    for path in sorted(directory.iterdir()) if directory.is_dir() else []:
        if any(path.name.endswith(f".tsv{suffix}") for suffix in SUFFIXES):
            stem = path.name[: path.name.rindex(".tsv")]
            other = files.setdefault(stem, path)
            if other != path:
                raise CorpusError(f"{directory}: has {other.name} and {path.name}; remove one")
    return files


def language_pair(name: str, path: Path) -> tuple[str, str]:
    """Parse the language codes at the start of a set's name (``de-en.web`` → ``de``, ``en``).

    ``path`` is named in the error. Raises CorpusError for a name without two codes.
    """
    languages = name.split(".")[0].split("-")
    if len(languages) != 2 or not all(languages):
        raise CorpusError(f"{path}: names no two languages; its name has to begin like de-en")
    return languages[0], languages[1]


def read_labelled(
    path: Path, least: int = 1, column: int = 0, labels: tuple[float, ...] = ()
) -> LabelledPairs:
    """Read lines of a score and two sentences, tab-separated.

    column: position of the score, 0 or 2. labels: allowed scores; any number by default. Raises
    CorpusError with file and line for a malformed line, and for fewer than ``least`` pairs.
    """
    scores, first, second = [], [], []
    for line, columns in tab_rows(path):
        if len(columns) != 3:
            where = "a score and two sentences" if not column else "two sentences and a score"
            raise CorpusError(f"{path}, line {line}: expected {where}, separated by tabs")
        cell = columns.pop(column)
        score = number_in(cell)
        if not math.isfinite(score):
            raise CorpusError(
                f"{path}, line {line}: column {column + 1} has {quoted(cell, 40)}, not a number"
            )
        if labels and score not in labels:
            known = " or ".join(f"{label:g}" for label in labels)
            raise CorpusError(f"{path}, line {line}: the label is {score:g}, not {known}")
        scores.append(score)
        first.append(columns[0])
        second.append(columns[1])
    if len(scores) < least:
        raise CorpusError(f"{path}: {len(scores)} pairs; {least} or more are needed")
    return LabelledPairs(np.array(scores, dtype=np.float64), first, second)
