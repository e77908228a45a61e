"""State of a sharded mining, read from its work directory while it runs or stands still."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError
from miner.shards.object_store import open_store
from miner.shards.task import FAILED, RUNNING, Task, notes, record
from miner.shards.work import open_plan
from miner.text.remote import is_remote

# Seconds of the newest results by which the rate is measured.
RECENT = 600.0


@dataclass(frozen=True)
class Kind:
    """Tasks of one kind: how many there are, and the means over those that are done.

    ``seconds`` is the mean duration, ``peak`` the largest memory in bytes.
    """

    name: str
    total: int
    done: int
    running: int
    failed: int
    seconds: float
    peak: int


@dataclass(frozen=True)
class Status:
    """State of all tasks.

    ``known`` is False while files are still read, so that the tasks that follow are not counted.
    ``rate`` are tasks done per second lately, ``left`` the seconds that the rest takes at the
    measured durations with as many workers as run now; None if unknown. ``errors`` are the last
    errors of failed tasks, by name.
    """

    kinds: tuple[Kind, ...]
    known: bool
    rate: float
    left: float | None
    errors: dict[str, str]


def status(work: str | Path) -> Status:
    """Return the state of the mining in ``work``. Raises ArtifactError for another directory."""
    if is_remote(work):
        store = open_store(str(work))
        with store.named():
            store.pull()
            store.pull_notes()
            return _status(store.cache)
    return _status(Path(work))


def _status(work: Path) -> Status:
    plan = open_plan(work)
    tasks = plan.reading_tasks()
    records = _records(work, tasks)
    known = len(records) == len(tasks)
    if known:
        tasks = plan.all_tasks(work)
        records = _records(work, tasks)
    running = {name for name in notes(work, RUNNING) if name not in records}
    failed = {name: entry for name, entry in notes(work, FAILED).items() if name not in records}
    kinds = []
    left = 0.0
    for name in dict.fromkeys(task.kind for task in tasks):
        own = [task for task in tasks if task.kind == name]
        done = [records[task.name] for task in own if task.name in records]
        seconds = [float(entry["seconds"]) for entry in done]
        mean = sum(seconds) / len(seconds) if seconds else 0.0
        left += mean * (len(own) - len(done))
        started, broken = (
            sum(entry.startswith(f"{name}/") for entry in part) for part in (running, failed)
        )
        peak = max((int(entry["peak"]) for entry in done), default=0)
        kinds.append(Kind(name, len(own), len(done), started, broken, mean, peak))
    now = time.time()
    recent = [entry["at"] for entry in records.values() if now - entry["at"] < RECENT]
    span = now - min(recent) if recent else 0.0
    return Status(
        tuple(kinds),
        known,
        len(recent) / span if span else 0.0,
        left / len(running) if running and known else None,
        {name: str(entry.get("error")) for name, entry in failed.items()},
    )


def _records(work: Path, tasks: list[Task]) -> dict[str, dict[str, Any]]:
    """Return the records of the tasks that are done, with the time ``at`` which they ended."""
    found = {}
    for task in tasks:
        try:
            entry = record(work, task.name)
            found[task.name] = entry | {"at": float(entry["ended"])}
        except (ArtifactError, KeyError):
            continue
    return found
