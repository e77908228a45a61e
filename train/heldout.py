"""The held-out mining task: pairs of the training text, most of whose partners are hidden."""

import numpy as np

from miner.evaluation.metrics import Evaluation, best_threshold
from miner.knn.neighbors import Neighbors
from miner.scoring.margin import candidates, retrieve
from train.data import PairData

NEIGHBORS = 4
# Of the held-out pairs, one in six keeps both sides; the others lose the one or the other. What is
# left has a nearest wrong sentence to be tempted by, as real mining has.
KEEP = 6
# More held-out pairs than this only cost time.
MOST = 6000


def mining_f1(source: np.ndarray, target: np.ndarray) -> Evaluation:
    """Best F1 of mining the pairs hidden in held-out vectors (ratio margin, k=4, max retrieval).

    ``source, target (n, d) float32`` unit rows, translations by row, in an order
    without meaning; of more than ``MOST``, every second is used, or every third, and so on.
    """
    step = -(-len(source) // MOST) or 1
    source, target = source[::step], target[::step]
    rows = np.arange(len(source))
    both = rows % KEEP == 0
    sources = rows[both | (rows % 2 == 0)]
    targets = rows[both | (rows % 2 == 1)]
    left, right = source[sources], target[targets]
    similarity = left @ right.T
    found = retrieve(candidates(_nearest(similarity), _nearest(similarity.T), "ratio"), "max")
    mined = list(
        zip(
            found.score.tolist(),
            map(str, sources[found.source_row].tolist()),
            map(str, targets[found.target_row].tolist()),
            strict=True,
        )
    )
    return best_threshold(mined, {(str(row), str(row)) for row in rows[both].tolist()})


def _nearest(similarity: np.ndarray) -> Neighbors:
    k = min(NEIGHBORS, similarity.shape[1])
    row = np.argsort(-similarity, axis=1, kind="stable")[:, :k]
    return Neighbors(np.take_along_axis(similarity, row, axis=1), row)


def enough(data: PairData) -> bool:
    """Whether the held-out pairs are enough for an F1 that means something."""
    return len(data) >= 60
