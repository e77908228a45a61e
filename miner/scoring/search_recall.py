"""Recall of an approximate search, measured by comparing a sample with everything.

The recall of all neighbours is a severe measure: most are far from any translation, and it does not
matter which of many poor candidates a list holds. Nearly all neighbours that look like translations
by their pair features should be among the candidates.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from miner.knn.neighbors import Neighbors
from miner.knn.refine import search_float32
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.machine import thread_count

# Sentences of each side that are compared with everything, and rows per block.
SAMPLE, BLOCK = 1000, 8192

LogitsOf = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Recall:
    """Recall of neighbours in [0, 1], in both directions.

    ``likely``: neighbours of the sample that look like translations; ``found``: how many of them
    are in the lists of either direction. Both are 0 without verification.
    """

    forward: float
    backward: float
    likely: int = 0
    found: int = 0

    def __str__(self) -> str:
        text = f"recall of neighbours {self.forward:.4f} from source to target, "
        text += f"{self.backward:.4f} back"
        if self.likely:
            text += f"; found {self.found:,} of {self.likely:,} likely translations"
        return f"{text} (measured on a sample)"


def measure(
    sides: tuple[VectorSet, VectorSet],
    lists: tuple[Neighbors, Neighbors],
    settings: SearchSettings,
    logits_of: LogitsOf | None = None,
) -> Recall:
    """Measure the recall of ``lists``, the neighbours of both ``sides``.

    ``logits_of(source_row, target_row)`` computes the logits of pair features; sources ascend.
    """
    threads, k = thread_count(settings.threads), settings.neighbors
    recall, likely, listed = [], 0, 0
    for here in (0, 1):
        queries, base = sides[here], sides[1 - here]
        sample = queries.sample(SAMPLE)
        if not len(sample) or not len(base):
            recall.append(1.0)
            continue
        true, nearest = search_float32(queries.take(sample), base, k, threads, BLOCK)  # (s, k)
        row = queries.rows[sample]
        hits = lists[here].similarity[row, : true.shape[1]] >= true[:, -1:]
        recall.append(float(hits.mean()))
        if logits_of is None:
            continue
        pair = [np.repeat(row, true.shape[1]), base.rows[nearest.ravel()]]
        source, target = pair if here == 0 else pair[::-1]
        order = np.argsort(source, kind="stable")
        source, target = source[order], target[order]
        good = logits_of(source, target) > 0
        source, target = source[good], target[good]
        inside = (lists[0].row[source] == target[:, None]).any(axis=1)
        inside |= (lists[1].row[target] == source[:, None]).any(axis=1)
        likely, listed = likely + len(source), listed + int(inside.sum())
    return Recall(recall[0], recall[1], likely, listed)
