"""Top-1 retrieval of gold sentences: the task that the mteb suite calls BUCC.v2.

It takes the sentences of the gold alone and asks if the target nearest by cosine is the
translation. There is no threshold and there are no distractors: its metrics are far above BUCC's
own protocol, and are not comparable. (The suite takes the training split, whose gold is public; its
first version, BUCC, leaves all targets in as distractors.)
"""

import numpy as np

from miner.errors import CorpusError
from miner.evaluation import metrics
from miner.evaluation.evaluated_model import EvaluatedModel
from miner.evaluation.mining_sets import MiningSet
from miner.evaluation.results import Metric, measure
from miner.evaluation.tatoeba import nearest_rows
from miner.text.corpus import read


def evaluate_set(model: EvaluatedModel, mining_set: MiningSet) -> tuple[Metric, ...]:
    """Measure F1 and accuracy on test, or on training where there is no test gold.

    The F1 is the mean over targets of the gold; each target is a class, and sources are classified.
    """
    split = mining_set.reported
    gold = sorted(mining_set.gold(split))
    vectors, row = [], []
    for side, language in enumerate(mining_set.languages):
        corpus = read(mining_set.need(f"{split}.{language}"), format="bucc")
        text = dict(zip(corpus.ids, corpus.sentences, strict=True))
        ids = sorted({pair[side] for pair in gold if pair[side] in text})
        vectors.append(model.encode([text[one] for one in ids], language))
        row.append({one: number for number, one in enumerate(ids)})
    known = [(row[0][s], row[1][t]) for s, t in gold if s in row[0] and t in row[1]]
    if not known:
        raise CorpusError(
            f"{mining_set.directory}: no id of {mining_set.pair}.{split}.gold is in the corpora"
        )
    source, target = np.array(known).T  # (gold pairs,) rows
    found = nearest_rows(vectors[0], vectors[1])[0][source]
    right = (found == target).astype(float)
    name = f"{mining_set.name} {split}, as mteb's BUCC.v2"
    (accuracy,) = measure(name, {"accuracy of top 1": metrics.mean(right)}, len(right))
    # A resample lacks some of the classes, which makes this F1 too high on it: no interval.
    return Metric(name, "f1 of top 1", weighted_f1(target, found), len(right)), accuracy


def weighted_f1(label: np.ndarray, found: np.ndarray) -> float:
    """Mean over classes of their F1, weighted by how often each is a label (``(n,) int`` both)."""
    # Number the classes of both together, so that a class has one number.
    every, number = np.unique(np.concatenate([label, found]), return_inverse=True)
    label, found = number[: len(label)], number[len(label) :]
    support, guessed, both = (
        np.bincount(kind, minlength=len(every)) for kind in (label, found, label[label == found])
    )
    f1 = 2 * both / np.maximum(support + guessed, 1)
    return float((f1 * support).sum() / support.sum())
