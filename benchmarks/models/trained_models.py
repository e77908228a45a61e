"""Train a model, or reuse the one that an earlier run of a benchmark left."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from miner.encoder.model import load
from miner.scoring.decontaminate import Unwanted
from miner.scoring.decontaminate_settings import Without
from miner_train.config import TrainConfig
from miner_train.pipeline import train_model
from miner_train.read import TextPair

# Seconds between two writes of the training time.
EVERY = 10.0


class Spent(NamedTuple):
    """Seconds of a training by the clock and of CPU; 0 if no step was taken.

    ``cpu`` is 0 for a model that was trained before CPU time was noted.
    """

    clock: float
    cpu: float


class Clock:
    """Seconds from the start to the last training step, over all runs of one training.

    ``note`` keeps them on disk, so that the seconds of a killed run count.
    """

    def __init__(self, note: Path):
        self.note = note
        self.before = self.spent = noted(note)
        self.started = self.noted = time.perf_counter()
        self.cpu = time.process_time()

    def say(self, line: str) -> None:
        """Print a line of the training with its time."""
        print(f"  {time.perf_counter() - self.started:6.0f} s  {line}", flush=True)

    def tick(self, stage: str, done: int, total: int | None) -> None:
        """Update the time at this step (a :data:`miner.progress.Reporter`)."""
        now = time.perf_counter()
        self.spent = Spent(
            self.before.clock + now - self.started,
            self.before.cpu + time.process_time() - self.cpu,
        )
        if now - self.noted > EVERY:
            self.save()

    def save(self) -> None:
        self.noted = time.perf_counter()
        self.note.write_text(f"{self.spent.clock:.1f} {self.spent.cpu:.1f}\n")


@contextmanager
def counted(note: Path) -> Iterator[None]:
    """Add the time of the block to the file ``note``; times of killed runs are added up there."""
    before, clock, cpu = noted(note), time.perf_counter(), time.process_time()
    try:
        yield
    finally:
        spent = time.perf_counter() - clock, time.process_time() - cpu
        note.write_text(f"{before.clock + spent[0]:.1f} {before.cpu + spent[1]:.1f}\n")


def noted(note: Path) -> Spent:
    """Read the seconds of a note; 0 where there is none."""
    numbers = note.read_text().split() if note.exists() else []
    clock, cpu = map(float, [*numbers, "0", "0"][:2])
    return Spent(clock, cpu)


def trained(
    files: Sequence[Path],
    config: TrainConfig,
    output: Path,
    exclude: Path | None = None,
    verifier: bool = True,
) -> Spent:
    """Train a model into ``output``, unless it holds one of the same files and configuration.

    ``exclude`` is a file of sentences to keep out of the training text. Returns the seconds from
    the start to the last step. Learning to verify does not count.
    """
    note = output.with_name(f"{output.name}.seconds")
    if not reusable(files, config, output, exclude):
        output.parent.mkdir(parents=True, exist_ok=True)
        if output.exists():  # time of another model
            note.unlink(missing_ok=True)
        clock = Clock(note)
        train_model(
            [TextPair(str(file)) for file in files],
            config,
            output,
            without=Without([] if exclude is None else [str(exclude)]),
            verifier=verifier,
            report=clock.say,
            progress=clock.tick,
        )
        clock.save()
    return noted(note)


def reusable(
    files: Sequence[Path],
    config: TrainConfig,
    output: Path,
    exclude: Path | None,
) -> bool:
    """Check that ``output`` holds a model of these files, by name, and this configuration."""
    if not output.exists():
        return False
    found = load(output).training
    excluded = []
    if exclude is not None:
        count = len(Unwanted(exclude))
        excluded = [{"name": exclude.name, "sentences": count}]
    return (
        # Not compared as dicts: fields newer than the model have their defaults.
        "config" in found
        and TrainConfig.from_dict(found["config"]) == config
        and found.get("excluded", []) == excluded
        and [text["name"] for text in found["text"]] == [file.name for file in files]
    )


def settings(config: TrainConfig) -> dict[str, Any]:
    """Return the settings of a configuration that differ from the defaults."""
    default = TrainConfig().as_dict()
    return {name: value for name, value in config.as_dict().items() if value != default[name]}
