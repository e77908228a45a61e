"""The training loop: batches in an order that the seed decides, one sparse Adam step each."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numba
import numpy as np
import torch

from miner.errors import ResourceError
from miner.kernels.embed import group_by_id, margin_gradient, mean_batch, sparse_adam
from miner.machine import thread_count
from train.checkpoint import Checkpoint
from train.config import TrainConfig
from train.data import PairData, Sentences, dropped, join
from train.losses import softmax_loss
from train.negatives import hardest, related
from train.validate import enough, mining_f1

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
# Seconds between checkpoints within an epoch.
CHECKPOINT_EVERY = 60.0


@dataclass(frozen=True)
class Progress:
    """Reported after every few steps: ``done`` of ``total`` pairs over all epochs."""

    epoch: int
    done: int
    total: int
    loss: float


@dataclass(frozen=True)
class EpochEnd:
    """Reported after every epoch; ``f1`` and ``threshold`` are None without a held-out task."""

    epoch: int
    loss: float
    f1: float | None
    threshold: float | None
    best: bool


Report = Callable[[Progress | EpochEnd], None]
# Sentences to pool, and the loss and its gradient as a function of their means.
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]
Batch = tuple[Sentences, Loss]


class State:
    """The embeddings, their Adam moments, where the training stands, and the best epoch so far."""

    def __init__(self, size: int, config: TrainConfig):
        generator = np.random.default_rng([config.seed, 2])
        x = config.initial
        self.table = generator.uniform(-x, x, (size, config.dimension)).astype(np.float32)
        self.first = np.zeros_like(self.table)
        self.second = np.zeros_like(self.table)
        self.best = self.table.copy()
        self.best_f1, self.threshold = -1.0, np.nan
        # Optimiser steps ever; epoch, and pairs of it that are done.
        self.step, self.epoch, self.position = 0, 0, 0
        self.loss_sum, self.loss_count = 0.0, 0

    SCALARS = ("best_f1", "threshold", "loss_sum")
    COUNTERS = ("step", "epoch", "position", "loss_count")
    TABLES = ("table", "first", "second", "best")

    def arrays(self) -> dict[str, np.ndarray]:
        names = (*self.SCALARS, *self.COUNTERS, *self.TABLES)
        return {name: np.asarray(getattr(self, name)) for name in names}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        for name in self.TABLES:
            setattr(self, name, arrays[name])
        for name in self.SCALARS:
            setattr(self, name, float(arrays[name]))
        for name in self.COUNTERS:
            setattr(self, name, int(arrays[name]))


class Trainer:
    """Trains the averaging encoder on ``data``; ``held`` is the held-out mining task.

    Everything random is drawn from the seed, the epoch and the position in it, never from what
    happened before, so that a training continued from a checkpoint takes the very same steps.
    """

    def __init__(self, config: TrainConfig, size: int, data: PairData, held: PairData | None):
        self.config = config
        self.data = data
        self.held = held if held is not None and enough(held) else None
        self.state = State(size, config)

    def run(self, checkpoint: Checkpoint | None = None, report: Report = lambda _: None) -> State:
        """Train to the end, or go on to it; an interrupt waits for the step and saves the state."""
        if checkpoint is not None and (saved := checkpoint.load_state()) is not None:
            self.state.restore(saved)
        state, last = self.state, time.monotonic()
        with interrupt_held_back() as interrupted, step_threads(self.config):
            while state.epoch < self.config.epochs:
                for progress in self.run_epoch():
                    report(progress)
                    due = time.monotonic() - last > CHECKPOINT_EVERY
                    if checkpoint is not None and (due or interrupted()):
                        checkpoint.save_state(state.arrays())
                        last = time.monotonic()
                    if interrupted():
                        raise KeyboardInterrupt
                report(self._finish_epoch())
                if checkpoint is not None:
                    checkpoint.save_state(state.arrays())
                    last = time.monotonic()
        return state

    def run_epoch(self) -> Iterator[Progress]:
        """The rest of the current epoch; yields after every mega-batch, the state consistent."""
        config, state, n = self.config, self.state, len(self.data)
        order = np.random.default_rng([config.seed, 3, state.epoch]).permutation(n)
        while state.position < n:
            rows = order[state.position : state.position + config.batch * self._megabatch()]
            generator = np.random.default_rng([config.seed, 4, state.epoch, state.position])
            batches = self._margin_batches if config.objective == "margin" else self._batches
            for sentences, loss in batches(rows):
                done = (state.epoch * n + state.position) / (config.epochs * n)
                rate = config.rate * (1 - (1 - config.final_rate) * done)
                state.loss_sum += self._step(
                    dropped(sentences, config.dropout, generator), loss, rate
                )
                state.loss_count += 1
            state.position += len(rows)
            mean = state.loss_sum / max(state.loss_count, 1)
            yield Progress(
                state.epoch + 1, state.epoch * n + state.position, config.epochs * n, mean
            )

    def _megabatch(self) -> int:
        """Mini-batches to pool now: annealed by P19's schedule, which persists over epochs."""
        config = self.config
        if config.anneal == 0:
            return config.megabatch
        return min(config.megabatch, 1 + self.state.step // config.anneal)

    def _batches(self, rows: np.ndarray) -> Iterator[Batch]:
        """The one batch of ``rows`` for the softmax objective: sources, then targets."""
        config, data = self.config, self.data
        pairs = [
            np.stack([np.full(len(others), row), others], axis=1)
            for row, others in related(data.source_text[rows], data.target_text[rows])
        ]
        same = None
        if pairs:
            both = np.concatenate(pairs)
            same = torch.from_numpy(both[both[:, 0] != both[:, 1]])

        def loss(pooled: np.ndarray) -> tuple[float, np.ndarray]:
            means = torch.from_numpy(pooled).requires_grad_()
            source, target = means.chunk(2)
            value = softmax_loss(source, target, same, config.scale, config.margin)
            value.backward()
            assert means.grad is not None
            return float(value.detach()), means.grad.numpy()

        yield join([data.source.take(rows), data.target.take(rows)]), loss

    def _margin_batches(self, rows: np.ndarray) -> Iterator[Batch]:
        """Mini-batches of the mega-batch ``rows``, each pair with its two hardest negatives."""
        config, data = self.config, self.data
        target_negative, source_negative = hardest(
            encode(self.state.table, data.source.take(rows)),
            encode(self.state.table, data.target.take(rows)),
            data.source_text[rows],
            data.target_text[rows],
        )
        usable = np.flatnonzero((target_negative >= 0) & (source_negative >= 0))

        def loss(pooled: np.ndarray) -> tuple[float, np.ndarray]:
            gradient = np.empty_like(pooled)
            return margin_gradient(pooled, config.margin, gradient), gradient

        for start in range(0, len(usable), config.batch):
            part = usable[start : start + config.batch]
            sources = np.concatenate([rows[part], rows[source_negative[part]]])
            targets = np.concatenate([rows[part], rows[target_negative[part]]])
            n = len(part)
            both = join([data.source.take(sources), data.target.take(targets)])
            # join gives s, s-, t, t-; the loss wants s, t, s-, t-
            order = np.concatenate(
                [
                    np.arange(n),
                    np.arange(2 * n, 3 * n),
                    np.arange(n, 2 * n),
                    np.arange(3 * n, 4 * n),
                ]
            )
            yield both.take(order), loss

    def _step(self, sentences: Sentences, loss: Loss, rate: float) -> float:
        """Forward, backward, one Adam step on the rows in use; returns the loss."""
        state = self.state
        pooled = np.empty((len(sentences), state.table.shape[1]), dtype=np.float32)
        mean_batch(state.table, sentences.ids, sentences.offsets, pooled)
        value, gradient = loss(pooled)
        rows, starts, owners = group_by_id(
            sentences.ids, sentences.offsets, len(state.table), False
        )
        state.step += 1
        sparse_adam(
            state.table,
            state.first,
            state.second,
            gradient,
            sentences.offsets,
            rows,
            starts,
            owners,
            state.step,
            rate,
            BETA1,
            BETA2,
            EPSILON,
            np.empty((0, 0), dtype=np.float32),
            0.0,
        )
        return value

    def _finish_epoch(self) -> EpochEnd:
        """Score the held-out task, keep the table if it is the best yet, go to the next epoch."""
        state = self.state
        loss = state.loss_sum / max(state.loss_count, 1)
        # float16 is what will be stored, and overflows first.
        if not (np.isfinite(loss) and np.abs(state.table).max() < np.finfo(np.float16).max):
            raise ResourceError(
                f"the training diverged in epoch {state.epoch + 1} (loss {loss:.3g}); lower --rate "
                f"(now {self.config.rate:g}) and give --restart"
            )
        f1 = threshold = None
        best = True
        if self.held is not None:
            score = mining_f1(
                encode(state.table, self.held.source), encode(state.table, self.held.target)
            )
            f1, threshold = score.f1, score.threshold
            # Of equals the later: on an easy task, F1 reaches its end before the training does.
            best = f1 >= state.best_f1
        if best:
            state.best = state.table.copy()
            if f1 is not None and threshold is not None:
                state.best_f1, state.threshold = f1, threshold
        state.epoch, state.position = state.epoch + 1, 0
        state.loss_sum, state.loss_count = 0.0, 0
        return EpochEnd(state.epoch, loss, f1, threshold, best)


def encode(table: np.ndarray, sentences: Sentences) -> np.ndarray:
    """Unit vectors ``(n, d) float32`` by the embeddings as they are, dropout off."""
    out = np.empty((len(sentences), table.shape[1]), dtype=np.float32)
    mean_batch(table, sentences.ids, sentences.offsets, out)
    norm = np.linalg.norm(out, axis=1, keepdims=True)
    return np.divide(out, norm, out=out, where=norm > 0)


@contextmanager
def step_threads(config: TrainConfig) -> Iterator[None]:
    """The threads of a step, whatever another library has set: the last bit depends on torch's.

    Two for the margin objective, whose mini-batches of a hundred pairs are so small that more
    would only wait for each other; the choice among a mega-batch brings threads of its own.
    """
    threads = min(2, thread_count()) if config.objective == "margin" else thread_count()
    before = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        numba.set_num_threads(before[1])


@contextmanager
def interrupt_held_back() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C into a flag to be asked, so that no step is torn in two; twice is at once."""
    seen = False

    def remember(signum: int, frame: object) -> None:
        nonlocal seen
        if seen:
            raise KeyboardInterrupt
        seen = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: seen
    finally:
        signal.signal(signal.SIGINT, before)
