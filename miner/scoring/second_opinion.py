"""Second opinion: margins of doubtful pairs by another encoder, among the sentences that it read.

The engine finds and ranks all pairs by a fast model. A slow encoder, such as a transformer, reads
the sentences of the pairs in doubt alone. Its vectors are centred by side: what all sentences of a
language share tells nothing of a pair. The margin of a pair is its cosine less the mean cosine of
both sentences to their nearest among the sentences read.
"""

from typing import Any, NamedTuple

import numpy as np

from miner.kernels.exact import rescore
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.scoring.logistic import log_odds, sigmoid
from miner.scoring.margin import margin_score, neighborhood_mean

# Neighbours of a sentence that its margins are relative to.
NEAREST = 4
# Sentences of a side without which neither their centre nor their neighbours tell anything.
FEWEST = 20
# Probability by the first opinion of candidates that are read.
DOUBTFUL = 0.01
# What an unlikely pair of mining gets that is not read (tried values: benchmarks/LOG.md).
UNREAD = -1.6
# Qualities that are read, from below the bound of any language on; posterior probabilities of beads
# that are.
BAND, BEAD_BAND = (0.002, 0.9), (0.05, 0.95)
# Step from one row to the next of the other side, in pairs by chance.
STEP = 7919
# Rows that are centred at a time.
BLOCK = 1 << 14


class Weighing(NamedTuple):
    """Log-odds that a margin adds: ``weight * (min(margin, most) - neutral)``.

    Margins are in units of the spread of cosines by chance.
    """

    weight: float
    neutral: float
    most: float = np.inf

    def added(self, margin: np.ndarray) -> np.ndarray:
        """Return the log-odds ``(m,) float64`` that margins add. NaN where there is no margin."""
        return np.asarray(self.weight * (np.minimum(margin, self.most) - self.neutral), np.float64)


# Of a pair of mining, and of a quality (fits: benchmarks/LOG.md). A large margin says that a pair
# is related, but not that nothing is left out or altered, which the quality is about.
MINING, QUALITY = Weighing(1.0, 2.0), Weighing(0.7, -0.15, 1.0)
# Of the score of a bead, an alignment's own.
BEADS = Weighing(0.9, 0.0)
# Constants that decide results: a kept task counts only while they are the same.
DECIDING = (
    *("NEAREST", "FEWEST", "DOUBTFUL", "UNREAD", "BAND", "BEAD_BAND", "STEP"),
    *("MINING", "QUALITY", "BEADS"),
)


def constants() -> dict[str, Any]:
    """Return the constants that decide who is read and how, for the fingerprints of tasks."""
    return {name: globals()[name] for name in DECIDING}


def centred(vectors: np.ndarray, of: np.ndarray | None = None) -> np.ndarray:
    """Subtract the mean of vectors ``of (k, d)``, by default their own, and normalise them.

    Returns ``(n, d) float32``. Zero rows are sentences without a vector: they stay zero, and are
    not part of the mean.
    """
    base = vectors if of is None else of
    known = base.any(axis=1)
    total = np.zeros(base.shape[1])
    for start in range(0, len(base), BLOCK):
        total += base[start : start + BLOCK].sum(axis=0, dtype=np.float64)
    mean = total / max(int(known.sum()), 1)
    out = np.zeros(vectors.shape, dtype=np.float32)
    for start in range(0, len(vectors), BLOCK):
        part = vectors[start : start + BLOCK].astype(np.float64)
        there = part.any(axis=1)
        part -= mean
        length = np.linalg.norm(part, axis=1)
        # A sentence at the centre, up to rounding, has no direction.
        there &= length > 1e-6
        out[start : start + BLOCK][there] = part[there] / length[there, None]
    return out


