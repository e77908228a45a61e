"""Training loop: batches in an order determined by the seed, one step of Adam each."""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from miner.encoder.pretrained import torch_threads
from miner.errors import ResourceError
from miner.machine import thread_count
from miner.parallel import use_loop_threads
from miner.progress import Reporter, silent
from miner_train.config import TrainConfig
from miner_train.data import PairData
from miner_train.development import Development
from miner_train.encoders.embedding_table import inside
from miner_train.encoders.mixed_encoder import Encoders
from miner_train.heldout import enough, mining_f1
from miner_train.objectives import Batch, batches, labelled_batch, taught_batch
from miner_train.sampling import epoch_order
from miner_train.training_checkpoint import Checkpoint

# Seconds between checkpoints within an epoch.
CHECKPOINT_EVERY = 60.0


@dataclass(frozen=True)
class EpochEnd:
    """Report of an epoch; ``f1`` and ``threshold`` are None without a held-out task.

    ``f1_of``: F1 of groups of held-out pairs. ``development``: name and value of another measure
    that selects epochs.
    """

    epoch: int
    loss: float
    f1: float | None
    threshold: float | None
    best: bool
    f1_of: Mapping[str, float] = field(default_factory=dict)
    development: tuple[str, float] | None = None


@dataclass
class State:
    """State of a training, with the best epoch so far.

    best: arrays of this epoch by name. best_f1, threshold: its held-out F1 and threshold.
    best_score: value that selected it. step: optimiser steps in total. epoch: finished epochs.
    position: pairs done in the current one.
    """

    best: dict[str, np.ndarray] = field(default_factory=dict)
    best_f1: float = -1.0
    threshold: float = np.nan
    best_score: float = -np.inf
    step: int = 0
    epoch: int = 0
    position: int = 0
    loss_sum: float = 0.0
    loss_count: int = 0

    @property
    def mining_f1(self) -> float | None:
        """F1 of the best epoch; None without a held-out task."""
        return None if self.best_f1 < 0 else self.best_f1

    def arrays(self) -> dict[str, np.ndarray]:
        numbers = {key: np.asarray(value) for key, value in vars(self).items() if key != "best"}
        return {**numbers, **{f"best/{name}": array for name, array in self.best.items()}}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.best = inside("best", arrays)
        for name in vars(self).keys() - {"best"}:
            setattr(self, name, arrays[name].item())


