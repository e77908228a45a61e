"""Recurrent networks under training, by torch, over tables of embeddings."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from miner.encoder.recurrent import RecurrentNetwork
from miner.machine import thread_count
from miner.ragged import take_lists
from miner_train.config import TrainConfig
from miner_train.data import Sentences, dropped, scrambled
from miner_train.encoders.embedding_table import (
    BETA1,
    BETA2,
    EPSILON,
    Arrays,
    Average,
    EmbeddingDropout,
    Table,
    inside,
)

# Sentences of a batch that a thread passes through a recurrent network together.
TOGETHER = 128


@dataclass(frozen=True)
class BatchShare:
    """Rows of a batch that one thread passes through the network.

    ``embedded (tokens, d)`` are the embeddings, ``vectors (rows, size)`` the network's output.
    """

    rows: np.ndarray
    sentences: Sentences
    embedded: torch.Tensor
    vectors: torch.Tensor


class Recurrent(Average):
    """Recurrent network over embeddings.

    A batch is split into shares for threads, each with a single torch thread, because the steps of
    a sequence are too small to divide. Gradients are added in the order of the shares, so that the
    result does not depend on the number of threads.
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
            self.network = RecurrentNetwork(
                name, config.dimension, config.states(name), config.pooling, config.directions
            ).to(device)
        self.size = self.network.dimension
        self.adam = torch.optim.Adam(self.network.parameters(), betas=(BETA1, BETA2), eps=EPSILON)
        self._workers = ThreadPoolExecutor(thread_count(threads) if device == "cpu" else 1)

    def forward(self, sentences: Sentences, generator: np.random.Generator) -> np.ndarray:
        config = self.config
        kept = dropped(sentences, config.dropout, generator)
        last = scrambled(kept, config.scramble, generator)
        numbers = EmbeddingDropout.drawn(config.embedding_dropout, generator)
        masks: list[np.ndarray] = []
        if config.variational:
            for size in (config.dimension, self.network.states):
                masks.append(self._mask(generator, len(last), size))

        def work(rows: np.ndarray) -> BatchShare:
            batch = last.take(rows)
            embedded = self._look_up(batch).requires_grad_()
            inputs = embedded
            if numbers is not None:
                places = take_lists(np.arange(len(last.ids)), last.offsets, rows)[0]
                factors = torch.from_numpy(numbers.factors(places, config.dimension))
                inputs = embedded * factors.to(self.device)
            drop = [torch.from_numpy(mask[rows]).to(self.device) for mask in masks]
            return BatchShare(
                rows, batch, embedded, self.network(inputs, batch.offsets, drop or None)
            )

        self._shares = list(self._workers.map(work, self._split(last)))
        out = np.empty((len(last), self.size), dtype=np.float32)
        for share in self._shares:
            out[share.rows] = share.vectors.detach().cpu().numpy()
        return out

    def _split(self, sentences: Sentences) -> list[np.ndarray]:
        """Split rows among shares round-robin by length, so that each gets equal work."""
        order = np.argsort(-np.diff(sentences.offsets), kind="stable")
        shares = max(1, round(len(order) / TOGETHER)) if self.device == "cpu" else 1
        return [order[start::shares] for start in range(shares)]

    def _look_up(self, sentences: Sentences) -> torch.Tensor:
        return torch.from_numpy(self.table.weights[sentences.ids]).to(self.device)

    def _mask(self, generator: np.random.Generator, n: int, size: int) -> np.ndarray:
        """Draw the mask of variational dropout ``(n, size) float32``: 0, or the factor that
        preserves the mean.

        One row serves all tokens of a sentence.
        """
        kept = generator.random((n, size), dtype=np.float32) >= self.config.variational
        return kept.astype(np.float32) / np.float32(1 - self.config.variational)

    def backward(self, gradient: np.ndarray, step: int, rate: float) -> None:
        parameters = list(self.network.parameters())

        def work(share: BatchShare) -> tuple[torch.Tensor, ...]:
            # May be empty in a mixed model, if only another part knows the units.
            if not len(share.sentences.ids):
                return tuple(map(torch.zeros_like, (share.embedded, *parameters)))
            share_gradient = torch.from_numpy(gradient[share.rows]).to(self.device)
            return torch.autograd.grad(share.vectors, (share.embedded, *parameters), share_gradient)

        gradients = list(self._workers.map(work, self._shares))
        for parameter, *parts in zip(parameters, *(grads[1:] for grads in gradients), strict=True):
            total = sum(parts[1:], start=parts[0])
            parameter.grad = total + 2 * self.config.lambda_c * parameter.detach()
        self.adam.param_groups[0]["lr"] = rate
        self.adam.step()
        by_token = np.concatenate([grads[0].cpu().numpy() for grads in gradients])
        ids = np.concatenate([share.sentences.ids for share in self._shares])
        self.table.update(ids, np.arange(len(ids) + 1), by_token, step, rate)
        self._shares = []

    def means(self, sentences: Sentences) -> np.ndarray:
        out = np.empty((len(sentences), self.size), dtype=np.float32)
        # Sentences of similar length share a batch, so that little is padded.
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
