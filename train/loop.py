"""The training loop: batches in an order that the seed decides, one step of Adam each."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numba
import numpy as np
import torch

from miner.encoder.architecture import ENCODERS
from miner.errors import ResourceError
from miner.machine import thread_count
from train.config import TrainConfig
from train.data import PairData, Sentences
from train.encoders import Encoders, inside
from train.heldout import enough, mining_f1
from train.objectives import Loss, batches, labelled_batch
from train.training_checkpoint import Checkpoint

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


class State:
    """Where the training stands, and the best epoch so far."""

    def __init__(self) -> None:
        # What was learned by the best epoch, by name.
        self.best: dict[str, np.ndarray] = {}
        self.best_f1, self.threshold = -1.0, np.nan
        # Optimiser steps ever; epoch, and pairs of it that are done.
        self.step, self.epoch, self.position = 0, 0, 0
        self.loss_sum, self.loss_count = 0.0, 0

    SCALARS = ("best_f1", "threshold", "loss_sum")
    COUNTERS = ("step", "epoch", "position", "loss_count")

    def arrays(self) -> dict[str, np.ndarray]:
        names = (*self.SCALARS, *self.COUNTERS)
        best = {f"best/{name}": array for name, array in self.best.items()}
        return {**{name: np.asarray(getattr(self, name)) for name in names}, **best}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.best = inside("best", arrays)
        for name in self.SCALARS:
            setattr(self, name, float(arrays[name]))
        for name in self.COUNTERS:
            setattr(self, name, int(arrays[name]))


class Trainer:
    """Trains the encoders of ``config`` on ``data``; ``held`` is the held-out mining task.

    ``sizes`` are the vocabularies' by kind of unit, in the order of the sentences' views, ``start``
    their initial embeddings (:class:`train.encoders.Encoders`). ``cut`` gives the data of an epoch,
    where that is cut anew each time (subword sampling).

    Everything random is drawn from the seed, the epoch and the position in it, never from what
    happened before, so that a training continued from a checkpoint takes the very same steps.
    """

    def __init__(
        self,
        config: TrainConfig,
        sizes: Mapping[str, int],
        data: PairData,
        held: PairData | None,
        device: str = "cpu",
        start: Mapping[str, np.ndarray] | None = None,
        cut: Callable[[int], PairData] | None = None,
    ):
        self.config = config
        self.data = data
        self.held = held if held is not None and enough(held) else None
        self.encoders = Encoders(config, sizes, device, start)
        self.state = State()
        self.cut = cut
        # Pairs of both labels teach by themselves; else negatives are found among the others.
        self.labelled = config.objective == "contrastive" and not data.same.all()

    def arrays(self) -> dict[str, np.ndarray]:
        """All that a training goes on from."""
        now = {f"now/{name}": array for name, array in self.encoders.arrays().items()}
        return {**self.state.arrays(), **now}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Go back to what :meth:`arrays` gave."""
        self.state.restore(arrays)
        self.encoders.restore(inside("now", arrays))

    def run(self, checkpoint: Checkpoint | None = None, report: Report = lambda _: None) -> State:
        """Train to the end, or go on to it; an interrupt waits for the step and saves the state."""
        if checkpoint is not None and (saved := checkpoint.load_state()) is not None:
            self.restore(saved)
        state, last = self.state, time.monotonic()
        with interrupt_held_back() as interrupted, step_threads(self.config):
            if self.config.epochs == 0:
                self._judge(0.0)
            while state.epoch < self.config.epochs:
                for progress in self.run_epoch():
                    report(progress)
                    due = time.monotonic() - last > CHECKPOINT_EVERY
                    if checkpoint is not None and (due or interrupted()):
                        checkpoint.save_state(self.arrays())
                        last = time.monotonic()
                    if interrupted():
                        raise KeyboardInterrupt
                report(self._finish_epoch())
                if checkpoint is not None:
                    checkpoint.save_state(self.arrays())
                    last = time.monotonic()
        return state

    def run_epoch(self) -> Iterator[Progress]:
        """The rest of the current epoch; yields after every mega-batch, the state consistent."""
        config, state, n = self.config, self.state, len(self.data)
        data = self.data if self.cut is None else self.cut(state.epoch)
        order = np.random.default_rng([config.seed, 3, state.epoch]).permutation(n)
        while state.position < n:
            rows = order[state.position : state.position + config.batch * self._megabatch()]
            generator = np.random.default_rng([config.seed, 4, state.epoch, state.position])
            pool = data.take(rows)
            found = (
                [labelled_batch(config, pool)]
                if self.labelled
                else batches(config, pool, self.encoders.encode, generator)
            )
            for sentences, loss in found:
                done = (state.epoch * n + state.position) / (config.epochs * n)
                rate = config.rate * (1 - (1 - config.final_rate) * done)
                state.loss_sum += self._step(sentences, loss, rate, generator)
                state.loss_count += 1
            state.position += len(rows)
            mean = state.loss_sum / max(state.loss_count, 1)
            yield Progress(
                state.epoch + 1, state.epoch * n + state.position, config.epochs * n, mean
            )

    def _megabatch(self) -> int:
        """Mini-batches to pool now: annealed by P19's schedule, which persists over epochs."""
        config = self.config
        if self.labelled:
            return 1
        if config.anneal == 0:
            return config.megabatch
        return min(config.megabatch, 1 + self.state.step // config.anneal)

    def _step(
        self, sentences: Sentences, loss: Loss, rate: float, generator: np.random.Generator
    ) -> float:
        """Forward, backward, one step of Adam; returns the loss."""
        value, gradient = loss(self.encoders.forward(sentences, generator))
        self.state.step += 1
        self.encoders.backward(gradient, self.state.step, rate)
        return value

    def _finish_epoch(self) -> EpochEnd:
        """Judge the epoch, keep what it learned if it is the best yet, go to the next."""
        state = self.state
        loss = state.loss_sum / max(state.loss_count, 1)
        f1, threshold, best = self._judge(loss)
        state.epoch, state.position = state.epoch + 1, 0
        state.loss_sum, state.loss_count = 0.0, 0
        return EpochEnd(state.epoch, loss, f1, threshold, best)

    def _judge(self, loss: float) -> tuple[float | None, float | None, bool]:
        """F1 and threshold on the held-out task, and whether they are the best, then kept."""
        state, learned = self.state, self.encoders.learned()
        # float16 is what will be stored, and overflows first.
        limit = np.finfo(np.float16).max
        fits = all(np.abs(array).max(initial=0) < limit for array in learned.values())  # no NaN
        if not (np.isfinite(loss) and fits):
            raise ResourceError(
                f"the training diverged in epoch {state.epoch + 1} (loss {loss:.3g}); lower --rate "
                f"(now {self.config.rate:g}) and give --restart"
            )
        f1 = threshold = None
        best = True
        if self.held is not None:
            encode = self.encoders.encode
            score = mining_f1(encode(self.held.source), encode(self.held.target))
            f1, threshold = score.f1, score.threshold
            # Of equals the later: on an easy task, F1 reaches its end before the training does.
            best = f1 >= state.best_f1
        if best:
            state.best = {name: array.copy() for name, array in learned.items()}
            if f1 is not None and threshold is not None:
                state.best_f1, state.threshold = f1, threshold
        return f1, threshold, best


@contextmanager
def step_threads(config: TrainConfig, most: int | None = None) -> Iterator[None]:
    """The threads of a step, whatever another library has set: the last bit depends on torch's.

    As many as there are cores, or ``most``.

    Two for an average under an objective with chosen negatives, whose mini-batches of a hundred
    pairs are so small that more would only wait for each other; the choice among a mega-batch
    brings threads of its own, and so does a recurrent network.
    """
    threads = thread_count(most) if config.objective == "softmax" else min(2, thread_count(most))
    recurrent = any(ENCODERS[name].network for name in config.encoders)
    before = torch.get_num_threads(), numba.get_num_threads()
    torch.set_num_threads(1 if recurrent else threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        numba.set_num_threads(before[1])


@contextmanager
def memory_named(batch: str) -> Iterator[None]:
    """Turn the several ways of running out of memory into a ResourceError that names the batch."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error) and not isinstance(error, MemoryError):
            raise
        raise ResourceError(
            f"out of memory in a batch of {batch}; give a smaller --batch"
        ) from None


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
