"""Whether the pieces of two sentences that translate each other come in the same order.

An average of pieces cannot tell a sentence from its words shuffled; where each piece's best
counterpart stands can.
"""

import numba
import numpy as np

from miner.kernels.tokens import LONGEST, MATCHED, _similarities

# Counterparts of neighbours that are at most this far apart are neighbours too.
NEAR = 2
# Fewer matched pieces than this have no order to speak of.
FEWEST = 4
# Columns of the result: two a figure, source and target.
COLUMNS = 4
# Pairs that a thread takes at a time.
CHUNK = 512


def order_reference(source, target, embedding, weight):
    """What :func:`order` computes, in plain numpy; ``source`` and ``target`` lists of ids."""
    out = np.ones((len(source), COLUMNS))
    for number, (a, b) in enumerate(zip(source, target, strict=True)):
        a, b = a[:LONGEST], b[:LONGEST]
        if not len(a) or not len(b):
            continue
        similarity = embedding[a].astype(np.float64) @ embedding[b].astype(np.float64).T
        for side, (own, table) in enumerate(((a, similarity), (b, similarity.T))):
            place, matched = table.argmax(axis=1), table.max(axis=1) >= MATCHED
            both = matched[1:] & matched[:-1]
            heavy = np.minimum(weight[own][1:], weight[own][:-1]) * both
            if heavy.sum() > 0:
                near = np.abs(np.diff(place)) <= NEAR
                out[number, side] = (heavy * near).sum() / heavy.sum()
            rank, found = np.arange(matched.sum()), place[matched]
            if len(found) >= FEWEST and found.std() > 0:
                out[number, 2 + side] = np.corrcoef(rank, found)[0, 1]
    return out


@numba.njit(error_model="numpy")
def _figures(own, place, best, weight, row, side):
    """One side's two figures of a pair."""
    heavy = near = 0.0
    n = ranks = places = squares = place_squares = products = 0.0
    for i in range(len(own)):
        if best[i] < MATCHED:
            continue
        if i > 0 and best[i - 1] >= MATCHED:
            lighter = min(weight[own[i]], weight[own[i - 1]])
            heavy += lighter
            if abs(place[i] - place[i - 1]) <= NEAR:
                near += lighter
        ranks += n
        squares += n * n
        places += place[i]
        place_squares += place[i] * place[i]
        products += n * place[i]
        n += 1
    if heavy > 0:
        row[side] = near / heavy
    # Whole numbers, so that these differences are exact.
    spread = (n * squares - ranks * ranks) * (n * place_squares - places * places)
    if n >= FEWEST and spread > 0:
        row[2 + side] = (n * products - ranks * places) / np.sqrt(spread)


@numba.njit(parallel=True, cache=True, error_model="numpy")
def order(source_ids, source_offsets, target_ids, target_offsets, embedding, weight, out):
    """Figures of the pairs of two texts, row by row, into ``out (n, COLUMNS) float32``.

    Flat ids ``(t,) int32`` with offsets ``(n + 1,) int64``; ``embedding (V, d) float32`` has unit
    rows, ``weight (V,)`` > 0. A piece's counterpart is the most similar piece of the other side,
    the first of equals; it is matched where that similarity is MATCHED or more. Columns, each for
    the source's pieces and then the target's: of neighbouring pieces that are both matched the
    share, by the lighter one's weight, whose counterparts are at most NEAR apart, in [0, 1]; the
    correlation of the matched pieces' places with their counterparts', in [-1, 1]. 1 where there
    is nothing to tell an order by.
    """
    n, d = len(source_offsets) - 1, embedding.shape[1]
    for chunk in numba.prange((n + CHUNK - 1) // CHUNK):
        left = np.empty((LONGEST, d), dtype=np.float32)
        similar = np.empty(LONGEST, dtype=np.float32)
        best_a = np.empty(LONGEST, dtype=np.float32)
        best_b = np.empty(LONGEST, dtype=np.float32)
        place_a = np.empty(LONGEST, dtype=np.int64)
        place_b = np.empty(LONGEST, dtype=np.int64)
        for c in range(chunk * CHUNK, min(n, (chunk + 1) * CHUNK)):
            out[c] = 1.0
            first, last = source_offsets[c], source_offsets[c + 1]
            a = source_ids[first : min(last, first + LONGEST)]
            first, last = target_offsets[c], target_offsets[c + 1]
            b = target_ids[first : min(last, first + LONGEST)]
            if len(a) == 0 or len(b) == 0:
                continue
            for i in range(len(a)):
                left[i] = embedding[a[i]]
                best_a[i] = -np.inf
            for j in range(len(b)):
                _similarities(left, len(a), embedding[b[j]], similar)
                best_b[j] = -np.inf
                for i in range(len(a)):
                    value = similar[i]
                    if value > best_a[i]:
                        best_a[i], place_a[i] = value, j
                    if value > best_b[j]:
                        best_b[j], place_b[j] = value, i
            row = out[c]
            _figures(a, place_a, best_a, weight, row, 0)
            _figures(b, place_b, best_b, weight, row, 1)
