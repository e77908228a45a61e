"""SentEval: logistic regression on frozen vectors (Conneau and Kiela 2018; P18, arXiv, Table 8).

Folds and grids follow SentEval's classifiers in scikit-learn. One sentence is its vector, a pair is
|u - v| and u * v:

- MR, CR, SUBJ, MPQA: ten folds; each chooses the inverse weight of the penalty by ten folds of its
  training part.
- TREC, MRPC: chosen by ten folds of the training part.
- SST, SICK-E: chosen on the development part.
- SICK-R, STS-B: the distribution over the whole grades around a grade (Tai et al. 2015) is learned,
  and its mean is correlated with the grades; chosen by Pearson's correlation on the development
  part.

Vectors have unit length here; SentEval's examples do not normalise them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from miner.errors import CorpusError, NoTestSetError
from miner.evaluation import metrics
from miner.evaluation.evaluated_model import EvaluatedModel
from miner.evaluation.metrics import pearson, value_of
from miner.evaluation.results import Metric, TaskResult, measure
from miner.libraries import library
from miner.progress import Reporter, counted, silent
from miner.text.language_codes import ENGLISH
from miner_train.papers.senteval_sets import LAYOUTS, Parts, SetPart, find

TASK = "senteval"
# SentEval's seed and number of folds, and its grids of C by the way C is chosen.
SEED, FOLDS = 1111, 10
NESTED_GRID = SPLIT_GRID = tuple(2.0**power for power in range(-2, 4))
FOLDS_GRID = tuple(2.0**power for power in range(-1, 6))

NESTED = ("MR", "CR", "SUBJ", "MPQA")
BY_FOLDS = ("TREC", "MRPC")
GRADED = ("SICK-R", "STS-B")

Fitted = Callable[[np.ndarray], np.ndarray]


def evaluate(
    model: EvaluatedModel,
    data: Path,
    report: Reporter = silent,
    names: Sequence[str] = tuple(LAYOUTS),
    folds: int = FOLDS,
) -> TaskResult:
    """Measure the sets ``names`` in ``data``; fewer than ten ``folds`` save time.

    Raises NoTestSetError if there are none, CorpusError for a faulty file, and DependencyError
    without scikit-learn.
    """
    _regression()  # fail before the first set is read if the library is missing
    metrics: list[Metric] = []
    missing = []
    readers = {name: find(data, name) for name in names}
    if not any(readers.values()):
        raise NoTestSetError(data, "MR/rt-polarity.pos, SST/binary/sentiment-train, TREC …")
    for name, read in counted(TASK, readers.items(), report):
        if read is None:
            missing.append(f"{name}: not in {data}")
            continue
        with threadpool_limits(1):  # the same order of additions on every machine
            metrics += _measured(name, model, read(), folds)
    headline = tuple(metric for metric in metrics if metric.name != "f1")
    more: dict[str, Any] = {"folds": folds, "seed": SEED}
    return TaskResult(TASK, tuple(metrics), headline, tuple(missing), more=more)


def _measured(name: str, model: EvaluatedModel, parts: Parts, folds: int) -> tuple[Metric, ...]:
    x = {part: features(model, items) for part, items in parts.items()}
    label = {part: items.label for part, items in parts.items()}
    for part, values in label.items():
        if len(np.unique(values)) < 2:
            raise CorpusError(f"{name}: all items of {part} have one label; is the file whole?")
    if name in GRADED:
        predicted = graded(x, label)
        return measure(name, {"pearson": pearson(predicted, label["test"])}, len(predicted))
    if name in NESTED:
        predicted = nested(x["all"], label["all"], folds)
        gold = label["all"]
    elif name in BY_FOLDS:
        best = chosen_by_folds(x["train"], label["train"], FOLDS_GRID, folds)
        predicted, gold = fitted(x["train"], label["train"], best)(x["test"]), label["test"]
    else:
        predicted, gold = by_development(x, label), label["test"]
    statistics = {"accuracy": metrics.mean((predicted == gold).astype(np.float64))}
    if name == "MRPC":
        good, guess = gold == 1, predicted == 1
        both = (2.0 * (good & guess), good.astype(np.float64) + guess)
        statistics["f1"] = metrics.ratio(*both)
    return measure(name, statistics, len(gold))


def features(model: EvaluatedModel, items: SetPart) -> np.ndarray:
    """Return the features of items: ``(n, d)`` for one sentence, ``(n, 2d)`` for two."""
    u = model.encode(items.first, ENGLISH)
    if items.second is None:
        return u
    v = model.encode(items.second, ENGLISH)
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def nested(x: np.ndarray, label: np.ndarray, folds: int) -> np.ndarray:
    """Predict the labels of all items ``(n,)``, each by a model trained on the other folds."""
    out = np.empty(len(x))
    for train, test in _stratified(x, label, folds):
        best = chosen_by_folds(x[train], label[train], NESTED_GRID, folds)
        out[test] = fitted(x[train], label[train], best)(x[test])
    return out


def chosen_by_folds(x: np.ndarray, label: np.ndarray, grid: Sequence[float], folds: int) -> float:
    """Return the C of ``grid`` with the best mean accuracy over the folds; the first wins a tie."""
    parts = list(_stratified(x, label, folds))

    def accuracy(c: float) -> float:
        predicted = (fitted(x[train], label[train], c)(x[test]) for train, test in parts)
        pairs = zip(predicted, parts, strict=True)
        return float(np.mean([(answers == label[test]).mean() for answers, (_, test) in pairs]))

    return max(grid, key=accuracy)


def by_development(x: dict[str, np.ndarray], label: dict[str, np.ndarray]) -> np.ndarray:
    """Predict the test part with the C that is best on the development part."""
    models = [fitted(x["train"], label["train"], c) for c in SPLIT_GRID]
    right = [(model(x["dev"]) == label["dev"]).mean() for model in models]
    return models[int(np.argmax(right))](x["test"])


def graded(x: dict[str, np.ndarray], grade: dict[str, np.ndarray]) -> np.ndarray:
    """Predict the grades of the test part ``(n,)``: means of distributions over whole grades."""
    low = np.floor(grade["train"])
    # A grade of 3.6 counts 0.4 times as 3, and 0.6 times as 4.
    share = grade["train"] - low
    twice, both = np.concatenate([x["train"]] * 2), np.concatenate([low, low + 1])
    weight = np.concatenate([1 - share, share])
    kept = weight > 0
    models = [
        _regression()(C=c, random_state=SEED, max_iter=300).fit(
            twice[kept], both[kept], sample_weight=weight[kept]
        )
        for c in SPLIT_GRID
    ]

    def mean(classifier: Any, part: str) -> np.ndarray:
        return classifier.predict_proba(x[part]) @ classifier.classes_

    # Without a development part C is the middle of the grid.
    if "dev" not in x:
        return mean(models[len(models) // 2], "test")
    quality = [
        value_of(pearson(mean(model, "dev"), grade["dev"]), len(grade["dev"])) for model in models
    ]
    return mean(models[int(np.argmax(quality))], "test")


def fitted(x: np.ndarray, label: np.ndarray, c: float) -> Fitted:
    """Fit logistic regression; return the prediction of labels."""
    predict: Fitted = _regression()(C=c, random_state=SEED, max_iter=300).fit(x, label).predict
    return predict


def _stratified(x: np.ndarray, label: np.ndarray, folds: int) -> Any:
    from sklearn.model_selection import StratifiedKFold

    return StratifiedKFold(folds, shuffle=True, random_state=SEED).split(x, label)


def _regression() -> Any:
    return library("sklearn.linear_model", "SentEval", "train").LogisticRegression
