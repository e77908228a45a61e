"""Features of a candidate pair among its rivals and neighbours."""

import numpy as np

from miner.knn.neighbors import Neighbors
from miner.scoring.margin import Candidates, run_starts

# ``alone`` is the logit of the pair features; models on disk have this name.
CONTEXT_FEATURES = (
    "alone",
    "lead",
    "lead_min",
    "lead_second",
    "lead_second_min",
    "gap",
    "gap_min",
    "rank",
)
# Maximum lead; the lead of a pair without a rival.
MAX_LEAD = 12.0


class BestLogits:
    """Three best logits of every sentence of a side: ``best (n, 3) float64``, -inf for missing
    ones.
    """

    def __init__(self, n: int):
        self.best = np.full((n, 3), -np.inf)

    @classmethod
    def of(cls, best: np.ndarray) -> "BestLogits":
        """Wrap an array of collected logits, ``(n, 3)``."""
        logits = cls(0)
        logits.best = best
        return logits

    def add(self, row: np.ndarray, logit: np.ndarray) -> None:
        """Add the candidates of sentences ``row (m,)`` with their logits."""
        if not len(row):
            return
        # Sorting by row, then taking the maximum three times, is faster than a sort by row and
        # logit.
        order = np.argsort(row, kind="stable")
        rows, left = row[order], logit[order].astype(np.float64)
        begins = run_starts(rows)
        starts, group = np.flatnonzero(begins), np.cumsum(begins) - 1
        top = np.concatenate([np.empty((len(starts), 3)), self.best[rows[starts]]], axis=1)
        for rank in range(3):
            top[:, rank] = np.maximum.reduceat(left, starts)
            at = np.flatnonzero(left == top[group, rank])
            left[at[run_starts(group[at])]] = -np.inf
        self.best[rows[starts]] = -np.sort(-top, axis=1)[:, :3]

    def leads(self, row: np.ndarray, logit: np.ndarray) -> np.ndarray:
        """Subtract the best and second best logits of the sentence's other candidates: (m, 2)."""
        best = self.best[row]
        # A candidate among the best must not count as its own rival.
        rivals = np.where(logit[:, None] >= best[:, :2], best[:, 1:], best[:, :2])
        return np.clip(logit[:, None] - rivals, -MAX_LEAD, MAX_LEAD)


def two_nearest(neighbors: Neighbors) -> np.ndarray:
    """Return the similarities of each sentence's two nearest, ``(n, 2) float32``; 0 if missing."""
    nearest = np.zeros((len(neighbors), 2), dtype=np.float32)
    width = min(2, neighbors.row.shape[1])
    exists = neighbors.row[:, :width] >= 0
    nearest[:, :width] = np.where(exists, neighbors.similarity[:, :width], 0)
    return nearest


def context_features(
    candidates: Candidates,
    nearest: tuple[np.ndarray, np.ndarray],
    k: int,
    logit: np.ndarray,
    best: tuple[BestLogits, BestLogits],
) -> np.ndarray:
    """Compute ``CONTEXT_FEATURES`` of candidates: ``(m, f) float32``.

    ``nearest`` are the :func:`two_nearest` of both sides, whose lists have at most ``k`` entries.
    ``logit (m,)`` is the logit of the pair features; ``best`` are the best logits of both sides
    over all candidates of the search. Every feature but ``alone`` and ``rank`` comes as the mean
    and the minimum over the two sentences:

    - ``lead``: the logit minus the best other candidate's of the sentence; ``lead_second``: minus
      the second best.
    - ``gap``: the cosine minus the nearest other neighbour's.
    - ``rank``: natural logarithm of the worse of the pair's two ranks, k + 1 where a sentence is
      not on the other's list.
    """
    out = np.empty((len(candidates), len(CONTEXT_FEATURES)), dtype=np.float32)
    out[:, 0] = logit
    rows = candidates.source_row, candidates.target_row
    leads = [side.leads(row, logit) for side, row in zip(best, rows, strict=True)]
    for column in (0, 1):
        left, right = leads[0][:, column], leads[1][:, column]
        out[:, 1 + 2 * column] = (left + right) / 2
        out[:, 2 + 2 * column] = np.minimum(left, right)
    cosine = candidates.similarity
    ranks = candidates.forward_rank, candidates.backward_rank
    # If the pair is a sentence's nearest, its nearest other neighbour is the second one.
    left, right = (
        cosine - near[row, (rank == 1).astype(np.int64)]
        for near, row, rank in zip(nearest, rows, ranks, strict=True)
    )
    out[:, 5], out[:, 6] = (left + right) / 2, np.minimum(left, right)
    both = np.stack(ranks)
    out[:, 7] = np.log(np.where(both == 0, k + 1, both).max(axis=0))
    return out


def best_logits(
    candidates: Candidates, logit: np.ndarray, sizes: tuple[int, int]
) -> tuple[BestLogits, BestLogits]:
    """Return the best logits of both sides, of ``sizes`` sentences, from all candidates."""
    best = BestLogits(sizes[0]), BestLogits(sizes[1])
    for side, row in zip(best, (candidates.source_row, candidates.target_row), strict=True):
        side.add(row, logit)
    return best
