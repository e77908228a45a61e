"""Paraphrase detection: accuracy of a small classifier on the vectors of two sentences.

The protocol of Sjöblom, Creutz & Aulamo 2018 (section 4): a perceptron with one hidden layer
learns from the vectors of both sentences of the smaller labelled part, and is tested on the other.
Two baselines learn from the same part: the more frequent label, and the best threshold of the
cosine. Sets have labels 0 and 1 (MSRPC), or grades from 1 to 4 (Opusparcus).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from miner.errors import CorpusError, NoTestSetError
from miner.evaluation import metrics
from miner.evaluation.evaluated_model import EvaluatedModel
from miner.evaluation.labelled_text import LabelledPairs, read_labelled, tsv_files
from miner.evaluation.results import Metric, TaskResult, measure
from miner.libraries import library
from miner.progress import Reporter, counted, silent
from miner.scoring.quality import cosines
from miner.text_table import aligned
from miner_train.papers.sts import languages

TASK = "paraphrase"
# Parts that the classifier may be trained on: the first existing one is used.
LEARNED = ("train", "dev", "val")
TESTED = "test"
HIDDEN = 200
# Minimum pairs of each label to train on: the perceptron holds out a tenth for early stopping.
LEAST = 10
# Seeds of the training; accuracy is the mean over seeds, F1 is computed from mean counts.
SEEDS = range(3)
# Grades of Opusparcus, the mean of two annotators: paraphrase from GOOD up, no paraphrase up to
# BAD.
GOOD, BAD = 3.0, 2.0
# Edges of the histogram of similarities of a grade.
EDGES = tuple(step / 10 for step in range(11))


@dataclass(frozen=True, eq=False)
class LabelledVectors:
    """Vectors of pairs, unit rows ``(n, d) float32``, and their labels ``good (n,) bool``."""

    first: np.ndarray
    second: np.ndarray
    good: np.ndarray

    @property
    def similarity(self) -> np.ndarray:
        """Cosines, ``(n,) float64``, so that a threshold fits between any two of them."""
        return cosines(self.first, self.second).astype(np.float64)


def sets(data: Path) -> dict[str, tuple[Path, Path]]:
    """List the files to learn from and to test on, by name. Raises CorpusError for none."""
    files = tsv_files(data / TASK)
    paths = {}
    for test in files:
        name, _, part = test.rpartition(".")
        learned = next(
            (
                f"{name}.{learned_part}"
                for learned_part in LEARNED
                if f"{name}.{learned_part}" in files
            ),
            None,
        )
        if part == TESTED and learned is not None:
            paths[name] = files[learned], files[test]
    if not paths:
        raise NoTestSetError(data / TASK, "msrpc.train.tsv and msrpc.test.tsv")
    return paths


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield all sentences of the evaluation in lists, with the language of each list."""
    for name, paths in sets(data).items():
        for pairs in map(read_labelled, paths):
            yield from zip(languages(name), (pairs.first, pairs.second), strict=True)


def evaluate(model: EvaluatedModel, data: Path, report: Reporter = silent) -> TaskResult:
    """Measure accuracy and F1 on every set of ``data``, and the mean similarity of every grade.

    Raises CorpusError, and DependencyError without scikit-learn.
    """
    every: list[Metric] = []
    grades: dict[str, list[dict[str, Any]]] = {}
    for name, paths in counted(TASK, sets(data).items(), report):
        language = languages(name)[0]
        parts = [read_labelled(path) for path in paths]
        vectors = [
            (model.encode(pairs.first, language), model.encode(pairs.second, language))
            for pairs in parts
        ]
        learned = with_labels(parts[0], vectors[0], paths[0], LEAST)
        tested = with_labels(parts[1], vectors[1], paths[1])
        every += _detection_metrics(name, learned, tested)
        grades[name] = by_grade(parts[1].score, cosines(*vectors[1]))
    headline = tuple(metric for metric in every if metric.name.startswith("accuracy"))
    more = {"mean similarity by grade": grades}
    return TaskResult(TASK, tuple(every), headline, notes=tuple(_grade_tables(grades)), more=more)