def margins(
    source: np.ndarray,
    target: np.ndarray,
    source_row: np.ndarray,
    target_row: np.ndarray,
    *,
    threads: int | None = None,
    memory: int | None = None,
) -> np.ndarray:
    """Return the margins of pairs of rows by centred vectors ``(n, d)`` and ``(m, d) float32``.

    ``(p,) float64``: the cosine less half the sum of the mean cosines of both sentences to their
    :data:`NEAREST` on the other side. NaN where a sentence has no vector, and everywhere if a side
    has fewer than :data:`FEWEST` with one.
    """
    left, right = (VectorSet(side, np.flatnonzero(side.any(axis=1))) for side in (source, target))
    if min(len(left), len(right)) < FEWEST or not len(source_row):
        return np.full(len(source_row), np.nan)
    settings = SearchSettings(
        NEAREST, rank="margin", exact=True, device="cpu", threads=threads, memory=memory
    )
    forward, backward = (neighborhood_mean(lists) for lists in nearest_both(left, right, settings))
    cosine = np.empty((len(source_row), 1), dtype=np.float32)
    rows = np.ascontiguousarray(target_row)[:, None]
    rescore(source, target, rows, cosine, np.ascontiguousarray(source_row))
    margin = margin_score(cosine[:, 0], forward[source_row], backward[target_row], "distance")
    known = source[source_row].any(axis=1) & target[target_row].any(axis=1)
    return np.where(known, margin, np.nan)


def chance_spread(source: np.ndarray, target: np.ndarray) -> float:
    """Return the standard deviation of the cosines of random pairs of centred vectors.

    Encoders differ in it by their dimension and training, and in their margins in proportion.
    """
    left, right = (side[side.any(axis=1)] for side in (source, target))
    if min(len(left), len(right)) < FEWEST:
        return 1.0
    rows = np.arange(max(len(left), len(right)))
    source_vectors, target_vectors = left[rows % len(left)], right[rows * STEP % len(right)]
    return max(
        float(np.einsum("nd,nd->n", source_vectors, target_vectors, dtype=np.float64).std()), 1e-3
    )


def standard_margins(
    source: np.ndarray,
    target: np.ndarray,
    source_row: np.ndarray,
    target_row: np.ndarray,
    *,
    threads: int | None = None,
    memory: int | None = None,
) -> np.ndarray:
    """Return the margins of pairs of rows among the sentences of these pairs, ``(p,) float64``.

    Vectors ``(n, d)`` and ``(m, d)`` are not centred. Unit: the spread of cosines by chance.
    """
    left, source_index = np.unique(source_row, return_inverse=True)
    right, target_index = np.unique(target_row, return_inverse=True)
    sides = centred(source[left]), centred(target[right])
    margin = margins(*sides, source_index, target_index, threads=threads, memory=memory)
    return margin / chance_spread(*sides)


def doubt_limit(score: np.ndarray, most: int | None) -> float:
    """Return the absolute log-odds below which the ``most`` most doubtful scores are, or fewer.

    Infinite without a maximum, or where there are no more scores.
    """
    if most is None or most >= len(score):
        return np.inf
    return float(np.sort(np.abs(log_odds(score)))[most])


def in_doubt(quality: np.ndarray) -> np.ndarray:
    """Return a mask of the qualities that a second opinion is asked about."""
    return (quality >= BAND[0]) & (quality <= BAND[1])


def bead_in_doubt(posterior: np.ndarray) -> np.ndarray:
    """Return a mask of the posterior probabilities of beads that are read."""
    return (posterior >= BEAD_BAND[0]) & (posterior <= BEAD_BAND[1])


def of_both(quality: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """Return the qualities ``(m,)`` of pairs by both opinions: by margins in spreads ``(m,)``.

    Qualities outside of the band stay, and those without a margin.
    """
    combined, read = quality.copy(), in_doubt(quality) & ~np.isnan(margin)
    combined[read] = sigmoid(log_odds(quality[read]) + QUALITY.added(margin[read]))
    return combined


def counted(added: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the log-odds to add ``(m,)``, with a value for pairs that were not read (NaN).

    An unread pair gets 0 if its ``score (m,)`` is 0.5 or more, because it was beyond doubt, else
    `UNREAD`.
    """
    return np.where(np.isnan(added), np.where(score >= 0.5, 0.0, UNREAD), added)
