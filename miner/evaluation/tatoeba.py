"""Tatoeba: is the nearest sentence of the other language the translation?

Accuracy over a set of translations (Artetxe & Schwenk 2019b, the sets that came with LASER), each
way: by the cosine, and by the ratio margin among the k nearest (Artetxe & Schwenk 2019). A sentence
is right when it finds the row of its own translation; a copy of that in another row is wrong.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from miner.errors import CorpusError, NoTestSetError
from miner.evaluation import bootstrap
from miner.evaluation.labelled_text import tables, two_languages
from miner.evaluation.results import (
    Figure,
    Outcome,
    mean_of,
    measure,
    without_vector,
)
from miner.evaluation.subject import Subject
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.progress import Reporter, silent
from miner.scoring.margin import candidates, retrieve
from miner.text.bitext import Bitext, read_bitext

PLACE = "tatoeba"
# Neighbours for the margin.
K = 4
# What finds the translation.
BY = {"cosine": "absolute", "margin": "ratio"}


def sets(data: Path) -> dict[str, Path]:
    """The files of the evaluation, by language pair.

    Raises CorpusError where there are none, or one is not named so.
    """
    found = tables(data / PLACE)
    if not found:
        raise NoTestSetError(data / PLACE, "de-en.tsv")
    for pair, path in found.items():
        two_languages(pair, path)
    return found


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """All sentences of the evaluation, with the language of each lot."""
    for pair, path in sets(data).items():
        bitext = _read(path)
        yield from zip(two_languages(pair, path), (bitext.source, bitext.target), strict=True)


def evaluate(subject: Subject, data: Path, report: Reporter = silent) -> Outcome:
    """Accuracies on every set of ``data``. Raises CorpusError."""
    found: list[tuple[Figure, ...]] = []
    missing: list[str] = []
    every = sets(data)
    for done, (pair, path) in enumerate(every.items()):
        report(PLACE, done, len(every))
        figures, unknown = measured(subject, pair, path)
        missing += unknown
        if figures:
            found.append(figures)
    report(PLACE, len(every), len(every))
    if len(found) > 1:
        found.append(tuple(mean_of("mean", one) for one in zip(*found, strict=True)))
    headline = tuple(one for one in chain(*found) if one.metric.startswith("both ways"))
    return Outcome(PLACE, tuple(chain(*found)), headline, tuple(missing))


def measured(subject: Subject, pair: str, path: Path) -> tuple[tuple[Figure, ...], list[str]]:
    """Accuracies on one set, of the languages that ``pair`` names, and what was not measured.

    There are none where no sentence of one side has a vector.
    """
    bitext = _read(path)
    source, target = two_languages(pair, path)
    vectors = subject.encode(bitext.source, source), subject.encode(bitext.target, target)
    missing = without_vector(pair, *vectors)
    if bitext.empty:
        missing.append(f"{pair}: {bitext.empty:,} pairs of which a side is empty")
    if not all(rows.any() for rows in vectors):
        return (), missing
    statistics = {}
    for by, margin in BY.items():
        there, back = (rows.astype(np.float64) for rows in right(*vectors, margin))
        for way, values in (("there", there), ("back", back), ("both ways", (there + back) / 2)):
            statistics[f"{way} by {by}"] = bootstrap.mean(values)
    return measure(pair, statistics, len(bitext)), missing


def nearest(
    source: np.ndarray, target: np.ndarray, margin: str = "absolute", k: int = K
) -> tuple[np.ndarray, np.ndarray]:
    """The best row of the other side, each way: ``(n,)`` and ``(m,) int64``, -1 for none.

    Of unit vectors ``(n, d)`` and ``(m, d)``, by cosine (``absolute``) or by another margin among
    the k nearest. Equal scores find the first row, zero rows nothing.
    """
    sides = [VectorSet(rows, np.flatnonzero(rows.any(axis=1))) for rows in (source, target)]
    found = tuple(np.full(len(rows), -1, dtype=np.int64) for rows in (source, target))
    if all(map(len, sides)):
        k = 1 if margin == "absolute" else k
        lists = nearest_both(sides[0], sides[1], SearchSettings(k=k, exact=True, device="cpu"))
        pairs = candidates(*lists, margin)
        forward, backward = retrieve(pairs, "forward"), retrieve(pairs, "backward")
        found[0][forward.source_row] = forward.target_row
        found[1][backward.target_row] = backward.source_row
    return found[0], found[1]


def right(source: np.ndarray, target: np.ndarray, margin: str) -> tuple[np.ndarray, np.ndarray]:
    """Which rows find their own: ``(n,) bool`` each way (see :func:`nearest`)."""
    there, back = nearest(source, target, margin)
    rows = np.arange(len(source))
    return there == rows, back == rows


def _read(path: Path) -> Bitext:
    bitext = read_bitext(path)
    if not len(bitext):
        raise CorpusError(f"{path}: holds no pair")
    return bitext