def labels(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Convert scores ``(n,)`` to a mask of the pairs to keep and their labels; both bool."""
    if set(np.unique(scores)) <= {0.0, 1.0}:
        return np.ones(len(scores), dtype=bool), scores == 1
    kept = (scores >= GOOD) | (scores <= BAD)
    return kept, scores[kept] >= GOOD


def with_labels(
    pairs: LabelledPairs, vectors: tuple[np.ndarray, np.ndarray], path: Path, least: int = 1
) -> LabelledVectors:
    """Combine the labels of a file with its vectors.

    Raises CorpusError for a file with fewer than ``least`` pairs of either label.
    """
    kept, good = labels(pairs.score)
    count = int(good.sum())
    if min(count, len(good) - count) < least:
        raise CorpusError(
            f"{path}: holds {count} paraphrases and {len(good) - count} other pairs; "
            f"{least} of each are needed"
        )
    return LabelledVectors(vectors[0][kept], vectors[1][kept], good)


def by_grade(score: np.ndarray, similarity: np.ndarray) -> list[dict[str, Any]]:
    """Return each distinct grade with its number of pairs, mean similarity and standard deviation.

    ``t`` and ``p``: Welch's two-sided test against the grade below; None for the lowest grade, and
    for a grade with one pair or no deviation. ``histogram``: similarities between the `EDGES`; the
    lowest bin has all below. Raises DependencyError without SciPy, which scikit-learn installs.
    """
    grades: list[dict[str, Any]] = []
    below = np.empty(0)
    edges = np.array([-np.inf, *EDGES[1:-1], np.inf])
    for grade in np.unique(score).tolist():
        group = similarity[score == grade].astype(np.float64)
        t, p = _welch(group, below)
        grades.append(
            {
                "grade": grade,
                "pairs": len(group),
                "mean": float(group.mean()),
                "deviation": float(group.std()),
                "t": t,
                "p": p,
                "histogram": np.histogram(group, edges)[0].tolist(),
            }
        )
        below = group
    return grades


def _welch(group: np.ndarray, below: np.ndarray) -> tuple[float | None, float | None]:
    if min(len(group), len(below)) < 2 or group.std() + below.std() == 0:
        return None, None
    test = library("scipy.stats", "the t-test between grades", "train").ttest_ind
    result = test(group, below, equal_var=False)
    return float(result.statistic), float(result.pvalue)


def _grade_tables(grades: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the lines of two tables: means with t-tests, and shares of similarities between
    `EDGES`.
    """
    means = [["test set", "grade", "pairs", "mean similarity", "deviation", "t", "p"]]
    shares = [["similarity", "", *(f"{edge:.1f}" for edge in EDGES[:-1])]]
    shares[0][2] = f"< {EDGES[1]:.1f}"
    for name, of_set in grades.items():
        for row in of_set:
            grade = f"{row['grade']:g}"
            test = ["–", "–"] if row["t"] is None else [f"{row['t']:.2f}", f"{row['p']:.1g}"]
            numbers = [f"{row['pairs']}", f"{row['mean']:.3f}", f"{row['deviation']:.3f}"]
            means.append([name, grade, *numbers, *test])
            bins = (count / row["pairs"] for count in row["histogram"])
            shares.append([name, grade, *(f"{share:.0%}" for share in bins)])
    return [*aligned(means), *aligned(shares)]


def predict_by_threshold(learned: LabelledVectors, tested: LabelledVectors) -> np.ndarray:
    """Predict labels ``(n,) bool`` by the cosine threshold with the best accuracy on ``learned``.

    Among thresholds of equal accuracy the highest wins.
    """
    order = np.argsort(-learned.similarity, kind="stable")
    score, good = learned.similarity[order], learned.good[order]
    # right[i]: correct labels if the first i are positive and the others negative, (n + 1,).
    right = np.r_[0, np.cumsum(good)] + np.r_[np.cumsum(~good[::-1])[::-1], 0]
    cuts = np.r_[True, score[1:] != score[:-1], True]  # a cut never separates equal scores
    best = int(np.argmax(np.where(cuts, right, -1)))
    edges = np.r_[np.inf, score, -np.inf]
    return tested.similarity >= (
        edges[best] if best in (0, len(score)) else edges[best : best + 2].mean()
    )


def concatenated(pairs: LabelledVectors) -> np.ndarray:
    """Concatenate both vectors: ``(2n, 2d)``, all pairs, then all pairs with sides swapped."""
    ways = (pairs.first, pairs.second), (pairs.second, pairs.first)
    return np.concatenate([np.concatenate(way, axis=1) for way in ways])


def differences_and_products(pairs: LabelledVectors) -> np.ndarray:
    """Concatenate the absolute difference and the product of both vectors: ``(n, 2d)``."""
    difference = np.abs(pairs.first - pairs.second)
    return np.concatenate([difference, pairs.first * pairs.second], axis=1)


def predict_by_classifier(
    learned: LabelledVectors,
    tested: LabelledVectors,
    features: Callable[[LabelledVectors], np.ndarray],
    seed: int,
) -> np.ndarray:
    """Predict labels ``(n,) bool`` with a perceptron, as the mean of both orders of the sides.

    It is trained on one order, so that no training pair is also in the tenth held out for early
    stopping. Raises DependencyError without scikit-learn.
    """
    networks = library("sklearn.neural_network", "the classifier", "train")
    classifier = networks.MLPClassifier((HIDDEN,), early_stopping=True, random_state=seed)
    with threadpool_limits(1):  # the same order of additions on every machine
        classifier.fit(features(learned)[: len(learned.good)], learned.good)
        probability = classifier.predict_proba(features(tested))[:, 1]
    return probability.reshape(-1, len(tested.good)).mean(axis=0) >= 0.5


# Features of the perceptron, by the name under which its accuracy is reported.
CLASSIFIERS = {"MLP (u, v)": concatenated, "MLP (|u-v|, u*v)": differences_and_products}


def _detection_metrics(
    name: str, learned: LabelledVectors, tested: LabelledVectors
) -> tuple[Metric, ...]:
    """Measure accuracy and F1 of the baselines and the classifiers on one set."""
    good = tested.good
    guesses = {
        "majority": [np.full(len(good), learned.good.mean() >= 0.5)],
        "cosine": [predict_by_threshold(learned, tested)],
    }
    for by, features in CLASSIFIERS.items():
        guesses[by] = [predict_by_classifier(learned, tested, features, seed) for seed in SEEDS]
    statistics = {}
    for by, each in guesses.items():
        right = np.mean([guess == good for guess in each], axis=0)
        statistics[f"accuracy by {by}"] = metrics.mean(right)
    for by, each in guesses.items():
        both = np.mean([guess & good for guess in each], axis=0)
        guessed = np.mean(each, axis=0)
        statistics[f"f1 by {by}"] = metrics.ratio(2 * both, guessed + good)
    return measure(name, statistics, len(good))
