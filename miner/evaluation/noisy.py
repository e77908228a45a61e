"""Labelled noisy bitext: does a score put good pairs above bad ones?

Files ``SOURCE-TARGET.NAME-labelled.tsv`` of ``source⇥target⇥label``, 1 for a good pair. Scores are
the cosine, the ratio margin against the set itself (Artetxe & Schwenk 2019), and, of a model that
knows it, the quality.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import ArtifactError, CorpusError, NoTestSetError
from miner.evaluation import bootstrap
from miner.evaluation.labelled_text import Judged, judged, tables, two_languages
from miner.evaluation.metrics import best_threshold
from miner.evaluation.results import Figure, Outcome, measure
from miner.evaluation.subject import Subject, Trained
from miner.progress import Reporter, silent
from miner.scoring.quality import Quality, cosines
from miner.scoring.reference import Reference
from miner.text_table import aligned

PLACE = "noisy"
LABELLED = "-labelled"
# Neighbours for the margin.
K = 4
# A bad pair, and a good one.
LABELS = (0.0, 1.0)
TUNED = ("threshold", "f1", "precision", "recall")


def sets(data: Path) -> dict[str, Path]:
    """The labelled files, by name.

    Raises CorpusError where there are none, or one's name does not begin with two languages.
    """
    found = {
        name.removesuffix(LABELLED): path
        for name, path in tables(data / PLACE).items()
        if name.endswith(LABELLED)
    }
    if not found:
        raise NoTestSetError(data / PLACE, f"de-en.web{LABELLED}.tsv")
    for name, path in found.items():
        two_languages(name, path)
    return found


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """All sentences of the evaluation, with the language of each lot."""
    for name, path in sets(data).items():
        pairs = judged(path, column=2)
        yield from zip(two_languages(name, path), (pairs.first, pairs.second), strict=True)


def evaluate(subject: Subject, data: Path, report: Reporter = silent) -> Outcome:
    """Area under the ROC curve and average precision of every score on every set of ``data``.

    The best F1 is there too, with its threshold; it is tuned on the set itself, and says so. Raises
    CorpusError.
    """
    figures: list[Figure] = []
    tuned: list[dict[str, Any]] = []
    missing: dict[str, None] = {}
    found = sets(data)
    for done, (name, path) in enumerate(found.items()):
        report(PLACE, done, len(found))
        pairs = judged(path, least=2, column=2, labels=LABELS)
        good = pairs.score == 1
        if good.all() or not good.any():
            raise CorpusError(f"{path}: all labels are {pairs.score[0]:g}; both kinds are needed")
        scores, gone = scored(subject, pairs, two_languages(name, path))
        missing |= dict.fromkeys(gone)
        statistics = {}
        for by, score in scores.items():
            statistics[f"auc by {by}"] = bootstrap.auc(score, good)
            statistics[f"average precision by {by}"] = bootstrap.average_precision(score, good)
            gold = [(row, row) for row in np.flatnonzero(good).tolist()]
            best = best_threshold(((s, row, row) for row, s in enumerate(score.tolist())), gold)
            tuned.append({"set": name, "score": by, **best.as_dict()})
        figures += measure(name, statistics, len(pairs))
    report(PLACE, len(found), len(found))
    headline = tuple(figure for figure in figures if figure.metric.startswith("auc"))
    rows = [["the set's own best F1", "by", "threshold", "F1", "precision", "recall"]]
    rows += [[one["set"], one["score"], *(f"{one[name]:.3f}" for name in TUNED)] for one in tuned]
    more = {"best F1, tuned on the set itself": tuned}
    notes = tuple(aligned(rows, left=2))
    return Outcome(PLACE, tuple(figures), headline, tuple(missing), notes, more)


def scored(
    subject: Subject, pairs: Judged, languages: tuple[str, str]
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Scores ``(n,) float64`` of pairs, by name, and why those that are not there are not."""
    texts = pairs.first, pairs.second
    vectors = subject.encode(texts[0], languages[0]), subject.encode(texts[1], languages[1])
    found = {
        "cosine": cosines(*vectors).astype(np.float64),
        "margin": Reference(texts, vectors, K).margins(texts, vectors),
    }
    if not isinstance(subject, Trained):
        return found, ()
    try:
        found["quality"] = Quality(subject.encoders[0]).score(*texts)
    except ArtifactError as error:
        return found, (str(error),)
    return found, ()
