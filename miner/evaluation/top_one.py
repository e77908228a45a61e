"""The task that the mteb suite calls BUCC.v2, which is not mining.

Of the sentences in the gold alone, is the target nearest by cosine the translation? No threshold,
no distractors: its figures are far above those of BUCC's own protocol, and never stand for them.
(The suite takes the training split, whose gold is public; its first version, BUCC, leaves all
targets in as distractors.)
"""

import numpy as np

from miner.errors import CorpusError
from miner.evaluation import bootstrap
from miner.evaluation.mining_sets import Task, read_gold_of
from miner.evaluation.results import Figure, measure
from miner.evaluation.subject import Subject
from miner.evaluation.tatoeba import nearest
from miner.text.corpus import read


def figures_of(subject: Subject, task: Task) -> tuple[Figure, ...]:
    """F1 and accuracy, on test, or on training where there is no test gold.

    The F1 is the mean over targets of the gold, each a class that sources are to be given.
    """
    split = task.reported
    gold = sorted(read_gold_of(task, split))
    vectors, row = [], []
    for side, language in enumerate(task.languages):
        corpus = read(task.need(f"{split}.{language}"), format="bucc")
        text = dict(zip(corpus.ids, corpus.sentences, strict=True))
        ids = sorted({pair[side] for pair in gold if pair[side] in text})
        vectors.append(subject.encode([text[one] for one in ids], language))
        row.append({one: number for number, one in enumerate(ids)})
    known = [(row[0][s], row[1][t]) for s, t in gold if s in row[0] and t in row[1]]
    if not known:
        raise CorpusError(f"{task.directory}: no id of {task.pair}.{split}.gold is in the corpora")
    source, target = np.array(known).T
    found = nearest(vectors[0], vectors[1])[0][source]
    right = (found == target).astype(float)
    name = f"{task.name} {split}, as mteb's BUCC.v2"
    (accuracy,) = measure(name, {"accuracy of top 1": bootstrap.mean(right)}, len(right))
    # Drawn with replacement, classes lose some of their rivals: draws of this F1 are too high.
    return Figure(name, "f1 of top 1", weighted_f1(target, found), len(right)), accuracy


def weighted_f1(label: np.ndarray, found: np.ndarray) -> float:
    """The mean over labels, weighted by how often each occurs, of the F1 of finding it."""
    # Of labels first, and of what was found after them: the same number for the same class.
    every, number = np.unique(np.concatenate([label, found]), return_inverse=True)
    label, found = number[: len(label)], number[len(label) :]
    support, guessed, both = (
        np.bincount(kind, minlength=len(every)) for kind in (label, found, label[label == found])
    )
    f1 = 2 * both / np.maximum(support + guessed, 1)
    return float((f1 * support).sum() / support.sum())
