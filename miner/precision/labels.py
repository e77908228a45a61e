"""Labels: what people said of some pairs of the corpus joins the evidence of decoys.

The scores that decoys give are the start. A logistic function of them and of all features of likely
pairs is fitted to the labels, and at a small weight to the other pairs, by their own probability,
and to the decoys; a ridge penalty centred at the start holds it back. A second function of its
log-odds alone is fitted to the labels and makes probabilities of them. Both know that judges err
and that some pairs have faults that no feature sees (:mod:`miner.scoring.answered`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError
from miner.precision.mixture import RESAMPLES, SEED
from miner.results import BLOCK
from miner.scoring.answered import Answered, Scale, Unlabelled, rescore
from miner.scoring.logistic import log_odds, sigmoid
from miner.scoring.pairs import Pairs
from miner.text.answers import key_of

# How right pairs are, in [0, 1], by their texts.
Labels = Mapping[tuple[str, str], float]

# Pairs with a lower score keep it.
LEAST = 0.003
# Precision of the normal distribution of a feature's weight, and the labels that a pair without one
# counts for (tried values: benchmarks/LOG.md).
PENALTY, SHARE = 10.0, 0.1
# Labels below which nothing is fitted to them, and below which near-copies are still doubted.
FEWEST, FEW = 20, 30
# Variance of the weights relative to their likelihood's, as the labels are fitted to twice: with it
# 80 to 95 of 100 intervals hold (benchmarks/LOG.md).
TWICE = 2.0


@dataclass(frozen=True, eq=False)
class Labelled:
    """Pairs with a label: their ``rows (n,) int64`` among all, and how right they are, ``(n,)``."""

    rows: np.ndarray
    right: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, pairs: Pairs, labels: Labels) -> "Labelled":
        """Find the labelled pairs. Raises CorpusError where none of them was found."""
        wanted = {key_of(*texts): right for texts, right in labels.items()}
        sources = {key_of(source, "") for source, _ in labels}
        found: dict[int, float] = {}
        for start in range(0, len(pairs), BLOCK):
            texts = enumerate(pairs.source.sentences(pairs.source_row[start : start + BLOCK]))
            likely = np.array(
                [start + n for n, text in texts if key_of(text, "") in sources], dtype=np.int64
            )
            for row, (_, *both) in zip(likely.tolist(), pairs.take(likely).texts(), strict=True):
                if (right := wanted.get(key_of(*both))) is not None:
                    found[row] = right
        if not found:
            raise CorpusError(f"none of the {len(labels)} labels is of a pair that was found")
        return cls(np.array([*found], dtype=np.int64), np.array([*found.values()]))


@dataclass(frozen=True, eq=False)
class Evidence:
    """Likely pairs, or decoys: ``rows`` among all, ``score`` and ``features (n, f)``."""

    rows: np.ndarray
    score: np.ndarray
    features: np.ndarray

    def likely(self) -> "Evidence":
        """Return those with a score to go by."""
        kept = self.score >= LEAST
        return Evidence(self.rows[kept], self.score[kept], self.features[kept])


@dataclass(frozen=True, eq=False)
class Refined:
    """Scores ``(m,)`` by labels, and what intervals need.

    ``rows`` are the likely pairs, ``design`` constants and log-odds of them, ``known`` says which
    have a label.
    """

    score: np.ndarray
    rows: np.ndarray
    design: np.ndarray
    known: np.ndarray
    calibrated: Answered

    def resample(self, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw precision and recall of the best ``kept (t,)`` pairs: two ``(b, t) float64``.

        The function is drawn from its distribution given the labels, and then which pairs are
        right.
        """
        generator = np.random.default_rng(SEED)
        place = np.argsort(-self.score, kind="stable")
        fitted, covariance = self.calibrated, self.calibrated.covariance * TWICE
        found = np.empty((2, RESAMPLES, len(kept)))
        for number in range(RESAMPLES):
            weights = generator.multivariate_normal(fitted.weights, covariance)
            faults = generator.beta(fitted.faulty[0] / TWICE, fitted.faulty[1] / TWICE)
            chance = self.score.copy()
            drawn = (1 - faults) * sigmoid(self.design @ weights)
            chance[self.rows] = np.where(self.known, self.score[self.rows], drawn)
            right = generator.random(len(chance)) < chance
            sums = np.concatenate([[0], np.cumsum(right[place])])
            above = np.interp(kept, np.arange(len(sums)), sums)
            found[0, number] = above / np.maximum(kept, 1)
            found[1, number] = above / max(sums[-1], 1)
        return found[0], found[1]


def refine(
    score: np.ndarray,
    pairs: Evidence,
    decoys: Evidence,
    weight: np.ndarray,
    labels: Labelled,
) -> Refined:
    """Score pairs ``(m,)`` again by labels; ``weight (n,)``: of the decoys."""
    weight = weight[decoys.score >= LEAST]
    pairs, decoys = pairs.likely(), decoys.likely()
    places = np.searchsorted(pairs.rows, labels.rows)
    at = np.minimum(places, max(len(pairs.rows) - 1, 0))
    among = pairs.rows[at] == labels.rows if len(pairs.rows) else np.zeros(len(labels), dtype=bool)
    own, right = at[among], labels.right[among]
    known = np.zeros(len(pairs.rows), dtype=bool)
    known[own] = True
    scale = Scale.of(pairs.features)
    rows, wrong = (scale.design(log_odds(one.score), one.features) for one in (pairs, decoys))
    # Decoys stand for the wrong pairs among the likely ones.
    expected = float((1 - pairs.score).sum())
    weight = weight * (SHARE * expected / max(float(weight.sum()), 1e-12))
    others = Unlabelled(rows[~known], SHARE, wrong, weight)
    fitted = rescore(scale, rows[own], right, PENALTY, others)
    line = fitted.line(log_odds(pairs.score), pairs.features)
    score = score.copy()
    score[pairs.rows] = fitted.second.probability(line)
    # A pair goes by its own label: who called it wrong does not want to see it kept.
    errors = max(fitted.second.errors, LEAST)
    score[labels.rows] = errors + (1 - 2 * errors) * labels.right
    return Refined(score, pairs.rows, line, known, fitted.second)
