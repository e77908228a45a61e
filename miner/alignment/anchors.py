"""Anchors of an alignment: sentences that surely translate each other, and the band around them.

Anchors are mutual nearest neighbours by margin, reduced to the heaviest chain that increases on
both sides. In long documents the first anchors come from a sample of the source, and only the
segments between them are compared in full.
"""

import numpy as np

from miner.kernels.beads import heaviest_chain, widen_band
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.scoring.margin import neighborhood_mean

# Minimum cosine of an anchor, and minimum ratio to the mean cosine of the neighbours.
COSINE, MARGIN = 0.2, 1.05
# Number of sentence pairs n·m above which a sample is aligned first, then the segments between its
# anchors; and number of pairs in a segment.
ALL, SEGMENT = 1 << 26, 1 << 20
# States on either side of the line between two anchors.
WIDTH = 7
# Maximum states between two anchors that are all in the band.
RECTANGLE = 4000

Band = tuple[np.ndarray, np.ndarray]


def anchors(
    source: np.ndarray, target: np.ndarray, settings: SearchSettings
) -> tuple[np.ndarray, tuple[int, int]]:
    """Find the anchors of two documents: ``(p, 2) int64``, rows that increase on both sides.

    ``source (n, d)`` and ``target (m, d) float32`` are unit rows, or zero rows. Also returns two
    numbers: mutual nearest neighbours in the chain of anchors, and all of them.
    """
    sizes = len(source), len(target)
    if sizes[0] * sizes[1] <= ALL:
        pairs, weight = mutual(source, target, settings)
        chained = chain(pairs, weight, sizes[1])
        return chained, (len(chained), len(pairs))
    step = -(-sizes[0] * sizes[1] // ALL)
    pairs, weight = mutual(source[::step], target, settings)
    pairs[:, 0] *= step
    rough = chain(pairs, weight, sizes[1])
    corners = np.concatenate([[[-1, -1]], rough, [sizes]])
    parts, weights = [], []
    begin = corners[0]
    for number, end in enumerate(corners[1:], 1):
        area = (corners[min(number + 1, len(corners) - 1)] - begin).prod()
        if area < SEGMENT and number < len(corners) - 1:
            continue
        (i, j), (i_end, j_end) = begin + 1, end
        if (end - begin).prod() <= ALL:
            inner, weight = mutual(source[i:i_end], target[j:j_end], settings)
            parts.append(inner + begin + 1)
            weights.append(weight)
        if number < len(corners) - 1:
            parts.append(end[None])
            weights.append(np.ones(1))
        begin = end
    return chain(np.concatenate(parts), np.concatenate(weights), sizes[1]), (len(rough), len(pairs))


def mutual(
    source: np.ndarray, target: np.ndarray, settings: SearchSettings
) -> tuple[np.ndarray, np.ndarray]:
    """Find mutual nearest neighbours ``(p, 2) int64``, sorted, and their cosines ``(p,)``."""
    if not (len(source) and len(target)):
        return np.empty((0, 2), np.int64), np.empty(0)
    forward, backward = nearest_both(_whole(source), _whole(target), settings)
    row, best = np.arange(len(source)), forward.row[:, 0]
    cosine = forward.similarity[:, 0]
    means = neighborhood_mean(forward), neighborhood_mean(backward)
    usual = (means[0] + means[1][best]) / 2
    keep = (best >= 0) & (backward.row[best, 0] == row)
    keep &= (cosine > COSINE) & (cosine > MARGIN * usual)
    return np.stack([row[keep], best[keep]], axis=1), cosine[keep].astype(np.float64)


def _whole(vectors: np.ndarray) -> VectorSet:
    """Return a vector set of all rows except zero rows."""
    return VectorSet(np.ascontiguousarray(vectors), np.flatnonzero(vectors.any(axis=1)))


def chain(pairs: np.ndarray, weight: np.ndarray, size: int) -> np.ndarray:
    """Return the heaviest increasing chain of ``pairs (p, 2)``, which are sorted."""
    keep = np.zeros(len(pairs), np.bool_)
    heaviest_chain(np.ascontiguousarray(pairs[:, 1]), weight, size, keep)
    return pairs[keep]


def band(anchors: np.ndarray, n: int, m: int) -> Band:
    """Return the band of states around the ``anchors`` of n and m sentences.

    ``low (n + 1,)`` is the first state of each row, ``first (n + 2,)`` the first cell.
    """
    low = np.full(n + 1, m, np.int64)
    high = np.zeros(n + 1, np.int64)
    # Corners of the gaps: an anchor is a bead from the last state of a gap to the first of the
    # next.
    starts = np.concatenate([[[0, 0]], anchors + 1])
    ends = np.concatenate([anchors, [[n, m]]])
    widen_band(starts, ends, WIDTH, RECTANGLE, low, high)
    low = np.minimum.accumulate(low.clip(0, m)[::-1])[::-1]
    high = np.maximum.accumulate(high.clip(0, m))
    low[0], high[-1] = 0, m
    return np.ascontiguousarray(low), np.concatenate([[0], np.cumsum(high - low + 1)])
