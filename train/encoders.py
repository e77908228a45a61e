"""Encoders under training: vectors forward, a gradient back, a step of Adam.

Averages are two loops of our own (:mod:`miner.kernels.embed`); recurrent networks are torch's, with
their embeddings in the same tables, of which a step touches only the rows in use.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from miner.encoder.architecture import ENCODERS
from miner.encoder.recurrent import Network
from miner.kernels.embed import group_by_id, mean_batch, sparse_adam
from miner.machine import thread_count
from miner.ragged import offsets_of
from train.config import TrainConfig
from train.data import Sentences, dropped, scrambled

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
# Sentences of a batch that a thread takes through a recurrent network together.
TOGETHER = 128
Arrays = dict[str, np.ndarray]


class Table:
    """Embeddings ``weights (V, d) float32`` and the moments of their Adam."""

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
        self.pull = config.lambda_w
        self.start = self.weights.copy() if self.pull else np.empty((0, 0), np.float32)

    def update(
        self, ids: np.ndarray, offsets: np.ndarray, gradient: np.ndarray, step: int, rate: float
    ) -> None:
        """Adam by ``gradient (n, d)`` of the means of lists of rows, ``ids`` and ``offsets``."""
        rows, starts, owners = group_by_id(ids, offsets, len(self.weights), self.pull > 0)
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
            self.pull,
        )


class Part(Protocol):
    """One encoder under training."""

    table: Table
    # Length of its vectors.
    size: int

    def forward(self, sentences: Sentences, generator: np.random.Generator) -> np.ndarray:
        """Vectors ``(n, size) float32``, not normalised, by all that is random in training."""
        ...

    def backward(self, gradient: np.ndarray, step: int, rate: float) -> None:
        """One step of Adam by the gradient of the vectors of the last :meth:`forward`."""
        ...

    def means(self, sentences: Sentences) -> np.ndarray:
        """Vectors ``(n, size) float32``, not normalised, by nothing random."""
        ...

    def learned(self) -> Arrays:
        """What a model is made of: views, not copies."""
        ...

    def moments(self) -> Arrays:
        """What else a training goes on from."""
        ...

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go back to what :meth:`learned` and :meth:`moments` gave."""
        ...


class Average:
    """The mean of embeddings: sp, word, trigram."""

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


@dataclass(frozen=True)
class Share:
    """A part of a batch on its way through a network: its ``rows`` and what they became."""

    rows: np.ndarray
    sentences: Sentences
    embedded: torch.Tensor
    vectors: torch.Tensor


class Recurrent(Average):
    """A network over embeddings.

    A batch is dealt out by length into shares, which threads take forward and back, each with
    one thread of torch's: the steps of a sequence are too small to be divided, and threads that
    wait for each other at every step are slow wherever anything else runs. Gradients are added up
    in the order of the shares, so that the number of threads does not matter.
    """

    def __init__(
        self,
        name: str,
        table: Table,
        config: TrainConfig,
        part: int,
        device: str,
        threads: int | None = None,
    ):
        super().__init__(table, config)
        self.config, self.device = config, device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed + part)
            self.network = Network(
                name, config.dimension, config.states(name), config.pooling, config.directions
            ).to(device)
        self.size = self.network.dimension
        self.adam = torch.optim.Adam(self.network.parameters(), betas=(BETA1, BETA2), eps=EPSILON)
        self._workers = ThreadPoolExecutor(thread_count(threads) if device == "cpu" else 1)

    def forward(self, sentences: Sentences, generator: np.random.Generator) -> np.ndarray:
        config = self.config
        kept = dropped(sentences, config.dropout, generator)
        last = scrambled(kept, config.scramble, generator)
        masks: list[np.ndarray] = []
        if config.variational:
            for size in (config.dimension, self.network.states):
                masks.append(self._mask(generator, len(last), size))

        def work(rows: np.ndarray) -> Share:
            own = last.take(rows)
            embedded = self._look_up(own).requires_grad_()
            drop = [torch.from_numpy(mask[rows]).to(self.device) for mask in masks]
            return Share(rows, own, embedded, self.network(embedded, own.offsets, drop or None))

        self._shares = list(self._workers.map(work, self._dealt(last)))
        out = np.empty((len(last), self.size), dtype=np.float32)
        for share in self._shares:
            out[share.rows] = share.vectors.detach().cpu().numpy()
        return out

    def _dealt(self, sentences: Sentences) -> list[np.ndarray]:
        """Rows of each share: every so manieth by length, so that all have as much to do."""
        order = np.argsort(-np.diff(sentences.offsets), kind="stable")
        shares = max(1, round(len(order) / TOGETHER)) if self.device == "cpu" else 1
        return [order[start::shares] for start in range(shares)]

    def _look_up(self, sentences: Sentences) -> torch.Tensor:
        return torch.from_numpy(self.table.weights[sentences.ids]).to(self.device)

    def _mask(self, generator: np.random.Generator, n: int, size: int) -> np.ndarray:
        """Zero with the rate of dropout, else what keeps the mean: one for all of a sentence."""
        kept = generator.random((n, size), dtype=np.float32) >= self.config.variational
        return kept.astype(np.float32) / np.float32(1 - self.config.variational)

    def backward(self, gradient: np.ndarray, step: int, rate: float) -> None:
        parameters = list(self.network.parameters())

        def work(share: Share) -> tuple[torch.Tensor, ...]:
            if not len(share.sentences.ids):  # of a mixed model, whose other part reads something
                return tuple(map(torch.zeros_like, (share.embedded, *parameters)))
            own = torch.from_numpy(gradient[share.rows]).to(self.device)
            return torch.autograd.grad(share.vectors, (share.embedded, *parameters), own)

        found = list(self._workers.map(work, self._shares))
        for parameter, *parts in zip(parameters, *(grads[1:] for grads in found), strict=True):
            total = sum(parts[1:], start=parts[0])
            parameter.grad = total + 2 * self.config.lambda_c * parameter.detach()
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        by_token = np.concatenate([grads[0].cpu().numpy() for grads in found])
        ids = np.concatenate([share.sentences.ids for share in self._shares])
        self.table.update(ids, np.arange(len(ids) + 1), by_token, step, rate)
        self._shares = []

    def means(self, sentences: Sentences) -> np.ndarray:
        out = np.empty((len(sentences), self.size), dtype=np.float32)
        # Alike lengths together, so that none waits long for the longest.
        order = np.argsort(np.diff(sentences.offsets), kind="stable")

        def work(start: int) -> None:
            rows = order[start : start + TOGETHER]
            batch = sentences.take(rows)
            with torch.inference_mode():
                out[rows] = self.network(self._look_up(batch), batch.offsets).cpu().numpy()

        for _ in self._workers.map(work, range(0, len(order), TOGETHER)):
            pass
        return out

    def learned(self) -> Arrays:
        network = {f"network/{name}": array for name, array in self.network.arrays().items()}
        return {**super().learned(), **network}

    def moments(self) -> Arrays:
        arrays = super().moments()
        for number, state in self.adam.state_dict()["state"].items():
            for name, value in state.items():
                arrays[f"adam/{number}/{name}"] = value.cpu().numpy().copy()
        return arrays

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        super().restore(arrays)
        self.network.load(inside("network", arrays))
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, array in inside("adam", arrays).items():
            number, name = key.split("/")
            state.setdefault(int(number), {})[name] = torch.from_numpy(array.copy())
        if state:
            groups = self.adam.state_dict()["param_groups"]
            self.adam.load_state_dict({"state": state, "param_groups": groups})


