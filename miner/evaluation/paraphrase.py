"""Paraphrase detection: can a small classifier tell paraphrases by two vectors?

The protocol of Sjöblom, Creutz & Aulamo 2018 (section 4): a perceptron with one hidden layer of
200 units on the vectors of both sentences learns on the smaller labelled part, and is tested on the
other. Beside it stand the commoner answer, and the best threshold of the cosine, both of what the
classifier learned from. Sets are MSRPC (labels 0 and 1) and Opusparcus (grades 1 to 4, of which
3 and more are paraphrases, 2 and less are none, and those between are left out).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from miner.errors import CorpusError, DependencyError, NoTestSetError
from miner.evaluation import bootstrap
from miner.evaluation.labelled_text import Judged, judged, tables
from miner.evaluation.results import Figure, Outcome, measure
from miner.evaluation.sts import languages
from miner.evaluation.subject import Subject
from miner.progress import Reporter, silent
from miner.scoring.quality import cosines
from miner.text_table import aligned

PLACE = "paraphrase"
# What the classifier learns from: the first of these that is there.
LEARNED = ("train", "dev", "val")
TESTED = "test"
HIDDEN = 200
# Of either kind: the perceptron holds a tenth back to know when to stop.
LEAST = 10
# Trained so many times from other beginnings; accuracy is their mean, F1 that of mean counts.
SEEDS = range(3)
# Grades of Opusparcus, the mean of two people's: what is a paraphrase, and what is none.
GOOD, BAD = 3.0, 2.0


@dataclass(frozen=True, eq=False)
class Labelled:
    """Vectors of pairs, unit rows ``(n, d) float32``, and which are paraphrases: ``(n,) bool``."""

    first: np.ndarray
    second: np.ndarray
    good: np.ndarray

    @property
    def similarity(self) -> np.ndarray:
        """``(n,) float64``, so that there is a number between any two of them."""
        return cosines(self.first, self.second).astype(np.float64)


def sets(data: Path) -> dict[str, tuple[Path, Path]]:
    """Files to learn from and to test on, by name. Raises CorpusError where there are none."""
    files = tables(data / PLACE)
    found = {}
    for test in files:
        name, _, part = test.rpartition(".")
        learned = next((f"{name}.{one}" for one in LEARNED if f"{name}.{one}" in files), None)
        if part == TESTED and learned is not None:
            found[name] = files[learned], files[test]
    if not found:
        raise NoTestSetError(data / PLACE, "msrpc.train.tsv and msrpc.test.tsv")
    return found


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """All sentences of the evaluation, with the language of each lot."""
    for name, paths in sets(data).items():
        for pairs in map(judged, paths):
            yield from zip(languages(name), (pairs.first, pairs.second), strict=True)


def evaluate(subject: Subject, data: Path, report: Reporter = silent) -> Outcome:
    """Accuracy and F1 on every set of ``data``, and the mean similarity of every grade.

    Raises CorpusError, and DependencyError without scikit-learn.
    """
    figures: list[Figure] = []
    grades: dict[str, list[dict[str, Any]]] = {}
    found = sets(data)
    for done, (name, paths) in enumerate(found.items()):
        report(PLACE, done, len(found))
        language = languages(name)[0]
        parts = [judged(path) for path in paths]
        vectors = [
            (subject.encode(pairs.first, language), subject.encode(pairs.second, language))
            for pairs in parts
        ]
        learned = labelled(parts[0], vectors[0], paths[0], LEAST)
        tested = labelled(parts[1], vectors[1], paths[1])
        figures += _figures(name, learned, tested)
        grades[name] = by_grade(parts[1].score, cosines(*vectors[1]))
    report(PLACE, len(found), len(found))
    headline = tuple(figure for figure in figures if figure.metric.startswith("accuracy"))
    rows = [["test set", "grade", "pairs", "mean similarity", "deviation"]]
    rows += [
        [
            name,
            f"{one['grade']:g}",
            str(one["pairs"]),
            f"{one['mean']:.3f}",
            f"{one['deviation']:.3f}",
        ]
        for name, every in grades.items()
        for one in every
    ]
    more = {"mean similarity by grade": grades}
    return Outcome(PLACE, tuple(figures), headline, notes=tuple(aligned(rows)), more=more)


def labels(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which pairs are kept, and which of those are paraphrases; both ``bool``."""
    if set(np.unique(scores)) <= {0.0, 1.0}:
        return np.ones(len(scores), dtype=bool), scores == 1
    kept = (scores >= GOOD) | (scores <= BAD)
    return kept, scores[kept] >= GOOD


