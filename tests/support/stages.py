"""Pipeline of numbers for tests of the runner; other processes call its tasks, too."""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import CorpusError
from miner.tasks.run import Call, Run
from miner.tasks.task import ARRAYS, Job, Result, hints


@dataclass(frozen=True)
class Numbers:
    """Settings of :func:`pipeline`. ``label`` does not enter fingerprints."""

    values: tuple[int, ...] = (1, 2, 3)
    more: int = 10
    scale: int = 1
    label: str = field(default="", metadata={"decides": False})


@dataclass(frozen=True)
class Named:
    """Number with a name that does not enter fingerprints."""

    number: int
    label: str = field(metadata={"decides": False})


@hints(seconds=100.0, memory=1 << 20)
def read(job: Job, value: Named) -> dict[str, Any]:
    job.save(value=np.array([value.number]))
    return {"value": value.number}


def add(job: Job, one: Result, more: int) -> dict[str, Any]:
    """Add ``more``; the value also has the earlier result of this task."""
    before = None if job.before is None else int(np.fromfile(job.before / ARRAYS, np.int64)[0])
    value = int(one.array("value")[0]) + more
    job.save(value=np.array([value]))
    return {"value": value, "before": before}


def total(job: Job, parts: list[Result], scale: int) -> dict[str, Any]:
    return {"value": scale * sum(int(part.array("value")[0]) for part in parts)}


def pipeline(run: Run, numbers: Numbers = Numbers()) -> int:
    """Read numbers, add to each, and return the scaled total."""
    values = enumerate(numbers.values)
    read_ = run.stage(
        "read", read, {str(i): Call({"value": Named(n, numbers.label)}) for i, n in values}
    )
    run.wait()
    added = run.stage(
        "add", add, {str(i): Call({"one": one}) for i, one in enumerate(read_)}, more=numbers.more
    )
    found = run.task("total", total, parts=added, scale=numbers.scale)
    run.wait(last=True)
    value: int = found.value["value"]
    return value


def refuse(job: Job, words: str) -> None:
    """Write half a result, then raise."""
    job.save(half=np.zeros(3))
    raise CorpusError(words)


def die(job: Job, once: str | None = None) -> dict[str, Any]:
    """Kill the worker; only the first time if the file ``once`` can note that."""
    job.save(half=np.zeros(3))
    if once is None or not Path(once).exists():
        if once is not None:
            Path(once).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": 1}
