"""Faults that no search can see: pairs that match, but for a negation, a number, a name.

Decoys and rivals tell chance matches from translations. Near-copies that differ from a translation
in one fact match as translations do, and often have no rival. The quality of a pair reads the pair
alone and is learned from such faults (:mod:`miner.scoring.quality`).
"""

import numpy as np

from miner.errors import ArtifactError
from miner.mining.search import Search
from miner.mining.verification import BLOCK, release
from miner.scoring.logistic import sigmoid
from miner.scoring.quality import Quality

# Log-odds, before the pair is read, that one which is no chance match has no fault: faults are rare
# (1 in 150), so that only a poor quality changes a score much.
FAULTLESS = 5.0
# Pairs that are likelier than this to be no chance match are read; no others can be kept.
POSSIBLE = 0.001


def faultless(found: Search, score: np.ndarray) -> np.ndarray:
    """Return the probability ``(m,) float64`` of each pair to have no fault.

    ``score (m,)`` are the probabilities of a search's pairs to be no chance matches. It is 1 for
    those that are not read, and where the model has no quality function.
    """
    out = np.ones(len(score))
    assert found.verifier is not None
    assert found.source_text is not None and found.target_text is not None
    try:
        quality = Quality.of(found.verifier)
    except ArtifactError:  # a model of an older version
        return out
    pairs, (left, right) = found.pairs, (found.source_text, found.target_text)
    # By source, as the texts lie on disk.
    rows = np.flatnonzero(score > POSSIBLE)
    rows = rows[np.argsort(pairs.source_row[rows], kind="stable")]
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        places = pairs.source_row[part], pairs.target_row[part]
        logit = quality.logits(left, right, places, pairs.cosine[part])
        out[part] = sigmoid(logit + FAULTLESS)
        release(left, right)
    return out
