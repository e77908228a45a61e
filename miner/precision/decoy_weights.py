"""Weights of decoys: the number of targets that each represents.

Decoys come from other text than the targets. Short sentences match by chance far more often, so
decoys are first weighted to match the targets' lengths. Nearly all poor matches are wrong, so poor
pairs and poor decoys can be compared by feature: the second weights give the decoys the features of
the pairs. Both are ratios of densities by logistic regression (Sugiyama et al. 2012).
"""

import numpy as np

from miner.precision.mixture import Mixture
from miner.scoring.logistic import fit_ridge

# Maximum length in characters; longer sentences count as this long.
LONGEST = 2000
# Precision of the normal priors of the weights of lengths and features around 0.
LENGTH_PENALTY, PENALTY = 1e-2, 30.0
# Poor matches: log-odds above this quantile of the decoys, and probability below this one.
ABOVE, BELOW = 0.1, 0.05
# Maximum absolute logarithm of the second weight.
MOST = 2.0
# Minimum number of poor pairs and of poor decoys; with fewer the second weights are 1.
FEWEST = 100


def length_weights(targets: np.ndarray, decoys: np.ndarray) -> np.ndarray:
    """Weight decoys of ``decoys (n,)`` characters so that their lengths are distributed like
    ``targets (m,)``.

    Returns ``(n,) float64`` > 0 with sum m.
    """
    target_lengths, decoy_lengths = np.minimum(targets, LONGEST), np.minimum(decoys, LONGEST)
    counts = [
        np.bincount(side, minlength=LONGEST + 1).astype(np.float64)
        for side in (target_lengths, decoy_lengths)
    ]
    logs = np.log(np.arange(LONGEST + 1) + 5.0)
    spread = max(float(np.log(target_lengths + 5.0).std()), 1e-3)
    x = (logs - np.log(target_lengths + 5.0).mean()) / spread
    seen = counts[0] + counts[1] > 0
    design = np.column_stack([np.ones_like(x), x, x**2])[seen]
    penalty = np.array([0.0, LENGTH_PENALTY, LENGTH_PENALTY])
    at = fit_ridge(design, counts[0][seen], counts[1][seen], penalty, np.zeros(3))
    ratio = np.zeros(LONGEST + 1)
    ratio[seen] = np.exp(np.clip(np.einsum("mf,f->m", design, at), -20, 20))
    weight = ratio[decoy_lengths]
    return weight * (len(targets) / weight.sum())


def feature_weights(
    features: tuple[np.ndarray, np.ndarray],
    logit: tuple[np.ndarray, np.ndarray],
    weight: np.ndarray,
    mixture: Mixture,
) -> np.ndarray:
    """Weight decoys ``(n,)`` so that their poor matches have the features of poor pairs.

    ``features`` are ``(m, f)`` of pairs and ``(n, f)`` of decoys, ``logit`` ``(m,)`` and ``(n,)``;
    ``weight (n,)`` the previous weights, which the result includes; ``mixture`` decides which
    matches are poor.
    """
    order = np.argsort(logit[1], kind="stable")
    total = np.cumsum(weight[order])
    low = logit[1][order][min(np.searchsorted(total, ABOVE * total[-1]), len(order) - 1)]
    poor = [(side >= low) & (mixture.probability(side) < BELOW) for side in logit]
    if min(side.sum() for side in poor) < FEWEST:
        return weight
    sample = np.concatenate([features[0][poor[0]], features[1][poor[1]]]).astype(np.float64)
    center, spread = sample.mean(axis=0), sample.std(axis=0)
    spread[spread == 0] = 1
    size = int(poor[0].sum())
    design = np.column_stack([np.ones(len(sample)), (sample - center) / spread])
    theirs = weight[poor[1]] * (size / weight[poor[1]].sum())
    penalty = np.concatenate([[0.0], np.full(len(center), PENALTY)])
    at = fit_ridge(
        design,
        np.concatenate([np.ones(size), np.zeros(len(theirs))]),
        np.concatenate([np.zeros(size), theirs]),
        penalty,
        np.zeros(len(penalty)),
    )
    values = (features[1].astype(np.float64) - center) / spread
    return weight * np.exp(np.clip(at[0] + np.einsum("mf,f->m", values, at[1:]), -MOST, MOST))
