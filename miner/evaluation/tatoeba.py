"""Tatoeba: accuracy of retrieving each sentence's translation as its nearest sentence.

The sets came with LASER (Artetxe & Schwenk 2019b). Accuracy is measured in both
directions, by the cosine and by the ratio margin among the k nearest (Artetxe & Schwenk 2019). A
sentence is right if it finds the row of its translation; a duplicate in another row is wrong.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from miner.errors import CorpusError, NoTestSetError
from miner.evaluation import metrics
from miner.evaluation.evaluated_model import EvaluatedModel
from miner.evaluation.labelled_text import language_pair, tsv_files
from miner.evaluation.results import Metric, TaskResult, mean_of, measure, without_vector
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.progress import Reporter, counted, silent
from miner.scoring.margin import candidates
from miner.scoring.matching import retrieve
from miner.text.bitext import Bitext, read_bitext

TASK = "tatoeba"
# Neighbours for the margin.
K = 4
# Margin functions by the name under which their accuracy is reported.
MARGIN_OF = {"cosine": "absolute", "margin": "ratio"}


def sets(data: Path) -> dict[str, Path]:
    """Return the files of the evaluation by language pair.

    Raises CorpusError if there are none, or a name does not begin with two languages.
    """
    files = tsv_files(data / TASK)
    if not files:
        raise NoTestSetError(data / TASK, "de-en.tsv")
    for pair, path in files.items():
        language_pair(pair, path)
    return files


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield all sentences of the evaluation in lists, with the language of each list."""
    for pair, path in sets(data).items():
        bitext = _read(path)
        yield from zip(language_pair(pair, path), (bitext.source, bitext.target), strict=True)


def evaluate(model: EvaluatedModel, data: Path, report: Reporter = silent) -> TaskResult:
    """Measure accuracies on every set of ``data``. Raises CorpusError."""
    by_set: list[tuple[Metric, ...]] = []
    missing: list[str] = []
    for pair, path in counted(TASK, sets(data).items(), report):
        metrics, unknown = accuracies(model, pair, path)
        missing += unknown
        if metrics:
            by_set.append(metrics)
    if len(by_set) > 1:
        by_set.append(tuple(mean_of("mean", same) for same in zip(*by_set, strict=True)))
    headline = tuple(metric for metric in chain(*by_set) if metric.name.startswith("both ways"))
    return TaskResult(TASK, tuple(chain(*by_set)), headline, tuple(missing))


def accuracies(
    model: EvaluatedModel, pair: str, path: Path
) -> tuple[tuple[Metric, ...], list[str]]:
    """Measure accuracies on the set of a language pair; also return the sets that were not
    measured.

    There are no accuracies if a side has no vector.
    """
    bitext = _read(path)
    source, target = language_pair(pair, path)
    vectors = model.encode(bitext.source, source), model.encode(bitext.target, target)
    missing = without_vector(pair, *vectors)
    if bitext.empty:
        missing.append(f"{pair}: {bitext.empty:,} pairs with an empty side")
    if not all(rows.any() for rows in vectors):
        return (), missing
    statistics = {}
    for by, margin in MARGIN_OF.items():
        there, back = (rows.astype(np.float64) for rows in found_own_row(*vectors, margin))
        for way, values in (("there", there), ("back", back), ("both ways", (there + back) / 2)):
            statistics[f"{way} by {by}"] = metrics.mean(values)
    return measure(pair, statistics, len(bitext)), missing


def nearest_rows(
    source: np.ndarray, target: np.ndarray, margin: str = "absolute", k: int = K
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best row of the other side, in both directions: ``(n,)`` and ``(m,) int64``, -1 for
    none.

    source, target: unit vectors ``(n, d)`` and ``(m, d)``. The score is the cosine (``absolute``)
    or another margin among the k nearest. Ties go to the first row; zero rows find nothing.
    """
    sides = [VectorSet(rows, np.flatnonzero(rows.any(axis=1))) for rows in (source, target)]
    best = tuple(np.full(len(rows), -1, dtype=np.int64) for rows in (source, target))
    if all(map(len, sides)):
        k = 1 if margin == "absolute" else k
        lists = nearest_both(sides[0], sides[1], SearchSettings(k=k, exact=True, device="cpu"))
        pairs = candidates(*lists, margin)
        forward, backward = retrieve(pairs, "forward"), retrieve(pairs, "backward")
        best[0][forward.source_row] = forward.target_row
        best[1][backward.target_row] = backward.source_row
    return best[0], best[1]


def found_own_row(
    source: np.ndarray, target: np.ndarray, margin: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows find their translation: ``(n,) bool`` in both directions."""
    there, back = nearest_rows(source, target, margin)
    rows = np.arange(len(source))
    return there == rows, back == rows


def _read(path: Path) -> Bitext:
    bitext = read_bitext(path)
    if not len(bitext):
        raise CorpusError(f"{path}: holds no pair")
    return bitext
