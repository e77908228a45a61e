"""Whether the pieces of two sentences that translate each other come in the same order.

An average of pieces cannot tell a sentence from its words shuffled; where each piece's best
counterpart stands can.
"""

import numba
import numpy as np

from miner.kernels.dots import cosines

# A piece whose best partner is less similar than this stands unmatched.
MATCHED = 0.35

# Counterparts of neighbours that are at most this far apart are neighbours too.
NEAR = 2
# Fewer matched pieces than this have no order to speak of.
FEWEST = 4
# Columns of the result: two a figure, source and target.
COLUMNS = 4


def order_reference(source, target, codes, scale, weight):
    """What :func:`order_figures` says of each pair, in plain numpy: ``(n, COLUMNS) float64``.

    ``source`` and ``target`` are lists of ids; ``codes (V, d) int8`` times ``scale (V,)`` are unit
    rows, ``weight (V,)`` > 0. A piece's counterpart is the most similar piece of the other side,
    the first of equals; it is matched where that similarity is MATCHED or more. Columns, each for
    the source's pieces and then the target's: of neighbouring pieces that are both matched the
    share, by the lighter one's weight, whose counterparts are at most NEAR apart, in [0, 1]; the
    correlation of the matched pieces' places with their counterparts', in [-1, 1]. 1 where there is
    nothing to tell by.
    """
    out = np.ones((len(source), COLUMNS))
    for number, (a, b) in enumerate(zip(source, target, strict=True)):
        if not len(a) or not len(b):
            continue
        similarity = cosines(codes, scale, a, b)
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
def order_figures(own, place, best, weight, row, side):
    """One side's two figures of a pair into ``row (4,)``, whose values are 1 before.

    ``own (n,)`` are its pieces, ``best (n,)`` their similarity to their counterparts, which stand
    at ``place (n,)`` on the other side; ``weight (V,)`` of pieces.
    """
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
