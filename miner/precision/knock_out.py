"""Knock-out: sources with an almost certain partner are matched again without it.

The new match is wrong, and it is text of this corpus: captions resemble captions and laws repeat
laws, unlike decoys from elsewhere. But sources with a partner often have relatives in the corpus
that other sources lack. So the more sources have a partner, the more knock-outs count compared with
decoys (benchmarks/LOG.md). Poor pairs tell more: their number shows whether wrong pairs resemble
decoys or knock-outs, and so how far the best knock-outs limit the scores of pairs.
"""

from dataclasses import replace

import numpy as np

from miner.precision.decoys import DecoyPairs
from miner.precision.mixture import USUAL, Law
from miner.scoring.logistic import log_odds
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
# Share of knock-outs by poor pairs: their maximum probability of being right, the number of bins,
# and the standard deviation of the share around the usual one.
POOR, POOR_BINS, UNSURE = 0.1, 3, 0.5
# Best knock-outs that tell how fast their number falls: at most BEST and one in PART, at least
# FEWEST; the least fall in log-odds; and the share of ranks (one in RANKS) that are averaged.
BEST, PART, FEWEST, LEAST_FALL, RANKS = 20, 5, 5, 0.1, 100
# Other matches of a likely source that are as good as its partner are second translations.
TRANSLATION = 0.5


def weighted(
    knocked: DecoyPairs, pairs: Pairs, right: np.ndarray, sources: int
) -> tuple[DecoyPairs, np.ndarray, float]:
    """Return the knock-outs that count, the number of wrong pairs that each represents, and their
    share.

    The share is that of the wrong pairs represented by knock-outs. ``right (m,)`` are the
    probabilities of the ``pairs``, with scores by the model; ``sources`` is the number of sources.
    """
    counted, each = _counted(knocked, pairs, right, sources)
    rivalled = near_copies(pairs, right >= 0.5)
    excess = float(rivalled.mean()) - NEAR_COPIES if len(rivalled) else 0.0
    near = min(NEAR_SHARE * excess, EACH / max(each, 1e-9))
    share = max(SHARE * (1 - each / MOST), 1 - each, near, 0.0)
    if not share:
        return knocked.take(slice(0)), np.empty(0), 0.0
    return counted, np.full(len(counted), share * each), share


def limits(
    knocked: DecoyPairs,
    pairs: Pairs,
    right: np.ndarray,
    sources: int,
    decoys: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Return the maximum probability of being right ``(m,)`` by rank, best first.

    A mixture expects that right pairs fade into wrong ones as in other corpora. Knock-outs match
    near-copies as well as the sources without a partner do, so their best scores tell how many
    wrong pairs are among the best (benchmarks/LOG.md). ``decoys`` are scores and weights; the
    others as in :func:`weighted`.
    """
    counted, each = _counted(knocked, pairs, right, sources)
    best = np.sort(log_odds(counted.score))[::-1]
    number = min(BEST, len(best) // PART)
    if number < FEWEST or not len(right):
        return np.ones(len(right))
    weight = np.full(len(best), each)
    share = _fitted_share(
        (pairs.score, 1 - right), decoys, (counted.score, weight), max(SHARE, 1 - each)
    )
    # Above the best knock-outs their number falls exponentially with the log-odds.
    edge = best[number]
    fall = max(float((best[:number] - edge).mean()), LEAST_FALL)
    logit = np.sort(log_odds(pairs.score))[::-1]
    above = np.where(
        logit >= edge,
        number * np.exp(-np.maximum(logit - edge, 0) / fall),
        np.searchsorted(-best, -logit, side="right"),
    )
    rank = np.arange(len(logit))
    reach = max(FEWEST, len(logit) // RANKS)
    first, last = np.maximum(rank - reach, 0), np.minimum(rank + reach, len(logit) - 1)
    wrong = share * each * (above[last] - above[first]) / np.maximum(last - first, 1)
    rising = np.maximum.accumulate(np.clip(wrong, 0, 1))
    # At the best ranks the law extrapolates from few knock-outs, each for many sources.
    return 1 - (rising - rising[0])


def _counted(
    knocked: DecoyPairs, pairs: Pairs, right: np.ndarray, sources: int
) -> tuple[DecoyPairs, float]:
    """Return the knock-outs of certain pairs that are no second translations, and the number of
    sources without a partner for each certain pair.
    """
    certain = np.zeros(len(pairs.source), dtype=bool)
    certain[pairs.source_row[(right >= CERTAIN) & (pairs.score >= LIKELY)]] = True
    each = max(sources - float(right.sum()), 0.0) / max(int(certain.sum()), 1)
    return knocked.take(certain[knocked.source_row] & (knocked.score < TRANSLATION)), each


def _fitted_share(
    pairs: tuple[np.ndarray, np.ndarray],
    decoys: tuple[np.ndarray, np.ndarray],
    knocked: tuple[np.ndarray, np.ndarray],
    usual: float,
) -> float:
    """Return the share of knock-outs, among them and decoys, that best predicts the number of poor
    pairs.

    Each argument is scores and weights; the weights of ``pairs`` are probabilities of being wrong.
    The share is normal around the ``usual`` one.
    """
    order = np.argsort(decoys[0])
    total = np.cumsum(decoys[1][order])
    low = decoys[0][order[np.searchsorted(total, USUAL.start * total[-1])]]
    poor = pairs[0][(pairs[1] > 1 - POOR) & (pairs[0] >= low)]
    if not len(poor):
        return usual
    edges = np.quantile(poor, np.linspace(0, 1, POOR_BINS + 1))
    observed, by_decoys, by_knocked = (
        np.histogram(score, edges, weights=weight)[0] for score, weight in (pairs, decoys, knocked)
    )
    variance = observed + (SCALE * observed) ** 2 + knocked[1][0] * by_knocked + 1
    more = by_knocked - by_decoys
    known = (more * (observed - by_decoys) / variance).sum()
    certainty = (more**2 / variance).sum()
    share = (usual / UNSURE**2 + known) / (1 / UNSURE**2 + certainty)
    return float(np.clip(share, 0, 1))


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
