"""Measures that select the best epoch: semantic similarity, as P19 by STS 2017, or a teacher."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError
from miner.evaluation.metrics import pearson, value_of
from miner.text.bitext import parse_scores, read_bitext
from miner.text.formats import BitextFormat
from miner_train.data import Encode, Sentences, Tokenise, tokenize


@dataclass(frozen=True)
class Development:
    """Measure that selects the best epoch: the higher the better."""

    name: str
    score: Callable[[Encode], float]


@dataclass(frozen=True)
class GradedPairs:
    """Pairs of sentences in one language with grades of their similarity, ``score (n,)
    float64``.
    """

    first: list[str]
    second: list[str]
    score: np.ndarray


def read_graded(path: str) -> GradedPairs:
    """Read lines of grade, sentence, sentence (tab-separated).

    Raises CorpusError for another format, fewer than three pairs, or a single grade.
    """
    layout = BitextFormat(source_column=2, target_column=3, format="tsv")
    pairs = read_bitext(path, None, layout, more=["1"])
    scores = parse_scores([row[0] for row in pairs.more], path, pairs.lines)
    if len(scores) < 3 or not np.isfinite(scores).all() or (scores == scores[0]).all():
        raise CorpusError(
            f"{path}: {len(scores)} graded pairs; choosing an epoch needs three and more, with "
            "different finite grades"
        )
    return GradedPairs(pairs.source, pairs.target, scores)


def by_grades(graded: Sequence[GradedPairs], tokenizers: Sequence[Tokenise]) -> Development:
    """Measure Pearson's correlation of cosines and grades, -1 to 1: the mean over sets.

    ``tokenizers``: for the language of the pairs, by unit. A sentence without a known token has the
    cosine 0.
    """
    sides = [
        [tokenize(tokenizers, side) for side in (pairs.first, pairs.second)] for pairs in graded
    ]

    def score(encode: Encode) -> float:
        correlations = []
        for pairs, both in zip(graded, sides, strict=True):
            cosines = np.einsum("nd,nd->n", *map(encode, both), dtype=np.float64)
            correlations.append(value_of(pearson(cosines, pairs.score), len(pairs.score)))
        return float(np.mean(correlations))

    return Development("correlation with grades", score)


def by_teacher(sentences: Sentences, vectors: np.ndarray) -> Development:
    """Measure the mean cosine with a teacher's vectors of the sentences, unit rows ``(n, d)``."""

    def score(encode: Encode) -> float:
        cosines = np.einsum("nd,nd->n", encode(sentences), vectors, dtype=np.float64)
        return float(cosines.mean())

    return Development("cosine with the teacher", score)
