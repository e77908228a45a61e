"""Conversion of the arrays of a training to a model."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.encoder.architecture import ENCODERS
from miner.encoder.model import Model
from miner.encoder.part import EncoderPart
from miner_train.config import TrainConfig
from miner_train.data import PairData
from miner_train.encoders.embedding_table import inside


def assemble(
    learned: Mapping[str, np.ndarray],
    config: TrainConfig,
    files: Mapping[str, bytes],
    training: PairData,
    threshold: float | None,
    record: dict[str, Any],
) -> Model:
    """Make a model of the ``learned`` arrays, named ``encoder/array``.

    ``files`` are the vocabularies by file name. With separate vocabularies, embeddings without any
    pair in ``training`` become zero. ``record`` describes the training.
    """
    dimensions = [config.size(name) for name in config.encoders]
    arrays = {name: inside(name, learned) for name in config.encoders}
    if config.architecture.separate:
        for name in config.encoders:
            _clear_unseen(arrays[name]["weights"], training, config, name)
    return Model(
        tuple(stored_part(arrays[name], config.dtype) for name in config.encoders),
        files,
        dimensions[0] if config.combine == "add" else sum(dimensions),
        config.architecture,
        threshold=None if threshold is None or np.isnan(threshold) else threshold,
        training=record,
    )


def _clear_unseen(weights: np.ndarray, training: PairData, config: TrainConfig, name: str) -> None:
    """Set to zero the embeddings ``(V, d)`` of units that do not occur in their column."""
    view = config.architecture.units.index(ENCODERS[name].units)
    ids = np.concatenate([side.views[view].ids for side in (training.source, training.target)])
    weights[np.bincount(ids, minlength=len(weights)) == 0] = 0


def stored_part(learned: Mapping[str, np.ndarray], dtype: str) -> EncoderPart:
    """Convert the arrays of an encoder to the types in which they are stored."""
    return EncoderPart.of(learned["weights"], dtype, inside("network", learned))
