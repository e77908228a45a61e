"""Embeddings under training, and averages of them (sp, word, trigram)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from miner.kernels.embed import (
    dropout_mask,
    group_by_id,
    mean_dropped,
    sparse_adam,
    spread_dropped,
)
from miner.kernels.pool import mean_rows
from miner.parallel import in_ranges
from miner_train.config import TrainConfig
from miner_train.data import Sentences, dropped

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
# Sentences that a thread averages at a time.
CHUNK = 64
Arrays = dict[str, np.ndarray]


class Table:
    """Embeddings ``weights (V, d) float32``, and their Adam moments.

    ``start (V, d)`` replaces the random initial embeddings where it is not NaN. Random numbers
    follow from the seed and ``part``, the number of the encoder.
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
            known = np.isfinite(start)
            self.weights[known] = start[known]
        self.first = np.zeros_like(self.weights)
        self.second = np.zeros_like(self.weights)
        self.lambda_w = config.lambda_w
        self.every = config.adam == "dense" or self.lambda_w > 0
        self.start = self.weights.copy() if self.lambda_w else np.empty((0, 0), np.float32)
        # Number of first ids whose embeddings are frozen.
        self.held = 0

    def update(
        self, ids: np.ndarray, offsets: np.ndarray, gradient: np.ndarray, step: int, rate: float
    ) -> None:
        """Take one step of Adam.

        ``gradient (n, d) float32`` is the gradient by the mean embedding of each of ``n``
        sentences, with token ids in the ragged array ``ids``, ``offsets``. Only rows in use change;
        with dense Adam or ``lambda_w`` all rows do.
        """
        rows, starts, owners = group_by_id(ids, offsets, len(self.weights), self.every)
        if self.held:
            first = int(np.searchsorted(rows, self.held))
            rows, starts = rows[first:], starts[first:]
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


@dataclass(frozen=True)
class EmbeddingDropout:
    """Embedding dropout of a batch: single components of its tokens' embeddings become 0.

    ``seed`` decides which, ``cut`` is 65536 times the rate (:func:`dropout_mask`).
    """

    seed: int
    cut: int

    @classmethod
    def drawn(cls, rate: float, generator: np.random.Generator) -> "EmbeddingDropout | None":
        """Draw the dropout of a batch; at rate 0 return None without drawing."""
        if rate == 0:
            return None
        # The same bits, read as a signed number by the kernels.
        seed = generator.integers(1 << 64, dtype=np.uint64).view(np.int64)
        return cls(int(seed), round(rate * 65536))

    def factors(self, places: np.ndarray, dimension: int) -> np.ndarray:
        """Return the factors ``(t, d) float32`` of the tokens at ``places (t,)`` of the batch."""
        out = np.empty((len(places), dimension), dtype=np.float32)
        dropout_mask(places.astype(np.int64), self.seed, self.cut, out)
        return out


class Average:
    """Mean of embeddings: the encoders sp, word and trigram. ``size``: length of a vector."""

    def __init__(self, table: Table, config: TrainConfig):
        self.table, self.dropout = table, config.dropout
        self.embedding_dropout = config.embedding_dropout
        self.size = config.dimension
        self._scales = np.ones(len(table.weights), dtype=np.float32)
        # Memory of the gradients by token, reused because allocating it in each step takes longer
        # than the gradients.
        self._by_token = np.empty((0, self.size), dtype=np.float32)

    def forward(self, sentences: Sentences, generator: np.random.Generator) -> np.ndarray:
        """Return vectors ``(n, size) float32``, not normalised, with dropout and similar noise."""
        self._last = last = dropped(sentences, self.dropout, generator)
        self._numbers = numbers = EmbeddingDropout.drawn(self.embedding_dropout, generator)
        if numbers is None:
            return self.means(last)
        out = np.empty((len(last), self.size), dtype=np.float32)
        mean_dropped(self.table.weights, last.ids, last.offsets, numbers.seed, numbers.cut, out)
        return out

    def backward(self, gradient: np.ndarray, step: int, rate: float) -> None:
        """Take one step of Adam with the gradient ``(n, size)`` of the last :meth:`forward`."""
        last, numbers = self._last, self._numbers
        if numbers is None:
            self.table.update(last.ids, last.offsets, gradient, step, rate)
            return
        if len(self._by_token) < len(last.ids):
            self._by_token = np.empty((len(last.ids) * 5 // 4, self.size), dtype=np.float32)
        by_token = self._by_token[: len(last.ids)]
        spread_dropped(gradient, last.offsets, numbers.seed, numbers.cut, by_token)
        self.table.update(last.ids, np.arange(len(last.ids) + 1), by_token, step, rate)

    def means(self, sentences: Sentences) -> np.ndarray:
        """Return vectors ``(n, size) float32``, not normalised, without random noise."""
        out = np.empty((len(sentences), self.size), dtype=np.float32)
        table, ids, offsets = self.table.weights, sentences.ids, sentences.offsets
        in_ranges(
            lambda first, last: mean_rows(
                table, self._scales, ids, offsets[first : last + 1], out[first:last]
            ),
            len(out),
            CHUNK,
        )
        return out

    def learned(self) -> Arrays:
        """Return the arrays of the model: views, not copies."""
        return {"weights": self.table.weights}

    def moments(self) -> Arrays:
        """Return the further arrays of a checkpoint."""
        return {"first": self.table.first, "second": self.table.second}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set the arrays returned by :meth:`learned` and :meth:`moments`."""
        self.table.weights = arrays["weights"]
        self.table.first, self.table.second = arrays["first"], arrays["second"]


def inside(name: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Select the arrays whose names begin with ``name/``, by the rest of their names."""
    return {
        key.removeprefix(f"{name}/"): array
        for key, array in arrays.items()
        if key.startswith(f"{name}/")
    }
