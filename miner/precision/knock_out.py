"""Knock-out: sources whose partner is all but certain are matched again without it.

Whatever they match then is wrong, and it is text of this corpus: captions resemble captions, laws
repeat laws, and no decoy from elsewhere does. But sources with a partner often stand among
relatives that the others lack. So the more sources have a partner, the more knock-outs count
beside decoys (benchmarks/LOG.md).
"""

from dataclasses import replace

import numpy as np

from miner.precision.decoys import DecoyPairs
from miner.precision.mixture import USUAL, Law
from miner.scoring.pairs import Pairs
from miner.scoring.verifier import FEATURES

# Sources are matched again if their pair has this score by the model, or more, and count if it is
# right with the probability CERTAIN on this corpus.
LIKELY, CERTAIN = 0.02, 0.9
# Share of the wrong pairs that knock-outs stand for where as many sources lack a partner as have
# one. It falls to nothing where each knock-out would stand for MOST sources without one, and rises
# to all where nearly all sources have one: decoys are free then, but few targets are.
SHARE, MOST = 0.25, 8.0
# Pairs, among those likelier right than wrong, whose better rival is nearly as good: its logit by
# pair features is at most NEAR lower. Where more than the share NEAR_COPIES are, the corpus has
# near-copies, which only knock-outs foresee: they stand for more wrong pairs by NEAR_SHARE times
# the excess, and each for EACH at most.
NEAR, NEAR_COPIES, NEAR_SHARE, EACH = 1.0, 0.06, 1.0, 3.0
# Standard deviation of the logarithm of the number of wrong pairs by knock-outs alone, which are
# text of the corpus.
SCALE = 0.3
# Other matches of a likely source, as good as its partner, are second translations.
TRANSLATION = 0.5


def weighted(
    knocked: DecoyPairs, pairs: Pairs, right: np.ndarray, sources: int
) -> tuple[DecoyPairs, np.ndarray, float]:
    """Return the knock-outs that count, and the number of wrong pairs that each stands for.

    Returned is also the share of the wrong pairs that they stand for in all. ``right (m,)`` are the
    probabilities of the ``pairs``, whose scores are the model's; ``sources`` is their number.
    """
    certain = np.zeros(len(pairs.source), dtype=bool)
    certain[pairs.source_row[(right >= CERTAIN) & (pairs.score >= LIKELY)]] = True
    each = max(sources - right.sum(), 0.0) / max(certain.sum(), 1)
    rivalled = near_copies(pairs, right >= 0.5)
    excess = float(rivalled.mean()) - NEAR_COPIES if len(rivalled) else 0.0
    near = min(NEAR_SHARE * excess, EACH / max(each, 1e-9))
    share = max(SHARE * (1 - each / MOST), 1 - each, near, 0.0)
    if not share:
        return knocked.take(np.empty(0, dtype=np.int64)), np.empty(0), 0.0
    knocked = knocked.take(certain[knocked.source_row] & (knocked.score < TRANSLATION))
    return knocked, np.full(len(knocked), share * each), share


def near_copies(pairs: Pairs, likely: np.ndarray) -> np.ndarray:
    """Return a mask of the ``likely (m,)`` pairs: True where a rival is nearly as good.

    Empty for pairs without features.
    """
    if pairs.features is None:
        return np.empty(0, dtype=bool)
    return pairs.features[likely, FEATURES.index("lead_min")] < NEAR


def law(share: float) -> Law:
    """Return what is known of scores where knock-outs stand for a ``share`` of the wrong pairs."""
    return replace(USUAL, scale=share * SCALE + (1 - share) * USUAL.scale)
