"""Labelled noisy bitext: AUC and average precision of scores that should rank good pairs first.

Files ``SOURCE-TARGET.NAME-labelled.tsv`` of ``source⇥target⇥label``, 1 for a good pair. Scores are
the cosine, the ratio margin against the set itself (Artetxe & Schwenk 2019), and the calibrated
quality of a model that carries a verifier.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import ArtifactError, CorpusError, NoTestSetError
from miner.evaluation import metrics
from miner.evaluation.evaluated_model import EvaluatedModel, MinerModel
from miner.evaluation.labelled_text import LabelledPairs, language_pair, read_labelled, tsv_files
from miner.evaluation.results import Metric, TaskResult, measure
from miner.progress import Reporter, counted, silent
from miner.scoring.quality import Quality, cosines
from miner.scoring.reference import Reference
from miner.scoring.verifier import Verifier
from miner.text_table import aligned

TASK = "noisy"
LABELLED = "-labelled"
# Neighbours for the margin.
K = 4
# Labels of a bad pair, and of a good one.
LABELS = (0.0, 1.0)


def sets(data: Path) -> dict[str, Path]:
    """Return the labelled files by name.

    Raises CorpusError if there are none, or a name does not begin with two languages.
    """
    files = {
        name.removesuffix(LABELLED): path
        for name, path in tsv_files(data / TASK).items()
        if name.endswith(LABELLED)
    }
    if not files:
        raise NoTestSetError(data / TASK, f"de-en.web{LABELLED}.tsv")
    for name, path in files.items():
        language_pair(name, path)
    return files


def texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield all sentences of the evaluation in lists, with the language of each list."""
    for name, path in sets(data).items():
        pairs = read_labelled(path, column=2)
        yield from zip(language_pair(name, path), (pairs.first, pairs.second), strict=True)


def evaluate(model: EvaluatedModel, data: Path, report: Reporter = silent) -> TaskResult:
    """Measure AUC and average precision of every score on every set of ``data``.

    The best F1 is listed too, with its threshold; it is tuned on the set itself, and labelled so.
    Raises CorpusError.
    """
    every: list[Metric] = []
    tuned: list[dict[str, Any]] = []
    missing: dict[str, None] = {}
    for name, path in counted(TASK, sets(data).items(), report):
        pairs = read_labelled(path, least=2, column=2, labels=LABELS)
        good = pairs.score == 1  # (n,) bool
        if good.all() or not good.any():
            raise CorpusError(f"{path}: all labels are {pairs.score[0]:g}; both kinds are needed")
        scores, unknown = scores_of(model, pairs, language_pair(name, path))
        missing |= dict.fromkeys(unknown)
        statistics = {}
        for by, score in scores.items():
            statistics[f"auc by {by}"] = metrics.auc(score, good)
            statistics[f"average precision by {by}"] = metrics.average_precision(score, good)
            gold = [(row, row) for row in np.flatnonzero(good).tolist()]
            ids = ((value, row, row) for row, value in enumerate(score.tolist()))
            best = metrics.best_threshold(ids, gold)
            tuned.append({"set": name, "score": by, **best.as_dict()})
        every += measure(name, statistics, len(pairs))
    headline = tuple(metric for metric in every if metric.name.startswith("auc"))
    rows = [["the set's own best F1", "by", "threshold", "F1", "precision", "recall"]]
    for entry in tuned:
        values = (entry[name] for name in ("threshold", "f1", "precision", "recall"))
        rows.append([entry["set"], entry["score"], *(f"{value:.3f}" for value in values)])
    more = {"best F1, tuned on the set itself": tuned}
    notes = tuple(aligned(rows, left=2))
    return TaskResult(TASK, tuple(every), headline, tuple(missing), notes, more)


def scores_of(
    model: EvaluatedModel, pairs: LabelledPairs, languages: tuple[str, str]
) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
    """Score the pairs by each score of the model: ``(n,) float64`` by name.

    The second value has the reasons for missing scores.
    """
    texts = pairs.first, pairs.second
    vectors = model.encode(texts[0], languages[0]), model.encode(texts[1], languages[1])
    scores = {
        "cosine": cosines(*vectors).astype(np.float64),
        "margin": Reference(texts, vectors, K).margins(texts, vectors),
    }
    if not isinstance(model, MinerModel):
        return scores, ()
    try:
        scores["quality"] = Quality(Verifier(model.encoders[0])).score(*texts)
    except ArtifactError as error:
        return scores, (str(error),)
    return scores, ()
