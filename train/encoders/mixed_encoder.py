"""Mixed encoder: adds or concatenates the vectors of all encoders of a model under training."""

from collections.abc import Iterable, Mapping

import numpy as np

from miner.encoder.architecture import ENCODERS
from miner.ragged import offsets_of
from miner_train.config import TrainConfig
from miner_train.data import Sentences
from miner_train.encoders.embedding_table import Arrays, Average, Table, inside
from miner_train.encoders.recurrent_encoder import Recurrent


class Encoders:
    """All encoders of a model under training; their vectors are added or concatenated (P18).

    ``sizes`` are the sizes of the vocabularies by unit, in the order of the sentences' views.
    ``start`` has initial embeddings ``(V, d) float32`` by unit, NaN for missing ones. ``threads``
    are for recurrent networks.
    """

    def __init__(
        self,
        config: TrainConfig,
        sizes: Mapping[str, int],
        device: str = "cpu",
        start: Mapping[str, np.ndarray] | None = None,
        threads: int | None = None,
    ):
        self.config = config
        self.parts: dict[str, Average] = {}
        self._view = {}
        for number, name in enumerate(config.encoders):
            kind = ENCODERS[name]
            self._view[name] = list(sizes).index(kind.units)
            table = Table(sizes[kind.units], config, number, (start or {}).get(kind.units))
            self.parts[name] = (
                Average(table, config)
                if kind.network is None
                else Recurrent(name, table, config, number, device, threads)
            )
        self._ends = offsets_of(np.array([part.size for part in self.parts.values()]))

    def hold(self, count: int) -> None:
        """Freeze the embeddings of the first ``count`` ids."""
        for part in self.parts.values():
            part.table.held = count

    def forward(self, sentences: Sentences, generator: np.random.Generator) -> np.ndarray:
        """Return vectors ``(n, d) float32``, not normalised, with dropout and similar noise."""
        return self._combined(
            part.forward(sentences.views[self._view[name]], generator)
            for name, part in self.parts.items()
        )

    def backward(self, gradient: np.ndarray, step: int, rate: float) -> None:
        """Take one step of Adam with the gradient ``(n, d)`` of the last :meth:`forward`."""
        parts = list(self.parts.values())
        for part, start, end in zip(parts, self._ends[:-1], self._ends[1:], strict=True):
            part_gradient = gradient
            if len(parts) > 1 and self.config.combine == "concat":
                part_gradient = np.ascontiguousarray(gradient[:, start:end])
            part.backward(part_gradient, step, rate)

    def encode(self, sentences: Sentences) -> np.ndarray:
        """Return unit vectors ``(n, d) float32`` by the current parameters, without dropout."""
        out = self._combined(
            part.means(sentences.views[self._view[name]]) for name, part in self.parts.items()
        )
        norm = np.linalg.norm(out, axis=1, keepdims=True)
        return np.divide(out, norm, out=out, where=norm > 0)

    def _combined(self, vectors: Iterable[np.ndarray]) -> np.ndarray:
        """Combine the vectors of the encoders, each ``(n, size)``, to ``(n, d)``."""
        first, *others = vectors
        if self.config.combine == "add":
            return sum(others, start=first)
        return np.concatenate([first, *others], axis=1) if others else first

    def learned(self) -> Arrays:
        """Return the arrays of the model, by ``encoder/array``: views, not copies."""
        return {
            f"{name}/{key}": array
            for name, part in self.parts.items()
            for key, array in part.learned().items()
        }

    def arrays(self) -> Arrays:
        return {
            f"{name}/{key}": array
            for name, part in self.parts.items()
            for key, array in {**part.learned(), **part.moments()}.items()
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set the arrays returned by :meth:`arrays`."""
        for name, part in self.parts.items():
            part.restore(inside(name, arrays))
