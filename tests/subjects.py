"""Subjects of evaluations, which look their vectors up or make them up, and files to evaluate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from miner.files import open_output


class Fixed:
    """Looks vectors up; the zero vector for what it does not know."""

    def __init__(self, vectors: dict[str, Sequence[float]], name: str = "fixed"):
        self.name = name
        self.vectors = vectors
        self.zero = np.zeros(len(next(iter(vectors.values()))))

    def encode(self, sentences: Sequence[str], language: str) -> np.ndarray:
        rows = [self.vectors.get(sentence, self.zero) for sentence in sentences]
        return np.array(rows, dtype=np.float32).reshape(len(rows), len(self.zero))


class Recording:
    """Makes up a unit vector for each sentence; ``asked`` are sentences by their language."""

    name = "recording"

    def __init__(self) -> None:
        self.asked: dict[str, set[str]] = {}

    def encode(self, sentences: Sequence[str], language: str) -> np.ndarray:
        self.asked.setdefault(language, set()).update(sentences)
        return made_up(sentences)


def made_up(sentences: Sequence[str], d: int = 16) -> np.ndarray:
    """Unit vectors ``(n, d) float32``, the same for the same sentence."""
    rows = np.zeros((len(sentences), d))
    for row, sentence in zip(rows, sentences, strict=True):
        seed = int.from_bytes(sha256(sentence.encode()).digest()[:8], "big")
        row[:] = np.random.default_rng(seed).normal(size=d)
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / norm).astype(np.float32)


def write(path: Path, rows: Iterable[Sequence[object]]) -> Path:
    """A file of tab-separated columns, compressed as its suffix says; directories are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_output(path) as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows)
    return path


def write_hidden(
    directory: Path,
    pair: str,
    split: str,
    sides: Sequence[Sequence[str]],
    gold: Iterable[tuple[int, int]] | None,
    suffix: str = "",
) -> None:
    """One split of a set in the format of BUCC; ``gold`` are rows from 0, None for no gold."""
    for language, sentences in zip(pair.split("-"), sides, strict=True):
        rows = [(f"{language}-{row:05}", text) for row, text in enumerate(sentences)]
        write(directory / f"{pair}.{split}.{language}{suffix}", rows)
    if gold is not None:
        source, target = pair.split("-")
        named = [(f"{source}-{one:05}", f"{target}-{other:05}") for one, other in gold]
        write(directory / f"{pair}.{split}.gold{suffix}", named)
