"""The test sets in a directory: where they are, and how they are read.

The layout is that of ``miner data get``. Every file may be compressed: ``.gz .bz2 .xz .zst``.
"""

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner.errors import CorpusError
from miner.text.corpus import Reader

SUFFIXES = ("", ".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True, eq=False)
class Judged:
    """Pairs of sentences with what people say of each: ``score (n,) float64``."""

    score: np.ndarray
    first: list[str]
    second: list[str]

    def __len__(self) -> int:
        return len(self.first)


def find(directory: Path, name: str) -> Path | None:
    """The file ``name`` in a directory, compressed or not."""
    for suffix in SUFFIXES:
        path = directory / f"{name}{suffix}"
        if path.is_file():
            return path
    return None


def stem(path: Path) -> str:
    """A file's name without the suffixes of its format and compression."""
    name = path.name
    for suffix in SUFFIXES[1:]:
        name = name.removesuffix(suffix)
    return name.removesuffix(".tsv")


def tables(directory: Path) -> dict[str, Path]:
    """All files ``NAME.tsv``, compressed or not, of a directory, by name and in its order.

    Raises CorpusError where one stands there twice.
    """
    found: dict[str, Path] = {}
    for path in sorted(directory.iterdir()) if directory.is_dir() else []:
        if any(path.name.endswith(f".tsv{suffix}") for suffix in SUFFIXES):
            other = found.setdefault(stem(path), path)
            if other != path:
                raise CorpusError(f"{directory}: has {other.name} and {path.name}; remove one")
    return found


def two_languages(name: str, path: Path) -> tuple[str, str]:
    """Those of source and target, with which a set's name begins, such as ``de-en.web``.

    ``path`` is where it lies. Raises CorpusError for another name.
    """
    languages = name.split(".")[0].split("-")
    if len(languages) != 2 or not all(languages):
        raise CorpusError(f"{path}: names no two languages; its name has to begin like de-en")
    return languages[0], languages[1]


def judged(path: Path, least: int = 1, column: int = 0, labels: tuple[float, ...] = ()) -> Judged:
    """Read ``score⇥sentence⇥sentence``; ``column`` says where the score is, 0 or 2.

    ``labels``: what alone may stand there. Raises CorpusError with file and line for a file that
    is none, or of fewer than ``least`` pairs.
    """
    scores, first, second = [], [], []
    for block in Reader(path, format="plain"):
        for line, text in zip(block.lines.tolist(), block.sentences, strict=True):
            columns = text.split("\t")
            if len(columns) != 3:
                where = "a score and two sentences" if not column else "two sentences and a score"
                raise CorpusError(f"{path}, line {line}: expected {where}, separated by tabs")
            score, said = math.nan, columns.pop(column)
            with suppress(ValueError):
                score = float(said)
            if not math.isfinite(score):
                raise CorpusError(
                    f"{path}, line {line}: column {column + 1} has {said[:40]!r}, not a number"
                )
            if labels and score not in labels:
                known = " or ".join(f"{label:g}" for label in labels)
                raise CorpusError(f"{path}, line {line}: the label is {score:g}, not {known}")
            scores.append(score)
            first.append(columns[0])
            second.append(columns[1])
    if len(scores) < least:
        raise CorpusError(f"{path}: {len(scores)} pairs; {least} or more are needed")
    return Judged(np.array(scores, dtype=np.float64), first, second)
