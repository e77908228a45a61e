"""Knock-out: sources with an almost certain partner are matched again without it.

The new match is wrong, and it is text of this corpus: captions resemble captions and laws repeat
laws, unlike decoys from elsewhere. But sources with a partner often have relatives in the corpus
that other sources lack. So the more sources have a partner, the more knock-outs count compared with
decoys (benchmarks/LOG.md).
"""

from dataclasses import dataclass, replace

import numpy as np

from miner.precision.decoys import DecoyPairs
from miner.precision.mixture import USUAL, Law
from miner.scoring.pairs import Pairs
from miner.scoring.verifier import FEATURES

# Minimum score by the model of a pair whose source is matched again, and minimum probability of
# being right on this corpus for its knock-out to count.
LIKELY, CERTAIN = 0.02, 0.9
# Share of the wrong pairs that knock-outs represent if half of the sources have a partner; and
# maximum number of sources without a partner per knock-out, where the share falls to 0. It rises to
# 1 if nearly all sources have a partner: then decoys are free, but few targets are.
SHARE, MOST = 0.25, 8.0
# Near-copies. NEAR: largest deficit in the logit by pair features at which a rival counts as nearly
# as good. NEAR_COPIES: share of likely pairs with a near rival above which the corpus has
# near-copies, which only knock-outs foresee. NEAR_SHARE: wrong pairs added per excess. EACH:
# maximum number of wrong pairs per knock-out.
NEAR, NEAR_COPIES, NEAR_SHARE, EACH = 1.0, 0.06, 1.0, 3.0
# Standard deviation of the logarithm of the number of wrong pairs by knock-outs, which are text of
# the corpus.
SCALE = 0.3
# Other matches of a likely source that are as good as its partner are second translations.
TRANSLATION = 0.5
# Near-copies where few sources have a partner. LIKELY_RIGHT: minimum probability of the pairs whose
# knock-outs are counted. FEW_PARTNERS: minimum number of sources without a partner per likely pair.
# DOUBTFUL: share of the pairs kept that may be wrong by knock-outs, from which the estimate is
# doubtful (benchmarks/LOG.md).
LIKELY_RIGHT, FEW_PARTNERS, DOUBTFUL = 0.5, 6.0, 0.08
SEED = 2


def weighted(
    knocked: DecoyPairs, pairs: Pairs, right: np.ndarray, sources: int
) -> tuple[DecoyPairs, np.ndarray, float]:
    """Return the knock-outs that count, the number of wrong pairs that each represents, and their
    share.

    The share is that of the wrong pairs represented by knock-outs. ``right (m,)`` are the
    probabilities of the ``pairs``, with scores by the model; ``sources`` is the number of sources.
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


@dataclass(frozen=True, eq=False)
class Foreseen:
    """Wrong pairs if all sources without a partner match as knock-outs do.

    ``matched (m + 1,) int64``: number of knock-outs that score like the best 0, 1, … pairs. Each
    represents ``each`` sources without a partner. Where few sources have a partner, a mixture
    cannot use so few knock-outs: their number doubts its estimate and widens its intervals. The
    true number may be far lower, because sources with a partner often have relatives that others
    lack.
    """

    matched: np.ndarray
    each: float

    @classmethod
    def of(cls, knocked: DecoyPairs, pairs: Pairs, right: np.ndarray, sources: int) -> "Foreseen":
        """Count the knock-outs of likely pairs; the arguments are those of :func:`weighted`."""
        likely = np.zeros(len(pairs.source), dtype=bool)
        likely[pairs.source_row[right >= LIKELY_RIGHT]] = True
        each = max(sources - float(right.sum()), 0.0) / max(int(likely.sum()), 1)
        score = np.sort(knocked.score[likely[knocked.source_row]])
        above = len(score) - np.searchsorted(score, np.sort(pairs.score)[::-1])
        return cls(np.concatenate([[0], above]), each)

    def most(self, kept: int) -> float:
        """Return the number of wrong pairs among the ``kept`` best, with one knock-out more, since
        none among few does not mean none among many.
        """
        return (int(self.matched[kept]) + 1) * self.each

    def doubtful(self, kept: int) -> bool:
        """Return True if they may be many more than a mixture foresees."""
        return self.each >= FEW_PARTNERS and self.most(kept) >= DOUBTFUL * kept > 0

    def drawn(self, resample: int, kept: np.ndarray) -> np.ndarray:
        """Draw numbers of wrong pairs ``(t,)`` among the ``kept (t,)`` best: none in a third of the
        resamples, else up to those that knock-outs foresee, whose number is random.
        """
        share = max(np.random.default_rng((SEED, resample)).uniform(-0.5, 1), 0)
        shapes = self.matched[kept.astype(np.int64)] + 1
        draws = [np.random.default_rng((SEED, resample, 1)).gamma(shape) for shape in shapes]
        return np.floor(share * self.each * np.array(draws))


def near_copies(pairs: Pairs, likely: np.ndarray) -> np.ndarray:
    """Return a mask of the ``likely (m,)`` pairs: True where a rival is nearly as good.

    Empty for pairs without features.
    """
    if pairs.features is None:
        return np.empty(0, dtype=bool)
    return pairs.features[likely, FEATURES.index("lead_min")] < NEAR


def law(share: float, usual: Law = USUAL) -> Law:
    """Return the law of scores if knock-outs represent a ``share`` of the wrong pairs."""
    return replace(usual, scale=share * SCALE + (1 - share) * usual.scale)
