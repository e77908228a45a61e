"""Labels: answers of people about some pairs join the evidence of decoys.

Scores by decoys are the start. A logistic function of them and of all features of likely pairs is
fitted to the labels, to the decoys, and at a small weight to the other pairs by their probability;
a ridge penalty is centred at the start. A second function, of the first one's log-odds, is fitted
to the labels for calibration. Both allow for errors of judges and for faults that no feature sees
(:mod:`miner.scoring.judgement_fit`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from miner.arrays import Columns
from miner.errors import CorpusError
from miner.precision.mixture import RESAMPLES, SEED, UNLIKE_MISSED
from miner.results import BLOCK
from miner.scoring.judgement_fit import (
    JudgementFit,
    Scale,
    Unlabelled,
    believed,
    fit_answers,
    line,
    prior,
)
from miner.scoring.logistic import log_odds, sigmoid
from miner.scoring.pairs import Pairs
from miner.text.answers import key_of

# Probability in [0, 1] that pairs are right, by their texts.
Labels = Mapping[tuple[str, str], float]

# Score below which pairs keep it.
LEAST = 0.003
# Precision of the normal prior of a feature's weight, and weight of a pair without a label, in
# labels (tried values: benchmarks/LOG.md).
PENALTY, SHARE = 10.0, 0.1
# Minimum number of labels to fit, and to stop doubting near-copies.
FEWEST, FEW = 20, 30
# Standard deviation of the logarithm of the number of all right pairs (at most 5% wrong on the six
# texts of the benchmark), and minimum distance of a labelled pair's score from 0.5.
UNLIKE_TOTAL, NEAREST = 0.05, 0.01


@dataclass(frozen=True, eq=False)
class Labelled(Columns):
    """Pairs with a label: their ``rows (n,) int64`` among all, and the labels in [0, 1],
    ``(n,)``.
    """

    rows: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, pairs: Pairs, labels: Labels) -> "Labelled":
        """Find the labelled pairs among ``pairs``. Raises CorpusError if none of them is there."""
        wanted = {key_of(*texts): right for texts, right in labels.items()}
        sources = {key_of(source, "") for source, _ in labels}
        labelled: dict[int, float] = {}
        for start in range(0, len(pairs), BLOCK):
            texts = enumerate(pairs.source.sentences(pairs.source_row[start : start + BLOCK]))
            likely = np.array(
                [start + n for n, text in texts if key_of(text, "") in sources], dtype=np.int64
            )
            for row, (_, *both) in zip(likely.tolist(), pairs.take(likely).texts(), strict=True):
                if (right := wanted.get(key_of(*both))) is not None:
                    labelled[row] = right
        if not labelled:
            raise CorpusError(
                f"none of the {len(labels)} labels is of a pair that was found; mine the corpus "
                "that they are about together with this one, or review these pairs"
            )
        return cls(np.array([*labelled], dtype=np.int64), np.array([*labelled.values()]))


@dataclass(frozen=True, eq=False)
class ScoredRows(Columns):
    """Likely pairs, or decoys: ``rows`` among all, ``score`` and ``features (n, f)``."""

    rows: np.ndarray
    score: np.ndarray
    features: np.ndarray

    def likely(self) -> "ScoredRows":
        """Return the pairs with a score of at least `LEAST`."""
        return self.take(self.score >= LEAST)


@dataclass(frozen=True, eq=False)
class Refined:
    """Scores ``(m,)`` by labels, and the data for intervals.

    ``rows``: the likely pairs; ``design``: their constants and log-odds. ``labelled``: positions of
    the labelled pairs; ``right``: the values of the labels. ``total``: number of right
    pairs, including missed ones.
    """

    score: np.ndarray
    rows: np.ndarray
    design: np.ndarray
    labelled: np.ndarray
    right: np.ndarray
    calibrated: JudgementFit
    total: float

    def resample(self, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw precision and recall of the ``kept (t,)`` best pairs: two ``(b, t) float64``.

        The function and the error rate of answers are drawn from their posterior given the labels;
        then which pairs are right, and how many more were missed.
        """
        generator = np.random.default_rng(SEED)
        order = np.argsort(-self.score, kind="stable")
        fitted = self.calibrated
        metrics = np.empty((2, RESAMPLES, len(kept)))
        for number in range(RESAMPLES):
            weights = generator.multivariate_normal(fitted.weights, fitted.covariance)
            drawn = (1 - generator.beta(*fitted.faulty)) * sigmoid(self.design @ weights)
            errors = generator.beta(*fitted.erring)
            drawn[self.labelled] = believed(self.right, drawn[self.labelled], errors)
            chance = self.score.copy()
            chance[self.rows] = drawn
            right = generator.random(len(chance)) < chance
            sums = np.concatenate([[0], np.cumsum(right[order])])
            above = np.interp(kept, np.arange(len(sums)), sums)
            total, missed = np.exp(generator.normal(0, (UNLIKE_TOTAL, UNLIKE_MISSED)))
            below = generator.poisson(missed * max(total * self.total - sums[-1], 0))
            metrics[0, number] = above / np.maximum(kept, 1)
            metrics[1, number] = above / max(sums[-1] + below, 1)
        return metrics[0], metrics[1]


def refine(
    score: np.ndarray,
    pairs: ScoredRows,
    decoys: ScoredRows,
    weight: np.ndarray,
    labels: Labelled,
    total: float,
) -> Refined:
    """Score pairs ``(m,)`` again by labels; ``weight (n,)`` of the decoys.

    ``total`` is the number of right pairs, found or missed, without labels. If labels lower the
    number of right pairs found, the number of missed ones falls in proportion.
    """
    weight = weight[decoys.score >= LEAST]
    pairs, decoys = pairs.likely(), decoys.likely()
    among = np.isin(labels.rows, pairs.rows)
    labelled, right = np.searchsorted(pairs.rows, labels.rows[among]), labels.right[among]
    scale = Scale.of(pairs.features)
    rows, wrong = (scale.design(log_odds(group.score), group.features) for group in (pairs, decoys))
    # Decoys represent the wrong pairs among the likely ones.
    expected = float((1 - pairs.score).sum())
    weight = weight * (SHARE * expected / max(float(weight.sum()), 1e-12))
    others = Unlabelled(np.delete(rows, labelled, axis=0), SHARE, wrong, weight)
    held = prior(pairs.features.shape[1], PENALTY)
    design = line(rows, fit_answers(rows[labelled], right, *held, unlabelled=others))
    fitted = fit_answers(design[labelled], right, *prior(0))
    before, score = float(score.sum()), score.copy()
    score[pairs.rows] = fitted.probability(design)
    # A judge's answer overrides the score's side of 0.5: who called a pair wrong does not want it
    # kept.
    least = np.where(labels.right > 0.5, 0.5 + NEAREST, 0.0)
    most = np.where(labels.right < 0.5, 0.5 - NEAREST, 1.0)
    sure = believed(labels.right, score[labels.rows], fitted.errors)
    score[labels.rows] = np.clip(sure, least, most)
    total = max(total, before) * min(1.0, float(score.sum()) / max(before, 1e-9))
    return Refined(score, pairs.rows, design, labelled, right, fitted, total)
