"""Backends: where tasks run. Each takes assignments and hands back records, in any order.

A worker that dies takes no other task with it: its task is handed back as lost, and
:mod:`miner.tasks.run` gives it out again.
"""

import socket
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from miner.errors import ResourceError, reason
from miner.libraries import library
from miner.option_values import BACKENDS
from miner.parallel import end_with_parent, submit
from miner.progress import Reporter, silent
from miner.tasks.assignment import Assignment
from miner.tasks.execute import execute
from miner.tasks.task import hints_of

Outcome = tuple[Assignment, dict[str, Any] | None]
# Timeout in seconds for the head of a Ray cluster to answer.
ANSWER = 10.0


class Backend(Protocol):
    """Protocol of the backends. ``slots`` is the maximum number of submitted tasks."""

    slots: int

    def submit(self, assignments: Sequence[Assignment]) -> None:
        """Give out tasks."""

    def results(self) -> list[Outcome]:
        """Wait for tasks to end; return their records, None for a task whose worker died."""

    def close(self) -> None:
        """Stop all workers."""


def open_backend(
    name: str,
    workers: int,
    work: Path,
    *,
    address: str | None = None,
    threads: int = 1,
    gpu: bool = False,
    report: Reporter = silent,
) -> Backend:
    """Return the backend of a name, with ``threads`` per task.

    ``gpu``: on a cluster, tasks that can use a GPU request one. ``report`` counts the progress of
    tasks in this process.

    Raises DependencyError for a backend whose extra is missing, ResourceError if no cluster
    answers.
    """
    if name == "processes":
        return ProcessBackend(workers)
    if name == "ray":
        return Ray(workers, address, threads, gpu=gpu)
    if name == "slurm":
        from miner.tasks.slurm import Slurm

        return Slurm(workers, work, threads, gpu=gpu)
    assert name in BACKENDS
    return Serial(report)


class Serial:
    """Backend that runs tasks in this process, one after the other."""

    slots = 1

    def __init__(self, report: Reporter = silent) -> None:
        self._assignments: list[Assignment] = []
        self._report = report

    def submit(self, assignments: Sequence[Assignment]) -> None:
        self._assignments += assignments

    def results(self) -> list[Outcome]:
        assignment = self._assignments.pop(0)
        return [(assignment, execute(assignment, self._report))]

    def close(self) -> None:
        pass


class ProcessBackend:
    """Backend of processes on this machine. A killed one is replaced, and its task returned as
    lost.
    """

    def __init__(self, workers: int):
        self.slots = workers
        self._out: dict[Future[dict[str, Any]], Assignment] = {}
        self._pool: Any = None  # ProcessPoolExecutor

    def submit(self, assignments: Sequence[Assignment]) -> None:
        for assignment in assignments:
            try:
                self._submit(assignment)
            except BrokenExecutor:  # an idle process died
                self._drop()
                self._submit(assignment)

    def _submit(self, assignment: Assignment) -> None:
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            self._pool = ProcessPoolExecutor(self.slots, get_context("spawn"), end_with_parent)
        self._out[submit(self._pool, execute, assignment)] = assignment

    def results(self) -> list[Outcome]:
        done, _ = wait(self._out, return_when=FIRST_COMPLETED)
        outcomes: list[Outcome] = []
        broken = False
        for future in done:
            assignment = self._out.pop(future)
            try:
                outcomes.append((assignment, future.result()))
            except BrokenExecutor:
                broken = True
                outcomes.append((assignment, None))
        if broken:  # the other processes of this pool are lost too
            outcomes += [(assignment, None) for assignment in self._out.values()]
            self._out.clear()
            self._drop()
        return outcomes

    def _drop(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None

    def close(self) -> None:
        if self._pool is not None:
            processes = list((self._pool._processes or {}).values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:  # their work can be repeated
                process.terminate()
            for process in processes:
                process.join()


class Ray:
    """Remote tasks on a Ray cluster, which repeats the tasks of nodes that die."""

    def __init__(self, workers: int, address: str | None, threads: int, *, gpu: bool = False):
        ray = library("ray", "--backend ray", "ray")
        self._ray = ray
        self._started = not ray.is_initialized()
        try:
            if self._started:
                _knock(address)
                ray.init(address=address, log_to_driver=False, logging_level="error")
        except (ConnectionError, OSError, RuntimeError, ValueError) as error:
            raise ResourceError(
                f"--address {address or 'local'}: no Ray cluster ({reason(error)}); start one "
                "with 'ray start --head'"
            ) from None
        self.slots = workers
        self._call, self._gpu = ray.remote(num_cpus=threads, max_retries=0)(execute), gpu
        self._out: dict[Any, Assignment] = {}

    def submit(self, assignments: Sequence[Assignment]) -> None:
        for assignment in assignments:
            gpus = int(self._gpu and hints_of(assignment.task.function).gpu)
            self._out[self._call.options(num_gpus=gpus).remote(assignment)] = assignment

    def results(self) -> list[Outcome]:
        done, _ = self._ray.wait(list(self._out), num_returns=1)
        outcomes: list[Outcome] = []
        for reference in done:
            assignment = self._out.pop(reference)
            try:
                outcomes.append((assignment, self._ray.get(reference)))
            except self._ray.exceptions.RayTaskError:
                raise
            except self._ray.exceptions.RayError:  # the worker or its node died
                outcomes.append((assignment, None))
        return outcomes

    def close(self) -> None:
        for reference in self._out:
            with suppress(self._ray.exceptions.RayError):
                self._ray.cancel(reference, force=True)
        if self._started:
            self._ray.shutdown()


def _knock(address: str | None) -> None:
    """Raise OSError or ValueError if nothing listens at HOST:PORT. Ray itself tries for minutes."""
    server = (address or "").removeprefix("ray://")
    host, colon, port = server.rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER).close()
