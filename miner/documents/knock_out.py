"""Precision of document pairs without gold: every pair is knocked out once.

A document without a translation in the other collection is what makes a wrong pair. So each
source is compared again as if the target that it was paired with were not there. The target that
it would win then, free or not as well paired, is a decoy: a pair that is known to be wrong, of
this very collection, near-duplicates included. The mixture of right and wrong pairs
(:mod:`miner.precision.mixture`) turns scores into probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from miner.precision import refit
from miner.precision.estimate import FEWEST_MATCHED, Estimate, expected_wrong
from miner.precision.margins import LAW, SLOPE
from miner.scoring.margin import match_one_to_one


@dataclass(frozen=True, eq=False)
class Scores:
    """Scored pairs: columns ``source`` and ``target (m,) int64``, and ``score (m,) float64``."""

    source: np.ndarray
    target: np.ndarray
    score: np.ndarray

    def __len__(self) -> int:
        return len(self.score)

    def take(self, keep: np.ndarray) -> Scores:
        return Scores(self.source[keep], self.target[keep], self.score[keep])

    def matched(self) -> Scores:
        """Return the pairs of a greedy one-to-one matching, best first."""
        return self.take(match_one_to_one(self.score, self.source, self.target))


def decoys(pairs: Scores, knocked: Scores) -> np.ndarray:
    """Return the scores of the pairs that sources would be in without their partners, ``(n,)``.

    ``knocked`` are the candidates of all paired sources, scored without their partners.
    """
    if not len(knocked):
        return np.empty(0)
    held = np.full(int(max(pairs.target.max(), knocked.target.max())) + 1, -np.inf)
    held[pairs.target] = pairs.score
    wins = knocked.take(knocked.score > held[knocked.target])
    wins = wins.take(np.isin(wins.source, pairs.source))
    best = np.full(int(wins.source.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, wins.source, wins.score)
    return best[np.isfinite(best)]


def calibrate(pairs: Scores, knocked: Scores) -> tuple[Scores, Estimate] | None:
    """Turn the scores of pairs, best first, into probabilities; None for too few decoys."""
    wrong_scores = decoys(pairs, knocked)
    if len(wrong_scores) < FEWEST_MATCHED:
        return None
    center, spread = wrong_scores.mean(), max(float(wrong_scores.std()), 1e-9)
    fitted = refit.scored(
        (pairs.score - center) / spread,
        (wrong_scores - center) / spread,
        np.ones(len(wrong_scores)),
        SLOPE,
        LAW,
    )
    score = fitted.mixture.probability(fitted.logit)
    wrong, q_value = expected_wrong(score)
    resample = partial(fitted.histogram.resampled, fitted.mixture)
    counts = len(pairs), len(wrong_scores)
    estimate = Estimate(score, wrong, q_value, *counts, resample=resample)
    return Scores(pairs.source, pairs.target, score), estimate
