"""Refit of the verifier's function to the corpus at hand, without gold.

Percolator does this in proteomics (Käll et al. 2007). Matched decoys are wrong; pairs count as
right and as wrong in proportion to their probability on this corpus by the model's function. A
logistic function of all pair and context features is fitted to both, with a ridge penalty centred
at the model's function, so that few pairs hardly change it. Likely pairs have more features
(:mod:`miner.precision.faults`), whose weights are fitted in the same way, to likely pairs and
decoys.

Cross-fitting: each third of the source sentences is scored by a function fitted to the other two
thirds, for decoys as well as pairs, so that no score has seen its own pair and decoys stay a fair
sample of the wrong pairs. The fold of a sentence depends only on its token ids.
"""

from dataclasses import dataclass, replace

import numpy as np

from miner.precision.mixture import USUAL, Histogram, Law, Mixture
from miner.ragged import take_lists
from miner.scoring.logistic import fit_ridge, sigmoid
from miner.scoring.pair_features import TokenizedText

FOLDS = 3
# Precision of the normal prior of each weight around the model's, in squared standard deviations of
# the feature.
PENALTY = 30.0
# The same for likely pairs, and iterations of their fit; each starts from the probabilities of the
# previous one (tried values: benchmarks/LOG.md).
LIKELY_PENALTY, ROUNDS = 10.0, 2
# Maximum factor by which a refit may increase the number of right pairs. It learns from answers of
# the function that it fits, and may separate decoys, which are other text, from the corpus instead
# of wrong from right: in Czech and Spanish news it counted twice as many right pairs as there are
# (benchmarks/LOG.md).
MORE_RIGHT = 1.05
# Minimum factor: with fewer right pairs the mixture has collapsed to none.
LESS_RIGHT = 0.5
# Minimum expected number of right pairs; with fewer, the model's function is used.
FEWEST_RIGHT = 30
# Expected slope of log-odds over a model's log-odds, which are too flat because it learned from
# harder negatives.
MODEL_SLOPE = 2.0
# Number of best pairs, all used by a fit, and size of the sample of the others.
BEST, OTHERS = 100_000, 100_000
SEED = 1
BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class FittedScores:
    """Log-odds of pairs ``(m,)`` and decoys ``(n,)``, and the mixture fitted to them."""

    logit: np.ndarray
    decoy_logit: np.ndarray
    histogram: Histogram
    mixture: Mixture


def scored(
    logit: np.ndarray,
    decoy_logit: np.ndarray,
    weight: np.ndarray,
    slope: float = MODEL_SLOPE,
    law: Law = USUAL,
) -> FittedScores:
    """Fit a mixture to log-odds; ``weight (n,)``: weights of the decoys."""
    histogram = Histogram(logit, decoy_logit, weight, slope, law)
    return FittedScores(logit, decoy_logit, histogram, histogram.fit())


def refit(
    start: FittedScores,
    weight: np.ndarray,
    features: tuple[np.ndarray, np.ndarray],
    fold: tuple[np.ndarray, np.ndarray],
    *,
    rows: tuple[np.ndarray, np.ndarray] | None = None,
    penalty: float = PENALTY,
    most: float = np.inf,
) -> FittedScores | None:
    """Fit the function again; None for too few right pairs, or if the fit loses half of them.

    It finds at most ``most`` right pairs.

    ``features`` ``(p, f)`` and ``(d, f)``, ``fold`` ``(p,)`` and ``(d,)`` in [0, FOLDS): of the
    pairs and decoys at ``rows``, by default all. The others keep their log-odds.
    """
    before = float(start.mixture.probability(start.logit).sum())
    if before < FEWEST_RIGHT:
        return None
    # The current function, on the scale of this corpus.
    logit, decoy_logit = (
        start.mixture.log_odds(values) for values in (start.logit, start.decoy_logit)
    )
    at = rows or (np.arange(len(logit)), np.arange(len(decoy_logit)))
    base, decoy_base = logit[at[0]], decoy_logit[at[1]]
    seen, count = _sample(base)
    sample = np.concatenate([features[0][seen], features[1]]).astype(np.float64)
    center, spread = sample.mean(axis=0), sample.std(axis=0)
    spread[spread == 0] = 1

    def design(features: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
        values = (features.astype(np.float64) - center) / spread
        return np.column_stack([np.ones(len(values)), log_odds, values])

    pair_design, decoy_design = (
        design(features[0][seen], base[seen]),
        design(features[1], decoy_base),
    )
    prior = np.eye(1, pair_design.shape[1], 1)[0]
    penalties = np.concatenate([[0.0], np.full(len(prior) - 1, penalty)])
    right = sigmoid(base[seen])
    wrong = weight[at[1]] * start.mixture.wrong(start.decoy_logit[at[1]])
    for number in range(FOLDS):
        pairs, decoys = fold[0][seen] != number, fold[1] != number
        weights = fit_ridge(
            np.concatenate([pair_design[pairs], decoy_design[decoys]]),
            np.concatenate([(count * right)[pairs], np.zeros(decoys.sum())]),
            np.concatenate([(count * (1 - right))[pairs], wrong[decoys]]),
            penalties,
            prior,
        )
        # einsum adds in the same order for any number of threads and rows.
        decoy_logit[at[1][~decoys]] = np.einsum("mf,f->m", decoy_design[~decoys], weights)
        out = np.flatnonzero(fold[0] == number)
        for first in range(0, len(out), BLOCK):
            part = out[first : first + BLOCK]
            columns = design(features[0][part], base[part])
            logit[at[0][part]] = np.einsum("mf,f->m", columns, weights)
    # The base is already on the scale of log-odds.
    refitted = scored(logit, decoy_logit, weight, 1.0, start.histogram.law)
    if refitted.mixture.probability(logit).sum() < LESS_RIGHT * before:
        return None
    return replace(refitted, mixture=refitted.mixture.within(logit, most))


def folds(text: TokenizedText, rows: np.ndarray) -> np.ndarray:
    """Return the fold of each sentence of ``rows (m,)``, a hash of its token ids."""
    out = np.empty(len(rows), dtype=np.int64)
    for first in range(0, len(rows), BLOCK):
        part = rows[first : first + BLOCK]
        ids, offsets = take_lists(text.ids, text.offsets, part)
        mixed = (ids.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        sums = np.concatenate([[np.uint64(0)], np.cumsum(mixed, dtype=np.uint64)])
        total = sums[offsets[1:]] - sums[offsets[:-1]]
        out[first : first + BLOCK] = (total >> np.uint64(33)) % np.uint64(FOLDS)
    return out


def _sample(logit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose pairs to fit to: their rows, and the number of pairs that each represents."""
    if len(logit) <= BEST + OTHERS:
        return np.arange(len(logit)), np.ones(len(logit))
    order = np.argsort(-logit, kind="stable")
    rest = np.random.default_rng(SEED).permutation(order[BEST:])[:OTHERS]
    count = np.ones(BEST + OTHERS)
    count[BEST:] = (len(logit) - BEST) / OTHERS
    return np.concatenate([order[:BEST], rest]), count
