"""Embeddings under training, and averages of them (sp, word, trigram)."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from miner.kernels.embed import group_by_id, mean_batch, sparse_adam
from miner_train.config import TrainConfig
from miner_train.data import Sentences, dropped

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
Arrays = dict[str, np.ndarray]


class Table:
    """Embeddings ``weights (V, d) float32``, and Adam's moments of them.

    ``start (V, d)`` replaces the random initial embeddings, except in rows that are NaN. Random
    numbers follow from the seed and ``part``, the number of the encoder.
    """

    def __init__(
        self, size: int, config: TrainConfig, part: int, start: np.ndarray | None = None
    ) -> None:
        generator = np.random.default_rng([config.seed, 2, part] if part else [config.seed, 2])
        x, shape = config.initial, (size, config.dimension)
        if config.distribution == "normal":
            self.weights = generator.normal(0, x, shape).astype(np.float32)
        else:
            self.weights = generator.uniform(-x, x, shape).astype(np.float32)
        if start is not None:
            known = np.isfinite(start[:, 0])
            self.weights[known] = start[known]
        self.first = np.zeros_like(self.weights)
        self.second = np.zeros_like(self.weights)
        self.lambda_w = config.lambda_w
        self.start = self.weights.copy() if self.lambda_w else np.empty((0, 0), np.float32)

    def update(
        self, ids: np.ndarray, offsets: np.ndarray, gradient: np.ndarray, step: int, rate: float
    ) -> None:
        """Take one step of Adam.

        ``gradient (n, d) float32`` is that of the mean embedding of each of ``n`` sentences, whose
        token ids are the ragged array ``ids``, ``offsets``. Only rows in use change, or all of them
        with ``lambda_w``.
        """
        rows, starts, owners = group_by_id(ids, offsets, len(self.weights), self.lambda_w > 0)
        sparse_adam(
            self.weights,
            self.first,
            self.second,
            gradient,
            offsets,
            rows,
            starts,
            owners,
            step,
            rate,
            BETA1,
            BETA2,
            EPSILON,
            self.start,
            self.lambda_w,
        )


class Part(Protocol):
    """Protocol of one encoder under training; ``size`` is the length of its vectors."""

    table: Table
    size: int

    def forward(self, sentences: Sentences, generator: np.random.Generator) -> np.ndarray:
        """Vectors ``(n, size) float32``, not normalised, with dropout and the like."""
        ...

    def backward(self, gradient: np.ndarray, step: int, rate: float) -> None:
        """Take one step of Adam by the gradient ``(n, size)`` of the last :meth:`forward`."""
        ...

    def means(self, sentences: Sentences) -> np.ndarray:
        """Vectors ``(n, size) float32``, not normalised, without anything random."""
        ...

    def learned(self) -> Arrays:
        """Arrays that a model is made of: views, not copies."""
        ...

    def moments(self) -> Arrays:
        """Further arrays that a checkpoint needs."""
        ...

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set the arrays that :meth:`learned` and :meth:`moments` returned."""
        ...


class Average:
    """Mean of embeddings: the encoders sp, word and trigram."""

    def __init__(self, table: Table, config: TrainConfig):
        self.table, self.dropout = table, config.dropout
        self.size = config.dimension

    def forward(self, sentences: Sentences, generator: np.random.Generator) -> np.ndarray:
        self._last = dropped(sentences, self.dropout, generator)
        return self.means(self._last)

    def backward(self, gradient: np.ndarray, step: int, rate: float) -> None:
        self.table.update(self._last.ids, self._last.offsets, gradient, step, rate)

    def means(self, sentences: Sentences) -> np.ndarray:
        out = np.empty((len(sentences), self.size), dtype=np.float32)
        mean_batch(self.table.weights, sentences.ids, sentences.offsets, out)
        return out

    def learned(self) -> Arrays:
        return {"weights": self.table.weights}

    def moments(self) -> Arrays:
        return {"first": self.table.first, "second": self.table.second}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.table.weights = arrays["weights"]
        self.table.first, self.table.second = arrays["first"], arrays["second"]


def inside(name: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Select the arrays whose names begin with ``name/``, by the rest of their names."""
    return {
        key.removeprefix(f"{name}/"): array
        for key, array in arrays.items()
        if key.startswith(f"{name}/")
    }
