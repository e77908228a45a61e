"""Features of a candidate pair among its rivals and neighbours."""

import numpy as np

from miner.knn.neighbors import Neighbors
from miner.scoring.margin import Candidates

# ``alone`` is the logit of the pair features, as models on disk call it.
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
# Largest lead that counts; a pair without a rival has it.
MAX_LEAD = 12.0


def context_features(
    candidates: Candidates, forward: Neighbors, backward: Neighbors, logit: np.ndarray
) -> np.ndarray:
    """Compute ``CONTEXT_FEATURES`` of candidates: ``(m, f) float32``.

    ``candidates`` are all of a search; ``logit (m,)`` those of their pair features. Every feature
    but ``alone`` and ``rank`` comes as the mean and the minimum over the two sentences:

    - ``lead``: the logit minus that of the best other candidate of the sentence; ``lead_second``:
      minus the second best.
    - ``gap``: the cosine minus that of the nearest other neighbour.
    - ``rank``: natural logarithm of the worse of the pair's two ranks, k + 1 where a sentence is
      not on the other's list.
    """
    out = np.empty((len(candidates), len(CONTEXT_FEATURES)), dtype=np.float32)
    out[:, 0] = logit
    leads = _leads(logit, candidates.source_row), _leads(logit, candidates.target_row)
    for column in (0, 1):
        left, right = leads[0][:, column], leads[1][:, column]
        out[:, 1 + 2 * column] = (left + right) / 2
        out[:, 2 + 2 * column] = np.minimum(left, right)
    cosine = candidates.similarity
    left = cosine - _nearest_other(forward, candidates.source_row, candidates.forward_rank)
    right = cosine - _nearest_other(backward, candidates.target_row, candidates.backward_rank)
    out[:, 5], out[:, 6] = (left + right) / 2, np.minimum(left, right)
    k = max(forward.row.shape[1], backward.row.shape[1])
    ranks = np.stack([candidates.forward_rank, candidates.backward_rank])
    out[:, 7] = np.log(np.where(ranks == 0, k + 1, ranks).max(axis=0))
    return out


def _leads(score: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Subtract from each score the best, and the second best, of the others of its key: ``(m, 2)``."""
    order = np.lexsort((-score, key))
    ordered = score[order]
    starts = np.flatnonzero(np.r_[True, key[order][1:] != key[order][:-1]])[: len(order)]
    sizes = np.diff(np.r_[starts, len(order)])
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    best = np.full((len(starts), 3), -np.inf)
    for place in range(3):
        has = sizes > place
        best[has, place] = ordered[starts[has] + place]
    best = np.repeat(best, sizes, axis=0)
    leads = np.empty((len(order), 2))
    for place in range(2):
        rival = np.where(rank <= place, best[:, place + 1], best[:, place])
        leads[order, place] = np.minimum(ordered - rival, MAX_LEAD)
    return np.maximum(leads, -MAX_LEAD)


def _nearest_other(neighbors: Neighbors, row: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return the cosine of each sentence's nearest neighbour other than the candidate, else 0."""
    lists = np.where(neighbors.row >= 0, neighbors.similarity, 0)
    second = lists[:, 1] if lists.shape[1] > 1 else np.zeros(len(lists), np.float32)
    return np.where(rank == 1, second[row], lists[row, 0])
