"""Knock-out: sources whose partner is all but certain are matched again without it.

Whatever they match then is wrong, and it is text of this corpus: captions resemble captions, laws
repeat laws, and no decoy from elsewhere does. But sources with a partner often stand among
relatives that the others lack. So the more sources have a partner, the more knock-outs count
beside decoys (benchmarks/LOG.md).
"""

import numpy as np

from miner.precision.decoys import DecoyPairs
from miner.scoring.pairs import Pairs

# Sources are matched again if their pair has this score by the model, or more, and count if it is
# right with the probability CERTAIN on this corpus.
LIKELY, CERTAIN = 0.02, 0.9
# Share of the wrong pairs that knock-outs stand for where all sources have a partner. It falls to
# nothing where each would stand for MOST sources without one.
SHARE, MOST = 0.25, 8.0
# Other matches of a likely source, as good as its partner, are second translations.
TRANSLATION = 0.5


def weighted(
    knocked: DecoyPairs, pairs: Pairs, right: np.ndarray, sources: int
) -> tuple[DecoyPairs, np.ndarray, float]:
    """Return the knock-outs that count, and the number of wrong pairs that each stands for.

    Returned is also the share of the wrong pairs that decoys stand for. ``right (m,)`` are the
    probabilities of the ``pairs``, whose scores are the model's; ``sources`` is their number.
    """
    certain = np.zeros(len(pairs.source), dtype=bool)
    certain[pairs.source_row[(right >= CERTAIN) & (pairs.score >= LIKELY)]] = True
    each = max(sources - right.sum(), 0.0) / max(certain.sum(), 1)
    share = SHARE * max(0.0, 1 - each / MOST)
    if not share:
        return knocked.take(np.empty(0, dtype=np.int64)), np.empty(0), 1.0
    knocked = knocked.take(certain[knocked.source_row] & (knocked.score < TRANSLATION))
    return knocked, np.full(len(knocked), share * each), 1 - share
