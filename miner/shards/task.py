"""Tasks: named pieces of work that read files and write one directory, whole or not at all.

The result of task `search/0003-0007` is the directory of that name below the work directory. It is
written under a temporary name and renamed when it is complete. Its `done.json` holds a fingerprint:
a digest of the task's arguments and of the fingerprints of its inputs. A task whose result stands
under the same fingerprint is not done again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError
from miner.text import durable
from miner.text.output import atomic_file, resource_error

DONE = "done.json"
# Directories of the work directory for files about tasks: one for each that runs, or has failed.
RUNNING, FAILED = "running", "failed"
# Mark of a temporary directory.
PARTIAL = ".partial"


@dataclass(frozen=True)
class Task:
    """One task of a plan.

    ``name`` is its kind, a slash and its number; ``inputs`` are the names of the tasks whose
    results it reads. ``work`` is a measure of its duration, in units that tasks of one kind share.
    """

    name: str
    inputs: tuple[str, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)
    work: float = 1.0

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]


def fingerprint(work: Path, task: Task, settings: str) -> str:
    """Return the digest of all that decides a task's result.

    ``settings`` is a digest of the settings of its kind. Raises ArtifactError for a missing input.
    """
    inputs = [record(work, name)["fingerprint"] for name in task.inputs]
    content = [task.name, task.arguments, settings, inputs]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def record(work: Path, name: str) -> dict[str, Any]:
    """Read what a finished task left about itself. Raises ArtifactError if it is not there."""
    try:
        found: dict[str, Any] = json.loads((work / name / DONE).read_text(encoding="utf-8"))
        return found
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{work / name}: the result of a task is missing or damaged ({error}); repeat the "
            "command to make it again"
        ) from None


def stands(work: Path, task: Task, settings: str) -> bool:
    """Return True if the task's result is there, whole, and of the same inputs and settings."""
    try:
        found = record(work, task.name)
        if found["fingerprint"] != fingerprint(work, task, settings):
            return False
        sizes = found["files"]
        return all((work / task.name / name).stat().st_size == sizes[name] for name in sizes)
    except (ArtifactError, OSError, KeyError, TypeError):
        return False


def perform(
    work: Path, task: Task, settings: str, function: Callable[[Path], dict[str, Any] | None]
) -> dict[str, Any]:
    """Let ``function`` write a task's result into a directory, and give it its name.

    Returns the record of the task, with what ``function`` returned as its ``result``. An exception
    is noted in the work directory and raised. Raises ResourceError where nothing can be written.
    """
    if stands(work, task, settings):
        return record(work, task.name)
    final = work / task.name
    temporary = final.with_name(f".{final.name}.{uuid.uuid4().hex}{PARTIAL}")
    running = work / RUNNING / task.name.replace("/", " ")
    failed = work / FAILED / task.name.replace("/", " ")
    begun, busy = time.time(), time.process_time()
    reset_peak()
    try:
        temporary.mkdir(parents=True)
        _note(running, {"host": socket.gethostname(), "pid": os.getpid(), "since": begun})
        result = function(temporary) or {}
        found = {
            "fingerprint": fingerprint(work, task, settings),
            "files": {path.name: path.stat().st_size for path in sorted(temporary.iterdir())},
            "seconds": time.time() - begun,
            "core seconds": time.process_time() - busy,
            "ended": time.time(),
            "peak": peak_memory(),
            "host": socket.gethostname(),
            "result": result,
        }
        (temporary / DONE).write_text(json.dumps(found), encoding="utf-8")
        durable.replace_directory(temporary, final)
        with suppress(OSError):
            failed.unlink()
        return found
    except OSError as error:
        problem = resource_error(error, error.filename or final)
        _note(failed, {"error": str(problem), "host": socket.gethostname(), "at": time.time()})
        raise problem from error
    except Exception as error:
        words = f"{error}" or type(error).__name__
        _note(failed, {"error": words, "host": socket.gethostname(), "at": time.time()})
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            running.unlink()


def notes(work: Path, folder: str) -> dict[str, dict[str, Any]]:
    """Read the files about running or failed tasks: what they say, by the name of the task."""
    found = {}
    with suppress(OSError):
        for path in sorted((work / folder).iterdir()):
            with suppress(OSError, ValueError):
                if not path.name.startswith("."):
                    content = json.loads(path.read_text(encoding="utf-8"))
                    found[path.name.replace(" ", "/")] = content
    return found


def remove_leftovers(work: Path, kinds: Iterable[str]) -> None:
    """Remove what killed tasks have left; only while nobody works in the directory."""
    shutil.rmtree(work / RUNNING, ignore_errors=True)
    for kind in kinds:
        with suppress(OSError):
            for path in (work / kind).iterdir():
                if path.name.startswith(".") and path.name.endswith(PARTIAL):
                    shutil.rmtree(path, ignore_errors=True)


def _note(path: Path, content: dict[str, Any]) -> None:
    """Write a file about a task, as far as that is possible."""
    with suppress(Exception):
        path.parent.mkdir(exist_ok=True)
        with atomic_file(path) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")


def reset_peak() -> None:
    """Let :func:`peak_memory` count from now on, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(process: int | str = "self") -> int:
    """Return the largest resident memory of a process so far, in bytes; 0 if unknown."""
    with suppress(OSError, IndexError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0
