"""Likely pairs, read more closely than all candidates can be: their order, comparer and faults.

Decoys and rivals tell chance matches from translations, and so do the features of the quality of a
pair (:mod:`miner.scoring.quality`), which cost too much for all candidates. They are read of the
few pairs that may still be right.

The quality tells another thing that no search can see. Near-copies that differ from a translation
in a negation, a number or a name match as translations do, and often have no rival. The quality
reads the pair alone and is learned from such faults.
"""

from dataclasses import dataclass

import numpy as np

from miner.scoring.logistic import log_odds, shift_to, sigmoid
from miner.scoring.pair_features import PAIR_FEATURES, PreparedText
from miner.scoring.quality import Quality, features_of_rows
from miner.scoring.verification import BLOCK, release

# Pairs that are likelier than this to be no chance match are read; no others can be kept.
POSSIBLE = 0.001
# Log-odds, before the pair is read, that one which is no chance match has no fault: faults are rare
# (1 in 150), so that only a poor quality changes a score much.
FAULTLESS = 5.0
# Median quality, in log-odds, of pairs this likely to be no chance match, on text and languages
# that the model knows (training splits of the BUCC-style sets: 0.9 to 1.5), and how many tell it.
USUAL, CONFIDENT, FEWEST = 0.9, 0.9, 30


@dataclass(frozen=True, eq=False)
class FaultFeatures:
    """Pairs that were read.

    ``rows (r,) int64`` are their positions among all pairs, ascending; ``features (r, f) float32``
    those that candidates lack: cosine, order and comparer; ``quality (r,) float64`` the log-odds of
    each to have no fault, where half of the pairs have one.
    """

    rows: np.ndarray
    features: np.ndarray
    quality: np.ndarray

    def raised(self, probability: np.ndarray) -> float:
        """Return how much the log-odds of this corpus's pairs to be right are raised; 0 or more.

        ``probability (r,)``: that a pair is no chance match. Faults are rare in every corpus. So if
        most confident pairs have a poor quality, the model knows the languages badly or the text is
        translated freely. All log-odds are then raised by a constant, until the sum of scores is
        what qualities about the usual median give.
        """
        confident = self.quality[probability > CONFIDENT]
        lacking = USUAL - float(np.median(confident)) if len(confident) >= FEWEST else 0.0
        if lacking <= 0:
            return 0.0
        usual = probability * sigmoid(self.quality + lacking + FAULTLESS)
        return shift_to(log_odds(scores(probability, self.quality)), float(usual.sum()))


def scores(probability: np.ndarray, quality: np.ndarray, raised: float = 0.0) -> np.ndarray:
    """Return the probability ``(r,) float64`` of pairs to be right: neither chance nor faulty.

    ``probability (r,)``: that a pair is no chance match; ``quality (r,)`` as in
    :class:`FaultFeatures`; ``raised``: increase of the log-odds (:meth:`FaultFeatures.raised`).
    """
    score = probability * sigmoid(quality + FAULTLESS)
    return sigmoid(log_odds(score) + raised) if raised else score


def read(
    quality: Quality,
    texts: tuple[PreparedText, PreparedText],
    places: tuple[np.ndarray, np.ndarray],
    cosine: np.ndarray,
    probability: np.ndarray,
) -> FaultFeatures:
    """Read the pairs that are possible.

    ``places`` are the rows of all pairs in both ``texts``, ``(m,) int64`` each, ``cosine (m,)``
    their cosines, and ``probability (m,)`` that each is no chance match. The result for a pair
    depends on the pair alone.
    """
    rows = np.flatnonzero(probability > POSSIBLE)
    names = quality.function.names
    columns = np.empty((len(rows), len(names)), dtype=np.float32)
    # By source, as the texts lie on disk.
    order = np.argsort(places[0][rows], kind="stable")
    for start in range(0, len(rows), BLOCK):
        part = order[start : start + BLOCK]
        own = places[0][rows[part]], places[1][rows[part]]
        columns[part] = features_of_rows(quality.verifier, *texts, own, cosine[rows[part]])
        release(*texts)
    return FaultFeatures(
        rows, columns[:, len(PAIR_FEATURES) :], quality.function.logit(columns).astype(np.float64)
    )
