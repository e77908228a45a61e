"""How good a pair of a bitext is: the probability that both sides say the same, all of it.

Mining asks which of many sentences is the translation. Filtering asks of a pair that is given
whether it is one: not half of one, nor one with other numbers, other names, or its words shuffled.
So the weights are another function's, learned without labels by :mod:`train.learn_quality` from held-out
bitext and the same bitext spoilt on purpose. A pair's score depends on nothing but the pair.
"""

from collections.abc import Sequence

import numpy as np

from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError
from miner.scoring.verifier import ALONE, Logistic, Verifier, sigmoid

# What is known of a pair: what a second look sees, the cosine of the vectors, and order.
FEATURES = (*ALONE, "cosine", "adjacent", "adjacent_min", "order", "order_min")
# The function's place in a model's verifier.
NAME = "quality"


class Quality:
    """The quality function of one model.

    Raises :class:`~miner.errors.ArtifactError` for a model without, or with a faulty, one.
    """

    def __init__(self, encoder: Encoder):
        self.verifier = Verifier(encoder)
        assert encoder.model.verifier is not None
        try:
            self.function = Logistic.from_dict(encoder.model.verifier[NAME], FEATURES)
        except (KeyError, TypeError, ValueError) as error:
            raise ArtifactError(
                f"{encoder.name}: knows no quality of pairs, or a faulty one ({error}); train the "
                "model again, or score by cosine or margin"
            ) from None

    def score(self, source: Sequence[str], target: Sequence[str]) -> np.ndarray:
        """Probability of each pair ``(n,) float64``; 0 where a side has no piece that is known.

        The same for any number of threads, and whatever else is scored in the same call.
        """
        figures, known = features(self.verifier, source, target)
        return np.where(known, sigmoid(self.function.logit(figures)), 0.0)


def features(
    verifier: Verifier, source: Sequence[str], target: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """The ``FEATURES`` of pairs ``(n, f) float32``, and which have known pieces on both sides."""
    from miner.kernels.order import COLUMNS

    left, right = (verifier.prepare(side) for side in (source, target))
    rows = np.arange(len(left), dtype=np.int64)
    out = np.empty((len(rows), len(FEATURES)), dtype=np.float32)
    own = len(ALONE)
    places = np.empty((len(rows), COLUMNS), dtype=np.float32)
    out[:, :own] = verifier.pieces.compare(left, right, rows, rows, places)
    vectors = [
        verifier.encoder.encode_pieces(text.ids, text.offsets, side)
        for side, text in ((source, left), (target, right))
    ]
    out[:, own] = cosines(*vectors)
    for column in (0, 2):
        out[:, own + 1 + column] = (places[:, column] + places[:, column + 1]) / 2
        out[:, own + 2 + column] = places[:, column : column + 2].min(axis=1)
    known = (np.diff(left.offsets) > 0) & (np.diff(right.offsets) > 0)
    return out, known


def cosines(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Of unit vectors, row by row: ``(n,) float32``, each the same in whatever company."""
    from miner.kernels.exact import rescore

    out = np.empty((len(source), 1), dtype=np.float32)
    rescore(source, target, np.arange(len(source), dtype=np.int64)[:, None], out)
    return out[:, 0]
