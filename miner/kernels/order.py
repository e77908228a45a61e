"""Features of word order: similar tokens of the two sentences come in the same order.

A mean of token vectors does not see order.
"""

import numpy as np

from miner.kernels.loops import njit

# A token is matched if the similarity to its counterpart is at least this.
MATCHED = 0.35

# Counterparts of neighbouring tokens are near if they are at most this far apart.
NEAR = 2
# Fewer matched tokens than this have no correlation.
FEWEST = 4
# Columns of the result: two features, each for the source and the target.
COLUMNS = 4


@njit(error_model="numpy")
def order_features(own, place, best, weight, row, side):
    """Write the two features of one side of a pair to ``row[side]`` and ``row[2 + side]``.

    ``own (n,)`` are the token ids of the side, ``place (n,)`` the positions of their counterparts,
    the most similar tokens of the other sentence, the first of equals; ``best (n,)`` are the
    similarities to these, and ``weight (V,)`` > 0 the weights of tokens.

    The first feature, in [0, 1], is the share of neighbouring tokens, both matched, whose
    counterparts are at most NEAR apart; a neighbourhood weighs as much as its lighter token. The
    second, in [-1, 1], is the correlation of the ranks of the matched tokens with the positions of
    their counterparts. A feature that is undefined keeps its value in ``row (4,)``, which is 1.
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
    # Sums of whole numbers are exact in float64, and so are these differences.
    spread = (n * squares - ranks * ranks) * (n * place_squares - places * places)
    if n >= FEWEST and spread > 0:
        row[2 + side] = (n * products - ranks * places) / np.sqrt(spread)
