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

from miner.errors import ArtifactError
from miner.mining.search import Search
from miner.mining.verification import BLOCK, release
from miner.scoring.logistic import sigmoid
from miner.scoring.pair_features import PAIR_FEATURES, PreparedText
from miner.scoring.quality import Quality, features_of_rows

# Pairs that are likelier than this to be no chance match are read; no others can be kept.
POSSIBLE = 0.001
# Log-odds, before the pair is read, that one which is no chance match has no fault: faults are rare
# (1 in 150), so that only a poor quality changes a score much.
FAULTLESS = 5.0


@dataclass(frozen=True, eq=False)
class Reading:
    """Pairs that were read.

    ``rows (r,) int64`` are their positions among all pairs, ascending; ``features (r, f) float32``
    those that candidates lack: cosine, order and comparer; ``faultless (r,) float64`` the
    probability of each to have no fault, if it is no chance match.
    """

    rows: np.ndarray
    features: np.ndarray
    faultless: np.ndarray


def quality_of(found: Search) -> Quality | None:
    """Return the quality function of a search's verifier; None for a model without one."""
    assert found.verifier is not None
    try:
        return Quality.of(found.verifier)
    except ArtifactError:  # a model of an older version
        return None


def read(
    quality: Quality,
    texts: tuple[PreparedText, PreparedText],
    places: tuple[np.ndarray, np.ndarray],
    cosine: np.ndarray,
    probability: np.ndarray,
) -> Reading:
    """Read the pairs that are possible.

    ``places`` are the rows of all pairs in both ``texts``, ``(m,) int64`` each, ``cosine (m,)``
    their cosines, and ``probability (m,)`` that of being no chance match. What is read of a pair
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
    faultless = sigmoid(quality.function.logit(columns) + FAULTLESS)
    return Reading(rows, columns[:, len(PAIR_FEATURES) :], faultless)