class Encoders:
    """All parts of a model under training, as one: vectors that are added or concatenated (P18).

    ``sizes`` are the vocabularies' by kind of unit, in the order of the sentences' views; ``start``
    has initial embeddings ``(V, d)`` of some kind, NaN where there is none. ``threads`` are for
    recurrent networks.
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
        self.parts: dict[str, Part] = {}
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

    def forward(self, sentences: Sentences, generator: np.random.Generator) -> np.ndarray:
        """Vectors ``(n, d) float32``, not normalised, by all that is random in training."""
        return self._combined(
            part.forward(sentences.views[self._view[name]], generator)
            for name, part in self.parts.items()
        )

    def backward(self, gradient: np.ndarray, step: int, rate: float) -> None:
        """One step of Adam by the gradient of the last :meth:`forward`'s vectors."""
        parts = list(self.parts.values())
        for part, start, end in zip(parts, self._ends[:-1], self._ends[1:], strict=True):
            own = gradient
            if len(parts) > 1 and self.config.combine == "concat":
                own = np.ascontiguousarray(gradient[:, start:end])
            part.backward(own, step, rate)

    def encode(self, sentences: Sentences) -> np.ndarray:
        """Unit vectors ``(n, d) float32`` by the parameters as they are, dropout off."""
        out = self._combined(
            part.means(sentences.views[self._view[name]]) for name, part in self.parts.items()
        )
        norm = np.linalg.norm(out, axis=1, keepdims=True)
        return np.divide(out, norm, out=out, where=norm > 0)

    def _combined(self, vectors: Iterable[np.ndarray]) -> np.ndarray:
        first, *others = vectors
        if not others:
            return first
        if self.config.combine == "add":
            return sum(others, start=first)
        return np.concatenate([first, *others], axis=1)

    def learned(self) -> Arrays:
        """What a model is made of, by ``part/array``: views, not copies."""
        return {
            f"{name}/{key}": array
            for name, part in self.parts.items()
            for key, array in part.learned().items()
        }

    def arrays(self) -> Arrays:
        """All that a training goes on from."""
        moments = {
            f"{name}/{key}": array
            for name, part in self.parts.items()
            for key, array in part.moments().items()
        }
        return {**self.learned(), **moments}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go back to what :meth:`arrays` gave."""
        for name, part in self.parts.items():
            part.restore(inside(name, arrays))


def inside(name: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
    """The arrays whose names begin with ``name/``, by the rest of their names."""
    return {
        key.removeprefix(f"{name}/"): array
        for key, array in arrays.items()
        if key.startswith(f"{name}/")
    }
