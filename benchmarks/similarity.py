"""Similarity against people's judgement (STS), and retrieval of translations (Tatoeba).

A file of STS holds ``score⇥sentence⇥sentence``, one of Tatoeba ``foreign⇥english``, plain or
compressed, without a header or quoting. Similarity is the cosine of the two vectors; that of a
sentence without a known token, whose vector is zero, is 0.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from miner import Encoder
from miner.corpus import Reader, read_bitext
from miner.errors import CorpusError
from miner.statistics import pearson, spearman

# Sentences that look for their translation at a time.
BLOCK = 1024


@dataclass(frozen=True)
class Judged:
    """Pairs of sentences and how alike people find them: ``score (n,) float64``, 0 to 5."""

    score: np.ndarray
    first: list[str]
    second: list[str]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class Agreement:
    """Correlations of cosines with scores, -1 to 1, over so many pairs."""

    pearson: float
    spearman: float
    pairs: int


@dataclass(frozen=True)
class Accuracy:
    """Share of sentences whose nearest one is their translation, 0 to 1, each way."""

    to_target: float
    to_source: float
    pairs: int

    @property
    def mean(self) -> float:
        return (self.to_target + self.to_source) / 2


def read_sts(path: str | Path) -> Judged:
    """Read a file of STS; raises CorpusError with file and line for one that is none."""
    scores, first, second = [], [], []
    for block in Reader(path, format="plain"):
        for line, text in zip(block.lines.tolist(), block.sentences, strict=True):
            columns = text.split("\t")
            try:
                score = float(columns[0])
            except ValueError:
                score = math.nan
            if len(columns) != 3 or not math.isfinite(score):
                raise CorpusError(
                    f"{path}, line {line}: expected a score and two sentences, separated by tabs"
                )
            scores.append(score)
            first.append(columns[1])
            second.append(columns[2])
    if len(scores) < 2:
        raise CorpusError(f"{path}: {len(scores)} pairs; a correlation takes two or more")
    return Judged(np.array(scores, dtype=np.float64), first, second)


def cosines(encoder: Encoder, first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """``(n,) float64``, the cosine of each pair, 0 where either vector is zero."""
    left, right = encoder.encode(first), encoder.encode(second)
    return np.einsum("nd,nd->n", left, right, dtype=np.float64)


def sts(encoder: Encoder, path: str | Path) -> Agreement:
    """How far the encoder agrees with people on one data set."""
    judged = read_sts(path)
    similarity = cosines(encoder, judged.first, judged.second)
    return Agreement(
        pearson(similarity, judged.score), spearman(similarity, judged.score), len(judged)
    )


def tatoeba(encoders: tuple[Encoder, Encoder], path: str | Path) -> Accuracy:
    """Retrieval of every translation among all, by the encoders of the source and target side."""
    bitext = read_bitext(path)
    source = encoders[0].encode(bitext.source)
    target = encoders[1].encode(bitext.target)
    return Accuracy(_found(source, target), _found(target, source), len(bitext))


def _found(queries: np.ndarray, answers: np.ndarray) -> float:
    """Share of queries whose nearest answer, the first of equals, has their row."""
    right = 0
    for start in range(0, len(queries), BLOCK):
        block = queries[start : start + BLOCK]
        nearest = (block @ answers.T).argmax(axis=1)
        # A zero vector is as near to all: it finds nothing, though argmax names the first row.
        right += int(((nearest == np.arange(start, start + len(block))) & block.any(axis=1)).sum())
    return right / max(1, len(queries))
