"""Models to evaluate, with fixed or made-up vectors, and small test sets."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from support.files import write


class Fixed:
    """Model with fixed vectors; unknown sentences have the zero vector."""

    def __init__(self, vectors: dict[str, Sequence[float]], name: str = "fixed"):
        self.name = name
        self.vectors = vectors
        self.zero = np.zeros(len(next(iter(vectors.values()))))

    def encode(self, sentences: Sequence[str], language: str) -> np.ndarray:
        rows = [self.vectors.get(sentence, self.zero) for sentence in sentences]
        return np.array(rows, dtype=np.float32).reshape(len(rows), len(self.zero))


class Recording:
    """Model of random unit vectors; ``asked`` records its sentences by language."""

    name = "recording"

    def __init__(self) -> None:
        self.asked: dict[str, set[str]] = {}

    def encode(self, sentences: Sequence[str], language: str) -> np.ndarray:
        self.asked.setdefault(language, set()).update(sentences)
        return made_up(sentences)


def of_all(lots: Iterable[tuple[str, Sequence[str]]]) -> set[str]:
    """Collect the sentences that a task's `texts` yields."""
    return {sentence for _, lot in lots for sentence in lot}


def made_up(sentences: Sequence[str], d: int = 16) -> np.ndarray:
    """Return random unit vectors ``(n, d) float32``, equal for equal sentences."""
    rows = np.zeros((len(sentences), d))
    for row, sentence in zip(rows, sentences, strict=True):
        seed = int.from_bytes(sha256(sentence.encode()).digest()[:8], "big")
        row[:] = np.random.default_rng(seed).normal(size=d)
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / norm).astype(np.float32)


def write_hidden(
    directory: Path,
    pair: str,
    split: str,
    sides: Sequence[Sequence[str]],
    gold: Iterable[tuple[int, int]] | None,
    suffix: str = "",
) -> None:
    """Write a split in the format of BUCC; ``gold``: pairs of rows from 0, None for no gold."""
    for language, sentences in zip(pair.split("-"), sides, strict=True):
        rows = [(f"{language}-{row:05}", text) for row, text in enumerate(sentences)]
        write(directory / f"{pair}.{split}.{language}{suffix}", rows)
    if gold is not None:
        source, target = pair.split("-")
        named = [(f"{source}-{one:05}", f"{target}-{other:05}") for one, other in gold]
        write(directory / f"{pair}.{split}.gold{suffix}", named)


def write_every(place: Path, german: list[str], english: list[str]) -> Path:
    """Write small test sets of every evaluation below ``place``, as `miner data get` does.

    german, english: at least 60 translations, by row.
    """
    other = english[7:] + english[:7]
    for name in ("2012.MSRpar", "stsb.en.test"):
        same = [(5 - i % 2, text, text) for i, text in enumerate(english[:12])]
        apart = [(i % 2, *pair) for i, pair in enumerate(zip(english[:12], other, strict=False))]
        write(place / "sts" / f"{name}.tsv", [*same, *apart])
    pairs = list(zip(german, english, strict=True))
    write(place / "tatoeba" / "de-en.tsv.gz", pairs)
    for split, first in (("training", 0), ("test", 1)):
        gold = [(row, row) for row in range(first, 60, 2)]
        write_hidden(place / "bucc-tiny", "de-en", split, (german, english), gold, ".xz")
    labelled = [(1, text, text) for text in english]
    labelled += [(0, *pair) for pair in zip(english, other, strict=True)]
    for part in ("train", "test"):
        write(place / "paraphrase" / f"msrpc.{part}.tsv", labelled)
    bad = [(source, target, 0) for source, target in zip(german, other, strict=True)]
    write(place / "noisy" / "de-en.web-labelled.tsv", [*((*pair, 1) for pair in pairs), *bad])
    return place
