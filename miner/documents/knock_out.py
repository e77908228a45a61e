"""Precision of document pairs without gold, by knocking out every pair once.

Wrong pairs arise from documents without a translation in the other collection. So each source is
compared again without its paired target. The best target that is free or has a weaker partner is a
decoy: a pair known to be wrong, from the same collection, near-duplicates included. Sources without
a translation match as decoys do. Their number is estimated from the poor pairs, because nearly all
of them are wrong. So counting decoys estimates the precision at every threshold, and isotonic
regression the probability of each pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miner.arrays import Columns
from miner.precision.estimate import FEWEST_MATCHED, Estimate, counted_wrong
from miner.scoring.matching import match_one_to_one

# Share of the decoys with poor scores; iterations that weight a decoy by the probability that its
# pair is right, because a wrong pair without its target only gets worse.
POOR, ROUNDS = 0.7, 4
TIE = 1e-6


@dataclass(frozen=True, eq=False)
class Scores(Columns):
    """Scored pairs: columns ``source`` and ``target (m,) int64``, and ``score (m,) float64``."""

    source: np.ndarray
    target: np.ndarray
    score: np.ndarray

    def matched(self) -> Scores:
        """Return the pairs of a greedy one-to-one matching, best first."""
        return self.take(match_one_to_one(self.score, self.source, self.target))


def decoys(pairs: Scores, knocked: Scores) -> np.ndarray:
    """Return the score that each pair's source would have without its target, ``(m,) float64``.

    It is -inf if the source would have no pair. ``knocked`` are the candidates of all sources,
    scored without their targets.
    """
    size = 1 + max(side.max(initial=-1) for side in (pairs.target, knocked.target))
    held = np.full(size, -np.inf)
    held[pairs.target] = pairs.score
    wins = knocked.take(knocked.score > held[knocked.target])
    best = np.full(1 + max(side.max(initial=-1) for side in (pairs.source, wins.source)), -np.inf)
    np.maximum.at(best, wins.source, wins.score)
    scores: np.ndarray = best[pairs.source]
    return scores


def calibrate(pairs: Scores, knocked: Scores) -> tuple[Scores, Estimate] | None:
    """Turn the scores of pairs, best first, into probabilities; None for too few decoys."""
    wrong_score = decoys(pairs, knocked)
    matched = np.isfinite(wrong_score)
    if np.count_nonzero(matched) < FEWEST_MATCHED:
        return None
    score, decoy = pairs.score, wrong_score[matched]
    right = np.ones(len(score))
    for _ in range(ROUNDS):
        weight = right[matched]
        each = each_stands_for(score, decoy, weight)
        right = share_right(score, decoy, each * weight)
    wrong, q_value = counted_wrong(score, decoy, each * weight)
    # Equal probabilities are spread in the order of the scores, so that a threshold can cut
    # anywhere.
    right = right * (1 - TIE) + TIE * np.linspace(1, 0, len(right))
    estimate = Estimate(right, wrong, q_value, len(pairs), len(decoy))
    return Scores(pairs.source, pairs.target, right), estimate


def each_stands_for(score: np.ndarray, decoy: np.ndarray, weight: np.ndarray) -> float:
    """Return the number of wrong pairs per decoy of weight 1, estimated from the poor pairs."""
    order = np.argsort(decoy)
    total = np.cumsum(weight[order])
    poor = decoy[order][np.searchsorted(total, POOR * total[-1])]
    return np.count_nonzero(score < poor) / max(float(weight[decoy < poor].sum()), 1e-9)


def share_right(score: np.ndarray, decoy: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the probability of being right of pairs, best first, by isotonic regression ``(m,)``.

    ``weight (n,)`` is the number of wrong pairs that each decoy stands for.
    """
    at = np.concatenate([score, decoy])
    order = np.argsort(-at, kind="stable")
    pair = order < len(score)
    weights = np.concatenate([np.ones(len(score)), np.maximum(weight, 1e-9)])[order]
    share = falling(pair.astype(np.float64), weights)
    probability: np.ndarray = np.clip(2 - 1 / np.maximum(share[pair], 1e-9), 0, 1)
    return probability


def falling(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the falling function nearest to ``values (n,)``: weighted isotonic regression."""
    runs: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        run = value * weight, weight, 1
        while runs and runs[-1][0] * run[1] <= run[0] * runs[-1][1]:
            last = runs.pop()
            run = last[0] + run[0], last[1] + run[1], last[2] + run[2]
        runs.append(run)
    sums, sizes, counts = (np.array(column) for column in zip(*runs, strict=True))
    return np.repeat(sums / sizes, counts)
