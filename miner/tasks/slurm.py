"""Slurm backend: tasks in job arrays, by submitit; each kind requests its memory and time.

Without Slurm, submitit starts processes here.
"""

import math
import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from miner.errors import ResourceError
from miner.libraries import library
from miner.tasks.assignment import Assignment
from miner.tasks.execute import execute
from miner.tasks.task import Task, hints_of, memory_of
from miner.text.output import one_line

# Seconds between two checks for results, and between two checks of Slurm's queue.
PAUSE, LOOK = 0.5, 15.0
# Jobs of an array per worker, and in total: Slurm's default limit is 1,001.
ROUNDS, ARRAY = 4, 1000
# Factor on the estimated time that is requested: other machines are slower, and their disks are
# shared.
ROOM = 8
# Minimum time limit of a task, and limit without an estimate, in minutes.
MINUTES, UNKNOWN = 60, 24 * 60


class Slurm:
    """Job arrays of Slurm. Jobs that are ready together are cut into arrays by kind.

    A job gets several tasks if there are many, because a job takes seconds to start. Slurm repeats
    jobs that were preempted, or whose node died; submitit those that ran out of time. A job that is
    no longer in the queue and has left no result is lost, and its tasks are handed back.
    """

    def __init__(self, workers: int, work: Path, threads: int, *, gpu: bool = False):
        submitit = library("submitit", "--backend slurm", "slurm")
        self._errors = submitit.core.utils
        self._executor = submitit.AutoExecutor(folder=work / "slurm")
        self._queued = self._executor.cluster == "slurm"
        self.slots = 1000 * workers
        self._jobs = min(ARRAY, workers * ROUNDS) if self._queued else workers
        self._executor.update_parameters(
            cpus_per_task=threads,
            slurm_array_parallelism=workers,
        )
        self._gpu = gpu
        self._out: list[tuple[Any, list[Assignment]]] = []
        # Jobs missing in the last check of the queue, and its time.
        self._missed: set[str] = set()
        self._looked = 0.0

    def submit(self, assignments: Sequence[Assignment]) -> None:
        kinds: dict[str, list[Assignment]] = {}
        for assignment in assignments:
            kinds.setdefault(assignment.task.kind, []).append(assignment)
        for kind, assigned in kinds.items():
            parts = [assigned[i :: self._jobs] for i in range(min(self._jobs, len(assigned)))]
            needs = [need(assignment.task, assignment.memory) for assignment in assigned]
            memory = max(memory for memory, _ in needs)
            minutes = max(minutes for _, minutes in needs) * len(parts[0])
            gres = (
                {"gres": "gpu:1"} if self._gpu and hints_of(assigned[0].task.function).gpu else {}
            )
            self._executor.update_parameters(
                name=f"miner-{kind}",
                mem_gb=memory,
                timeout_min=minutes,
                slurm_additional_parameters={"requeue": True, **gres},
            )
            try:
                self._out += zip(self._executor.map_array(Tasks(), parts), parts, strict=True)
            except (OSError, self._errors.FailedJobError) as error:
                raise ResourceError(
                    f"Slurm refused jobs of {kind} with {memory} GB and {minutes} minutes "
                    f"({_reason(error)}); give less "
                    "--memory or --shard-lines, or set SBATCH_PARTITION and alike"
                ) from None

    def results(self) -> list[tuple[Assignment, dict[str, Any] | None]]:
        while not (ended := self._ended()):
            time.sleep(PAUSE)
        outcomes: list[tuple[Assignment, dict[str, Any] | None]] = []
        for job, assignments, whole in ended:
            self._out.remove((job, assignments))
            try:
                if not whole:  # no result was written; finished tasks are not repeated
                    raise self._errors.UncompletedJobError
                outcomes += zip(assignments, job.result(), strict=True)
            except self._errors.UncompletedJobError:
                outcomes += [(assignment, None) for assignment in assignments]
        return outcomes

    def close(self) -> None:
        for job, _ in self._out:
            with suppress(Exception):
                job.cancel()

    def _ended(self) -> list[tuple[Any, list[Assignment], bool]]:
        """Return the jobs that have ended, their assignments, and True if they left a result."""
        if not self._queued:
            return [(*entry, True) for entry in self._out if entry[0].done()]
        finished = [(*entry, True) for entry in self._out if entry[0].paths.result_pickle.exists()]
        if not finished and time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            queue = _queue()
            if queue is not None:
                # A network file system may show a result late, so a job counts as lost after two
                # checks.
                missed = {job.job_id for job, _ in self._out if job.job_id not in queue}
                gone, self._missed = missed & self._missed, missed
                finished = [(*entry, False) for entry in self._out if entry[0].job_id in gone]
        return finished


def need(task: Task, memory: int) -> tuple[int, int]:
    """Return the memory in GB and the minutes to request, with a reserve above the task's hints.

    ``memory``: bytes that the task may allocate for blocks.
    """
    hints = hints_of(task.function)
    size = memory_of(task.function, task.rows) + (memory if hints.searches else 0)
    minutes = math.ceil(ROOM * hints.seconds * task.units / 60) if hints.seconds else UNKNOWN
    return math.ceil(1.25 * size / (1 << 30)), max(MINUTES, minutes)


class Tasks:
    """Tasks of one job: a function that submitit calls again if the job ran out of time."""

    def __call__(self, assignments: list[Assignment]) -> list[dict[str, Any]]:
        return [execute(assignment) for assignment in assignments]

    def checkpoint(self, assignments: list[Assignment]) -> Any:
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, assignments)


def _queue() -> set[str] | None:
    """Return the ids of this user's jobs in Slurm's queue; None if Slurm does not answer.

    Unlike `sacct`, on which submitit relies, `squeue` needs no database of jobs.
    """
    command = ["squeue", f"--user={os.getuid()}", "--array", "--noheader", "--format=%i"]
    try:
        answer = subprocess.run(command, capture_output=True, check=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(answer.stdout.split())


def _reason(error: Exception) -> str:
    """Return the last line of sbatch's error output."""
    lines = [line for line in str(error).splitlines() if "error:" in line] or str(error).split("\n")
    return one_line(lines[-1].strip())
