"""Fault check of likely pairs: order, comparer and quality, too expensive for all candidates.

Decoys and rivals tell chance matches from translations, and so do the features of the quality of a
pair (:mod:`miner.scoring.quality`). These are computed for the few pairs that may still be right.

The quality also shows what no search can. Near-copies that differ from a translation in a negation,
a number or a name match as translations do, and often have no rival. The quality reads the pair
alone and is learned from such faults.
"""

from dataclasses import dataclass

import numpy as np

from miner.scoring.logistic import log_odds, shift_to, sigmoid
from miner.scoring.pair_features import PAIR_FEATURES, TokenizedText
from miner.scoring.quality import Quality, features_of_rows
from miner.scoring.verification import BLOCK, release

# Minimum probability of a pair of being no chance match, to be checked for faults and kept.
POSSIBLE = 0.001
# Prior log-odds that a pair which is no chance match has no fault: faults are rare (1 in 150), so
# that only a poor quality changes a score much.
FAULTLESS = 5.0
# Usual median quality, in log-odds, of confident pairs, on text and languages that the model knows
# (training splits of the BUCC-style sets: 0.9 to 1.5); minimum probability of a confident pair; and
# minimum number of them.
USUAL, CONFIDENT, FEWEST = 0.9, 0.9, 30


@dataclass(frozen=True, eq=False)
class FaultFeatures:
    """Features of the pairs that were checked.

    ``rows (r,) int64``: their positions among all pairs, ascending; ``features (r, f) float32``:
    features that candidates lack (cosine, order, comparer); ``quality (r,) float64``: log-odds of
    having no fault, if half of the pairs had one.
    """

    rows: np.ndarray
    features: np.ndarray
    quality: np.ndarray

    def raised(self, probability: np.ndarray) -> float:
        """Return the increase of this corpus's log-odds of being right; 0 or more.

        ``probability (r,)``: that a pair is no chance match. Faults are rare in every corpus. So if
        most confident pairs have a poor quality, the model knows the languages badly or the text is
        translated freely. All log-odds are then raised by a constant, until the sum of scores
        equals that of qualities around the usual median.
        """
        confident = self.quality[probability > CONFIDENT]
        lacking = USUAL - float(np.median(confident)) if len(confident) >= FEWEST else 0.0
        if lacking <= 0:
            return 0.0
        usual = probability * sigmoid(self.quality + lacking + FAULTLESS)
        return shift_to(log_odds(scores(probability, self.quality)), float(usual.sum()))


def scores(probability: np.ndarray, quality: np.ndarray, raised: float = 0.0) -> np.ndarray:
    """Return the probability ``(r,) float64`` that pairs are right: neither chance nor faulty.

    ``probability (r,)``: that a pair is no chance match; ``quality (r,)`` as in
    :class:`FaultFeatures`; ``raised``: increase of the log-odds (:meth:`FaultFeatures.raised`).
    """
    score = probability * sigmoid(quality + FAULTLESS)
    return sigmoid(log_odds(score) + raised) if raised else score


def read(
    quality: Quality,
    texts: tuple[TokenizedText, TokenizedText],
    places: tuple[np.ndarray, np.ndarray],
    cosine: np.ndarray,
    probability: np.ndarray,
) -> FaultFeatures:
    """Check the pairs that may be right.

    ``places`` are the rows of all pairs in both ``texts``, ``(m,) int64`` each, ``cosine (m,)``
    their cosines, and ``probability (m,)`` that each is no chance match. The result for a pair
    depends only on the pair.
    """
    rows = np.flatnonzero(probability > POSSIBLE)
    names = quality.function.names
    columns = np.empty((len(rows), len(names)), dtype=np.float32)
    # By source, the order of the texts on disk.
    order = np.argsort(places[0][rows], kind="stable")
    for start in range(0, len(rows), BLOCK):
        part = order[start : start + BLOCK]
        pair_rows = places[0][rows[part]], places[1][rows[part]]
        columns[part] = features_of_rows(quality.verifier, *texts, pair_rows, cosine[rows[part]])
        release(*texts)
    return FaultFeatures(
        rows, columns[:, len(PAIR_FEATURES) :], quality.function.logit(columns).astype(np.float64)
    )
