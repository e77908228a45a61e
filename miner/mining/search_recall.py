"""Recall of a search that leaves pairs out, measured on a sample that is compared with everything.

The recall of all neighbours is a severe measure: most of them are far from any translation, and it
does not matter which of many poor candidates a list holds. Of the neighbours that look like
translations by their pair features, nearly all should be among the candidates.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.machine import memory_budget
from miner.mining.verification import held_bytes

# Sentences of either side that are searched exhaustively, and memory for the blocks of that.
SAMPLE, LEAST_MEMORY = 2000, 48 << 20

LogitsOf = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Recall:
    """Recall of neighbours in [0, 1], from source to target and back.

    ``likely`` neighbours of the sample look like translations, and ``found`` of them are in the
    lists of either direction; both 0 without verification.
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
    held = held_bytes((len(lists[0]), len(lists[1])), settings.neighbors)
    least = (20 * settings.neighbors + 100) * sum(map(len, lists)) + LEAST_MEMORY
    memory = max(memory_budget(settings.memory) - held, least)
    settings = replace(settings, engine="fused", exact=False, memory=memory)
    recall, likely, found = [], 0, 0
    for here in (0, 1):
        queries, base = (replace(side, ann=None) for side in (sides[here], sides[1 - here]))
        part = replace(queries, rows=queries.rows[queries.sample(SAMPLE)])
        # The lists of the sample; those of the other side are not needed.
        true = nearest_both(part, base, settings)[0]
        listed, wanted = lists[here].similarity[part.rows], true.similarity[part.rows]
        exists = true.row[part.rows] >= 0  # (s, k)
        last = np.where(exists, wanted, np.inf).min(axis=1, initial=np.inf, keepdims=True)
        hits = (listed >= last) & exists
        recall.append(float(hits.sum() / max(exists.sum(), 1)))
        if logits_of is None:
            continue
        query, place = np.nonzero(exists)
        pair = [part.rows[query], true.row[part.rows][query, place]]
        source, target = pair if here == 0 else pair[::-1]
        order = np.argsort(source, kind="stable")
        source, target = source[order], target[order]
        good = logits_of(source, target) > 0
        source, target = source[good], target[good]
        inside = (lists[0].row[source] == target[:, None]).any(axis=1)
        inside |= (lists[1].row[target] == source[:, None]).any(axis=1)
        likely, found = likely + len(source), found + int(inside.sum())
    return Recall(recall[0], recall[1], likely, found)
