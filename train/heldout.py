"""Held-out mining: find translations among held-out sentences, most of which have no partner
there.
"""

from collections.abc import Sized

import numpy as np

from miner.evaluation.metrics import Evaluation, best_threshold
from miner.knn.neighbors import Neighbors
from miner.scoring.margin import candidates
from miner.scoring.matching import retrieve

NEIGHBORS = 4
# One held-out pair in KEEP keeps both sides; of the others one side is removed. Sentences without a
# partner are distractors, as in real mining.
KEEP = 6
# Maximum held-out pairs: more cost time and change little.
MOST = 6000


def mining_f1(source: np.ndarray, target: np.ndarray) -> Evaluation:
    """Mine held-out pairs by ratio margin, k = 4 and max retrieval; return the best F1.

    ``source, target (n, d) float32`` are unit rows, translations by row, in random order. Beyond
    ``MOST`` rows, every second is used, or every third, and so on.
    """
    step = -(-len(source) // MOST) or 1
    source, target = source[::step], target[::step]
    rows = np.arange(len(source))
    both = rows % KEEP == 0
    sources = rows[both | (rows % 2 == 0)]
    targets = rows[both | (rows % 2 == 1)]
    left, right = source[sources], target[targets]
    similarity = left @ right.T
    pairs = retrieve(candidates(_nearest(similarity), _nearest(similarity.T), "ratio"), "max")
    mined = list(
        zip(
            pairs.score.tolist(),
            map(str, sources[pairs.source_row].tolist()),
            map(str, targets[pairs.target_row].tolist()),
            strict=True,
        )
    )
    return best_threshold(mined, {(str(row), str(row)) for row in rows[both].tolist()})


def _nearest(similarity: np.ndarray) -> Neighbors:
    k = min(NEIGHBORS, similarity.shape[1])
    row = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    return Neighbors(np.take_along_axis(similarity, row, axis=1), row)


def enough(data: Sized) -> bool:
    """Return True if there are enough held-out pairs for a meaningful F1."""
    return len(data) >= 60
