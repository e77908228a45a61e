"""Classifier of single sentences, for example human or machine translation (P17, 5.6).

A softmax over two classes reads the vector of one encoder, not normalised.
:mod:`miner_train.papers.learn_classifier` learns both from a corpus of each class.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.model import Model, load
from miner.encoder.model_files import CLASSIFIER
from miner.errors import ArtifactError
from miner.scoring.logistic import sigmoid

# Rows of the softmax's weights and biases.
BAD, GOOD = 0, 1
# Probability of a sentence without known tokens. For its zero vector the softmax would return the
# share of good sentences in the training text.
UNKNOWN = 0.5


class Classifier:
    """A classifier of single sentences, ready for use.

    ``model`` carries ``classifier``: ``weight (2, d) float32`` and ``bias (2,) float32`` of the
    classes `BAD` and `GOOD`. ``threads``: None for all cores. Raises ArtifactError for a
    model that is no classifier or whose files do not fit each other, and DependencyError for an
    LSTM without torch.

    >>> Classifier.load("models/reference-en").probability(["A sentence."])  # doctest: +SKIP
    array([0.93], dtype=float32)
    """

    def __init__(self, model: Model, threads: int | None = None):
        name = str(model.path or "unsaved model")
        if not model.classifier:
            raise ArtifactError(
                f"{name}: is a model, but no classifier; make one with 'miner train-classifier'"
            )
        if model.architecture.separate:
            raise ArtifactError(f"{name}: a classifier cannot tell source from target")
        self.encoder = Encoder(model, threads, unit=False)
        weight, bias = (model.classifier.get(part) for part in ("weight", "bias"))
        shape = (2, model.dimension)
        if weight is None or bias is None or (weight.shape, bias.shape) != (shape, (2,)):
            raise ArtifactError(
                f"{name}: its {CLASSIFIER} does not fit vectors of {model.dimension} "
                "numbers; copy or train the classifier again"
            )
        # With two classes, the softmax is the logistic function of the difference.
        self._weight = weight[GOOD].astype(np.float64) - weight[BAD]
        self._bias = float(bias[GOOD]) - float(bias[BAD])
        if not (np.isfinite(self._weight).all() and np.isfinite(self._bias)):
            raise ArtifactError(
                f"{name}: a number in its {CLASSIFIER} is not finite; copy or train the "
                "classifier again"
            )

    @classmethod
    def load(cls, path: str | Path, threads: int | None = None) -> "Classifier":
        """Open a directory written by ``miner train-classifier``. Raises the errors of the
        class.
        """
        if not Path(path).is_dir():
            raise ArtifactError(
                f"{path}: no such directory; make a classifier with 'miner train-classifier'"
            )
        return cls(load(path), threads)

    def probability(self, sentences: Sequence[str]) -> np.ndarray:
        """Return P(good) of each sentence, ``(n,) float32`` in [0, 1], or `UNKNOWN`.

        Does not depend on the number of threads or on the batch, bit for bit.
        """
        vectors = self.encoder.encode(sentences)
        # Row by row: a matrix product may round differently for another number of rows.
        logit = (vectors * self._weight).sum(axis=1) + self._bias
        return np.where(vectors.any(axis=1), sigmoid(logit), UNKNOWN).astype(np.float32)
