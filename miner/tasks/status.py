"""Status of a run, read from its work directory at any time."""

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

# Window in seconds of the results from which the rate is measured.
RECENT = 600.0


@dataclass(frozen=True)
class KindStatus:
    """Tasks of one kind: their numbers, and means over the finished ones.

    ``new`` ones were done by the last run, the others earlier. ``seconds``: mean duration;
    ``peak``: maximum memory in bytes.
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
    """Status of all tasks.

    ``known`` is False while further tasks depend on missing results and cannot be counted yet.
    ``rate``: recent tasks per second; ``left``: estimated seconds for the rest with the present
    number of workers; None if unknown. ``errors``: last errors of failed tasks, by name.
    """

    kinds: tuple[KindStatus, ...]
    known: bool
    rate: float
    left: float | None
    errors: dict[str, str]


def status(work: str | Path) -> Status:
    """Return the status of the run in ``work``. Raises ArtifactError for another directory."""
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
        stored = read_json(work / TASKS)
        if {key: type(value) for key, value in stored.items()} == {
            key: type(value) for key, value in listed.items()
        }:
            listed = stored
    tasks: dict[str, str] = listed["tasks"]
    records = _records(work, tasks)
    running = {name for name in notes(work, RUNNING) if name not in records}
    failed = {name: entry for name, entry in notes(work, FAILED).items() if name not in records}
    kinds = []
    left = 0.0
    for kind in dict.fromkeys(name.partition("/")[0] for name in tasks):
        names = [name for name in tasks if name.startswith(f"{kind}/")]
        done = [records[name] for name in names if name in records]
        mean, cores = (
            sum(float(entry[what]) for entry in done) / max(1, len(done))
            for what in ("seconds", "core seconds")
        )
        left += mean * (len(names) - len(done))
        started, broken = (
            sum(entry.startswith(f"{kind}/") for entry in part) for part in (running, failed)
        )
        peak = max((int(entry["peak"]) for entry in done), default=0)
        new = sum(entry["at"] >= listed["begun"] for entry in done)
        kinds.append(
            KindStatus(kind, len(names), len(done), new, started, broken, mean, cores, peak)
        )
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
    """Return the records of the finished tasks, with their end time ``at``."""
    records = {}
    for name, fingerprint in tasks.items():
        with suppress(ArtifactError, KeyError):
            entry = record(work, name)
            if entry["fingerprint"] == fingerprint:
                records[name] = entry | {"at": float(entry["ended"])}
    return records