def labelled(
    pairs: Judged, vectors: tuple[np.ndarray, np.ndarray], path: Path, least: int = 1
) -> Labelled:
    """The pairs of one file. Raises CorpusError for one with fewer than ``least`` of a kind."""
    kept, good = labels(pairs.score)
    count = int(good.sum())
    if min(count, len(good) - count) < least:
        raise CorpusError(
            f"{path}: holds {count} paraphrases and {len(good) - count} pairs that are none; "
            f"{least} of each are needed"
        )
    return Labelled(vectors[0][kept], vectors[1][kept], good)


def by_grade(score: np.ndarray, similarity: np.ndarray) -> list[dict[str, Any]]:
    """Of every grade that people gave: pairs, their mean similarity and its deviation."""
    groups = {grade: similarity[score == grade] for grade in np.unique(score).tolist()}
    return [
        {
            "grade": grade,
            "pairs": len(group),
            "mean": float(group.mean()),
            "deviation": float(group.std()),
        }
        for grade, group in groups.items()
    ]


def by_threshold(learned: Labelled, tested: Labelled) -> np.ndarray:
    """Paraphrases by the cosine, at the threshold that is right most often on what is learned.

    ``(n,) bool``. Of thresholds as good the highest.
    """
    order = np.argsort(-learned.similarity, kind="stable")
    score, good = learned.similarity[order], learned.good[order]
    # Right, if the first i are taken and the others are not; equal scores go together.
    right = np.r_[0, np.cumsum(good)] + np.r_[np.cumsum(~good[::-1])[::-1], 0]
    cuts = np.r_[True, score[1:] != score[:-1], True]
    best = int(np.argmax(np.where(cuts, right, -1)))
    edges = np.r_[np.inf, score, -np.inf]
    return tested.similarity >= (
        edges[best] if best in (0, len(score)) else edges[best : best + 2].mean()
    )


def side_by_side(pairs: Labelled) -> np.ndarray:
    """Both vectors as they are, ``(2n, 2d)``: all pairs as given, then all the other way round."""
    ways = (pairs.first, pairs.second), (pairs.second, pairs.first)
    return np.concatenate([np.concatenate(way, axis=1) for way in ways])


def compared(pairs: Labelled) -> np.ndarray:
    """Their absolute difference and product, number by number, ``(n, 2d)``."""
    apart = np.abs(pairs.first - pairs.second)
    return np.concatenate([apart, pairs.first * pairs.second], axis=1)


def by_classifier(
    learned: Labelled, tested: Labelled, features: Callable[[Labelled], np.ndarray], seed: int
) -> np.ndarray:
    """Paraphrases by the perceptron: ``(n,) bool``.

    It learns from every pair as given: both orders would put copies of what it learns among the
    tenth on which it decides when to stop. It is asked in both, and the mean decides.
    """
    try:
        from sklearn.neural_network import MLPClassifier
    except ImportError:
        raise DependencyError(
            'the classifier needs scikit-learn; run: pip install "bitext-miner[train]"'
        ) from None
    classifier = MLPClassifier((HIDDEN,), early_stopping=True, random_state=seed)
    with threadpool_limits(1):  # the same sums in the same order, whatever the machine
        classifier.fit(features(learned)[: len(learned.good)], learned.good)
        probability = classifier.predict_proba(features(tested))[:, 1]
    return probability.reshape(-1, len(tested.good)).mean(axis=0) >= 0.5


# By what the perceptron sees.
CLASSIFIERS = {"MLP (u, v)": side_by_side, "MLP (|u-v|, u*v)": compared}


def _figures(name: str, learned: Labelled, tested: Labelled) -> tuple[Figure, ...]:
    good = tested.good
    guesses = {
        "majority": [np.full(len(good), learned.good.mean() >= 0.5)],
        "cosine": [by_threshold(learned, tested)],
    }
    for by, features in CLASSIFIERS.items():
        guesses[by] = [by_classifier(learned, tested, features, seed) for seed in SEEDS]
    statistics = {}
    for by, each in guesses.items():
        right = np.mean([guess == good for guess in each], axis=0)
        statistics[f"accuracy by {by}"] = bootstrap.mean(right)
    for by, each in guesses.items():
        both = np.mean([guess & good for guess in each], axis=0)
        guessed = np.mean(each, axis=0)
        statistics[f"f1 by {by}"] = bootstrap.ratio(2 * both, guessed + good)
    return measure(name, statistics, len(good))
