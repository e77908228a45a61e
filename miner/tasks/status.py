"""State of a run, read from its work directory while it goes on or stands still."""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError
from miner.json_files import read_json
from miner.tasks.identity import read_identity
from miner.tasks.object_store import open_store
from miner.tasks.record import FAILED, RUNNING, notes, record
from miner.tasks.run import TASKS
from miner.text.remote import is_remote

# Seconds of the newest results by which the rate is measured.
RECENT = 600.0


@dataclass(frozen=True)
class Kind:
    """Tasks of one kind: how many there are, and the means over the finished ones.

    ``new`` ones were done by the last run, the others before. ``seconds`` is the mean duration,
    ``peak`` the largest memory in bytes.
    """

    name: str
    total: int
    done: int
    new: int
    running: int
    failed: int
    seconds: float
    core_seconds: float
    peak: int


@dataclass(frozen=True)
class Status:
    """State of all tasks.

    ``known`` is False while further tasks depend on results that are not there yet, so that those
    tasks are not counted.
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
    read_identity(work)
    listed: dict[str, Any] = {"begun": 0.0, "known": False, "tasks": {}}
    with suppress(OSError, ValueError, TypeError):
        found = read_json(work / TASKS)
        if {key: type(value) for key, value in found.items()} == {
            key: type(value) for key, value in listed.items()
        }:
            listed = found
    tasks: dict[str, str] = listed["tasks"]
    records = _records(work, tasks)
    running = {name for name in notes(work, RUNNING) if name not in records}
    failed = {name: entry for name, entry in notes(work, FAILED).items() if name not in records}
    kinds = []
    left = 0.0
    for kind in dict.fromkeys(name.partition("/")[0] for name in tasks):
        own = [name for name in tasks if name.startswith(f"{kind}/")]
        done = [records[name] for name in own if name in records]
        mean, cores = (
            sum(float(entry[what]) for entry in done) / max(1, len(done))
            for what in ("seconds", "core seconds")
        )
        left += mean * (len(own) - len(done))
        started, broken = (
            sum(entry.startswith(f"{kind}/") for entry in part) for part in (running, failed)
        )
        peak = max((int(entry["peak"]) for entry in done), default=0)
        new = sum(entry["at"] >= listed["begun"] for entry in done)
        kinds.append(Kind(kind, len(own), len(done), new, started, broken, mean, cores, peak))
    now = time.time()
    recent = [entry["at"] for entry in records.values() if now - entry["at"] < RECENT]
    span = now - min(recent) if recent else 0.0
    return Status(
        tuple(kinds),
        bool(listed["known"]),
        len(recent) / span if span else 0.0,
        left / len(running) if running and listed["known"] else None,
        {name: str(entry.get("error")) for name, entry in failed.items()},
    )


def _records(work: Path, tasks: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return the records of the tasks that are done, with the time ``at`` which they ended."""
    found = {}
    for name, fingerprint in tasks.items():
        with suppress(ArtifactError, KeyError):
            entry = record(work, name)
            if entry["fingerprint"] == fingerprint:
                found[name] = entry | {"at": float(entry["ended"])}
    return found
