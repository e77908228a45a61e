"""Orders: tasks for workers, and their execution in a directory of the worker's machine."""

import json
import os
import shutil
import socket
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError, resource_error
from miner.machine import LEAST_MEMORY, free_memory, peak_memory, reset_peak
from miner.option_values import VERSION
from miner.progress import Reporter, silent
from miner.tasks.record import (
    DONE,
    FAILED,
    PARTIAL,
    RUNNING,
    boot,
    digest,
    is_whole,
    record,
    write_note,
)
from miner.tasks.task import Job, Task
from miner.text import durable
from miner.text.file_digests import file_sha256


@dataclass(frozen=True)
class Assignment:
    """Task in the work directory ``work``, with its resources: see :class:`miner.tasks.task.Job`.

    ``durably``: results survive a power cut. ``version``: of the program that created it.
    """

    work: str
    task: Task
    memory: int
    threads: int
    durably: bool
    version: str = VERSION


def perform(assignment: Assignment, work: Path, report: Reporter = silent) -> dict[str, Any]:
    """Run a task unless its result is valid; return its record, with the value as ``result``.

    ``work`` is the work directory on this machine. An exception is noted there and raised. Raises
    ResourceError if nothing can be written.
    """
    task, durably = assignment.task, assignment.durably
    if stands(work, task):
        return record(work, task.name)
    final = work / task.name
    temporary = final.with_name(f".{final.name}.{uuid.uuid4().hex}{PARTIAL}")
    running = work / RUNNING / task.name.replace("/", " ")
    failed = work / FAILED / task.name.replace("/", " ")
    begun, busy = time.time(), time.process_time()
    reset_peak()
    try:
        temporary.mkdir(parents=True)
        if durably:
            write_note(running, {"host": socket.gethostname(), "pid": os.getpid(), "since": begun})
        before = final if is_whole(work, task.name) else None
        # The assignment was made elsewhere, so its memory may exceed what this machine has.
        memory = min(assignment.memory, max(free_memory(), LEAST_MEMORY))
        job = Job(temporary, memory, assignment.threads, before, report)
        value = task.function(job, **task.arguments) or {}
        files = sorted(temporary.iterdir())
        completed = {
            "fingerprint": task.fingerprint,
            "files": {path.name: path.stat().st_size for path in files},
            "changed": {path.name: path.stat().st_mtime_ns for path in files},
            "sha256": {path.name: file_sha256(path) for path in files if durably},
            "seconds": time.time() - begun,
            "core seconds": time.process_time() - busy,
            "ended": time.time(),
            "peak": peak_memory(),
            "host": socket.gethostname(),
            "boot": None if durably else boot(),
            "units": task.units,
            "result": value,
            "arrays": job.places,
        }
        completed["digest"] = digest(completed)
        (temporary / DONE).write_text(json.dumps(completed), encoding="utf-8")
        if durably:
            durable.replace_directory(temporary, final)
        else:
            shutil.rmtree(final, ignore_errors=True)
            temporary.rename(final)
        with suppress(OSError):
            failed.unlink()
        return completed
    except OSError as error:
        problem = resource_error(error, error.filename or final)
        write_note(failed, {"error": str(problem), "host": socket.gethostname(), "at": time.time()})
        raise problem from error
    except Exception as error:
        words = f"{error}" or type(error).__name__
        write_note(failed, {"error": words, "host": socket.gethostname(), "at": time.time()})
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            running.unlink()


def stands(work: Path, task: Task) -> bool:
    """Return True if the task's result exists, is complete, and comes from the same call.

    A result that was not written durably becomes invalid when the machine restarts.
    """
    with suppress(ArtifactError, KeyError):
        return record(work, task.name)["fingerprint"] == task.fingerprint and is_whole(
            work, task.name
        )
    return False