class Trainer:
    """Trainer of the encoders of ``config`` on ``data``; ``held`` is the held-out mining task.

    ``sizes`` and ``start`` are arguments of :class:`~miner_train.encoders.mixed_encoder.Encoders`.
    ``groups``: rows of ``held`` whose F1 is also reported. The best epoch has the highest F1, the
    highest mean over the groups with ``config.apart``, or the highest score by ``development`` if
    it is set. ``teacher``: vectors ``(s, d)`` by text id, which the objective then reproduces
    (:func:`~miner_train.objectives.taught_batch`).

    All random numbers follow from the seed, the epoch and the position in it, so that a continued
    training takes the same steps.
    """

    def __init__(
        self,
        config: TrainConfig,
        sizes: Mapping[str, int],
        data: PairData,
        held: PairData | None,
        device: str = "cpu",
        start: Mapping[str, np.ndarray] | None = None,
        groups: Mapping[str, np.ndarray] | None = None,
    ):
        self.config = config
        self.data = data
        self.held = held if held is not None and enough(held) else None
        self.encoders = Encoders(config, sizes, device, start)
        self.state = State()
        self.groups = groups or {}
        self.development: Development | None = None
        self.teacher: np.ndarray | None = None
        # Without negatives, if pairs have both labels.
        self.labelled = config.objective == "contrastive" and not data.same.all()

    def arrays(self) -> dict[str, np.ndarray]:
        now = {f"now/{name}": array for name, array in self.encoders.arrays().items()}
        return {**self.state.arrays(), **now}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Set the arrays that :meth:`arrays` returned."""
        self.state.restore(arrays)
        self.encoders.restore(inside("now", arrays))

    def run(
        self,
        checkpoint: Checkpoint | None = None,
        report: Callable[[EpochEnd], None] = silent,
        progress: Reporter = silent,
    ) -> State:
        """Train to the end, from the checkpoint if there is one; return the final state.

        ``progress`` counts the pairs of all epochs. An interrupt waits for the end of the step and
        saves a checkpoint.
        """
        if checkpoint is not None and (saved := checkpoint.load_state()) is not None:
            self.restore(saved)
        state = self.state
        with saving(checkpoint, self.arrays) as save, step_threads(self.config):
            if self.config.epochs == 0:
                self._evaluate(0.0)
            while state.epoch < self.config.epochs:
                for done in self.run_epoch():
                    progress("training", done, self.config.epochs * len(self.data))
                    save(False)
                report(self._finish_epoch())
                save(True)
        return state

    def run_epoch(self) -> Iterator[int]:
        """Train for the rest of the epoch; yield the total pairs done after each mega-batch.

        The state is then consistent.
        """
        config, state, n = self.config, self.state, len(self.data)
        order = epoch_order(self.data.language, config, state.epoch)
        while state.position < n:
            size = config.batch * self._megabatch()
            rows = order[state.position : state.position + size]
            generator = np.random.default_rng([config.seed, 4, state.epoch, state.position])
            pool = self.data.take(rows)
            for sentences, loss in self._batches(pool, generator):
                done = (state.epoch * n + state.position) / (config.epochs * n)
                rate = config.rate * (1 - (1 - config.final_rate) * done)
                value, gradient = loss(self.encoders.forward(sentences, generator))
                state.step += 1
                self.encoders.backward(gradient, state.step, rate)
                state.loss_sum += value
                state.loss_count += 1
            state.position += len(rows)
            yield state.epoch * n + state.position

    def _batches(self, pool: PairData, generator: np.random.Generator) -> Iterable[Batch]:
        if self.teacher is not None:
            return [taught_batch(self.config, pool, self.teacher)]
        if self.labelled:
            return [labelled_batch(self.config, pool)]
        return batches(self.config, pool, self.encoders.encode, generator)

    def _megabatch(self) -> int:
        """Number of mini-batches to pool in this step, by P19's schedule."""
        config, state = self.config, self.state
        if self.labelled:
            return 1
        if config.anneal == 0:
            return config.megabatch
        steps = state.step if config.anneal_per == "training" else state.loss_count
        return min(config.megabatch, 1 + steps // config.anneal)

    def _finish_epoch(self) -> EpochEnd:
        """Evaluate the epoch, keep its arrays if it is the best so far, and start the next."""
        state = self.state
        end = self._evaluate(state.loss_sum / max(state.loss_count, 1))
        state.epoch, state.position = state.epoch + 1, 0
        state.loss_sum, state.loss_count = 0.0, 0
        return replace(end, epoch=state.epoch)

    def _evaluate(self, loss: float) -> EpochEnd:
        """Keep the arrays if they are the best so far. Raises ResourceError if the training
        diverged.
        """
        state, learned = self.state, self.encoders.learned()
        if diverged(loss, learned):
            raise ResourceError(
                f"the training diverged in epoch {state.epoch + 1} (loss {loss:.3g}); lower --rate "
                f"(now {self.config.rate:g}) and give --restart"
            )
        f1 = threshold = score = None
        f1_of: dict[str, float] = {}
        development = None
        if self.held is not None:
            source, target = map(self.encoders.encode, (self.held.source, self.held.target))
            mined = mining_f1(source, target)
            for name, rows in self.groups.items():
                f1_of[name] = mining_f1(source[rows], target[rows]).f1
            f1, threshold, score = mined.f1, mined.threshold, mined.f1
            if self.config.apart and f1_of:  # the measure for batches of one language pair
                score = float(np.mean(list(f1_of.values())))
                development = "mean over language pairs", score
        if self.development is not None:
            score = self.development.score(self.encoders.encode)
            development = self.development.name, score
        # The later of equal epochs: on an easy task F1 reaches 1 before the training is done.
        best = score is None or score >= state.best_score
        if best:
            state.best = {name: array.copy() for name, array in learned.items()}
            if score is not None:
                state.best_score = score
            if f1 is not None and threshold is not None:
                state.best_f1, state.threshold = f1, threshold
        return EpochEnd(state.epoch, loss, f1, threshold, best, f1_of, development)


def diverged(loss: float, learned: Mapping[str, np.ndarray]) -> bool:
    """Return True if the loss or an array has values that a float16 model cannot hold."""
    limit = np.finfo(np.float16).max
    fits = all(np.abs(array).max(initial=0) < limit for array in learned.values())  # no NaN
    return not (np.isfinite(loss) and fits)


@contextmanager
def step_threads(config: TrainConfig, most: int | None = None) -> Iterator[None]:
    """Set the number of threads of a step, on which the last bits of torch's sums depend.

    All cores or ``most``; two for an objective that chooses negatives, whose mini-batches are too
    small for more. A recurrent network manages its threads itself.
    """
    threads = thread_count(most) if config.objective == "softmax" else min(2, thread_count(most))
    recurrent = any(kind.network for kind in config.kinds)
    before = use_loop_threads(threads)
    try:
        with torch_threads(1 if recurrent else threads):
            yield
    finally:
        use_loop_threads(before)


@contextmanager
def memory_named(batch: str) -> Iterator[None]:
    """Convert out-of-memory errors to a ResourceError that names the batch."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if "memory" not in str(error) and not isinstance(error, MemoryError):
            raise
        raise ResourceError(
            f"out of memory in a batch of {batch}; give a smaller --batch"
        ) from None


@contextmanager
def saving(
    checkpoint: Checkpoint | None, arrays: Callable[[], dict[str, np.ndarray]]
) -> Iterator[Callable[[bool], None]]:
    """Yield ``save(always)``, to be called after each step and, with True, after each epoch.

    It saves the ``arrays`` if ``always``, or if the last checkpoint is older than
    `CHECKPOINT_EVERY`. After an interrupted step it saves them and raises KeyboardInterrupt.
    """
    last = time.monotonic()
    with interrupt_held_back() as interrupted:

        def save(always: bool) -> None:
            nonlocal last
            if always or interrupted() or time.monotonic() - last > CHECKPOINT_EVERY:
                if checkpoint is not None:
                    checkpoint.save_state(arrays())
                last = time.monotonic()
            if interrupted() and not always:
                raise KeyboardInterrupt

        yield save


@contextmanager
def interrupt_held_back() -> Iterator[Callable[[], bool]]:
    """Turn SIGINT and SIGTERM into a flag, so that a step is finished; a second signal interrupts.

    Ignored signals stay ignored (:mod:`miner.cli.interrupts`).
    """
    seen = False

    def remember(signum: int, frame: object) -> None:
        nonlocal seen
        if seen:
            raise KeyboardInterrupt
        seen = True

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    signals = [
        number
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN
    ]
    before = {number: signal.signal(number, remember) for number in signals}
    try:
        yield lambda: seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
