"""Run of a pipeline: stages register tasks, and the run executes those that are not done."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from miner import errors
from miner.errors import (
    ArtifactError,
    CorpusError,
    MinerError,
    MismatchError,
    ResourceError,
    writing,
)
from miner.progress import Reporter, silent
from miner.tasks.assignment import Assignment, stands
from miner.tasks.backends import Backend, open_backend
from miner.tasks.identity import PLAN, check_own, claim, content_of, empty
from miner.tasks.object_store import ObjectStore, open_store
from miner.tasks.record import remove_leftovers
from miner.tasks.task import Function, Result, Task
from miner.tasks.workers import Workers
from miner.text.durable import scratch_directory
from miner.text.locks import lock
from miner.text.output import write_whole
from miner.text.remote import is_remote

# Maximum number of workers that may die over one task.
ATTEMPTS = 3
# File with the list of tasks registered so far, for `miner status`.
TASKS = "tasks.json"


@dataclass(frozen=True)
class Call:
    """Arguments of one task of a stage, and measures of its cost.

    ``units`` and ``rows`` as in :class:`miner.tasks.task.Task`; by default there is one row per
    unit.
    """

    arguments: Mapping[str, Any]
    units: float = 1.0
    rows: float | None = None


class Run:
    """Running pipeline with its work directory, which :func:`open_run` yields.

    ``work`` is the directory, or the cache of one in an object store; ``memory`` and ``threads``
    are the resources of one task, ``lines`` the size of a part if the user set it. ``kept``: the
    user named the directory, and results are durable.
    """

    def __init__(
        self,
        work: Path,
        address: str,
        backend: Backend,
        workers: Workers,
        *,
        kept: bool,
        name: str,
        report: Reporter,
        note: Callable[[str], None],
    ):
        self.work, self.address, self.kept, self.name = work, address, kept, name
        self.memory, self.threads = workers.means["memory"], workers.means["threads"]
        self.lines = workers.shard_lines
        self.report, self.note = report, note
        self._backend = backend
        self._begun = time.time()
        self.tasks: dict[str, Task] = {}
        self._done: set[str] = set()

    def stage(
        self, kind: str, function: Function, calls: Mapping[str, Call], **shared: Any
    ) -> list[Result]:
        """Register a task for each call; return their future results, in order.

        ``calls``: by the number of the task; ``shared``: arguments of all. A task waits for the
        results among its arguments. Nothing runs before :meth:`wait`.
        """
        results = []
        for number, call in calls.items():
            arguments = {**shared, **call.arguments}
            rows = call.units if call.rows is None else call.rows
            task = Task(f"{kind}/{number}", function, arguments, call.units, rows)
            assert self.tasks.setdefault(task.name, task).fingerprint == task.fingerprint
            results.append(Result(self.address, task.name, task.fingerprint))
        return results

    def task(
        self,
        kind: str,
        function: Function,
        number: str = "all",
        *,
        units: float = 1.0,
        rows: float | None = None,
        **arguments: Any,
    ) -> Result:
        """Register a single task, like :meth:`stage`."""
        [result] = self.stage(kind, function, {number: Call(arguments, units, rows)})
        return result

    def wait(self, *, last: bool = False) -> None:
        """Run the registered tasks without a valid result; ``last``: there will be no more.

        A task whose worker died is submitted again, ``ATTEMPTS`` times in total; ``note`` then
        receives a line. After a fault no more tasks are submitted, and its MinerError is raised
        once the running ones have ended; their results are kept.
        """
        store = open_store(self.address) if is_remote(self.address) else None
        waiting = {
            name: task
            for name, task in self.tasks.items()
            if name not in self._done
            and not (stands(self.work, task) if store is None else store.stands(task))
        }
        self._done |= self.tasks.keys() - waiting.keys()
        if self.kept:
            self._list_tasks(store, last)
        # Numbers of unfinished inputs, and the tasks that wait for each.
        missing = {name: sum(i in waiting for i in task.inputs) for name, task in waiting.items()}
        needed: dict[str, list[str]] = {}
        for task in waiting.values():
            for name in task.inputs:
                if name in waiting:
                    needed.setdefault(name, []).append(task.name)
        ready = [task for name, task in waiting.items() if not missing[name]]
        lost: dict[str, int] = {}
        running = 0
        fault: MinerError | None = None
        self._tell()
        while running or (ready and fault is None):
            if fault is None:
                free = self._backend.slots - running
                batch, ready = ready[:free], ready[free:]
                if batch:
                    means = self.memory, self.threads, self.kept
                    self._backend.submit([Assignment(self.address, task, *means) for task in batch])
                    running += len(batch)
            for assignment, record in self._backend.results():
                running -= 1
                name = assignment.task.name
                if record is None:
                    lost[name] = lost.get(name, 0) + 1
                    if lost[name] >= ATTEMPTS:
                        fault = fault or ResourceError(
                            f"{name}: its worker was killed {ATTEMPTS} times, probably because "
                            "memory ran out; give fewer --workers, or fewer --shard-lines"
                        )
                    else:
                        self.note(f"{name}: its worker died; trying again")
                        ready.insert(0, assignment.task)
                elif "error" in record:
                    fault = fault or _error(record)
                else:
                    if store is not None:
                        store.keep(name, record)
                    self._done.add(name)
                    for other in needed.get(name, ()):
                        missing[other] -= 1
                        if not missing[other]:
                            ready.append(waiting[other])
                self._tell()
        if fault is not None:
            raise fault

    def require(self, memory: float, what: str) -> None:
        """Raise ResourceError unless a task may use ``memory`` bytes; ``what`` names their use."""
        if int(memory) > self.memory:
            raise ResourceError(
                f"--memory {self.memory >> 20}M is too little for {what}: give at least "
                f"{(int(memory) >> 20) + 1}M, or split the corpus"
            )

    def _tell(self) -> None:
        self.report(self.name, len(self._done), len(self.tasks))

    def _list_tasks(self, store: ObjectStore | None, last: bool) -> None:
        content = {
            "begun": self._begun,
            "known": last,
            "tasks": {task.name: task.fingerprint for task in self.tasks.values()},
        }
        write_whole(self.work / TASKS, json.dumps(content).encode())
        if store is not None:
            store.push(TASKS)


@dataclass(frozen=True)
class RunOptions:
    """Place of a run's results, workers of its tasks, and receivers of its messages.

    The directory ``work`` is kept: the same command continues there. Without it, results are in
    ``beside`` plus `.work`, which is removed after a success; without either, in a temporary
    directory. ``report`` receives progress, ``note`` lines for the user.
    """

    work: str | Path | None = None
    beside: str | Path | None = None
    workers: Workers = Workers()
    report: Reporter = silent
    note: Callable[[str], None] = silent


@contextmanager
def open_run(
    options: RunOptions,
    name: str,
    identity: Mapping[str, Any],
    stamps: Mapping[str, Any] | None = None,
) -> Iterator[Run]:
    """Hold a work directory and start the workers of a run; both end with the block.

    ``name`` describes the run. ``identity`` describes its inputs and settings: its JSON values must
    equal those of earlier runs in the directory; ``stamps`` are the sizes and times of the input
    files.

    Raises MismatchError or CorpusError if ``work`` has another identity, ResourceError if another
    process holds it or no backend answers, DependencyError without a backend's extra.
    """
    work, beside, workers = options.work, options.beside, options.workers
    content = content_of(name, identity, stamps or {})
    with ExitStack() as stack:
        kept = work is not None
        if work is not None and is_remote(work):
            if workers.backend == "slurm":
                raise ResourceError(
                    f"--work {work}: --backend slurm needs a directory that all nodes share"
                )
            store = open_store(str(work))
            stack.enter_context(lock(store.cache / PLAN))
            stack.enter_context(store.named())
            directory, address = store.cache, store.url
            store.pull()
            claim(directory, content, address)
            store.push(PLAN)
        elif work is None and not workers.here:
            raise ResourceError(
                f"--backend {workers.backend}: name a --work directory that all workers share"
            )
        elif work is None and beside is None:
            directory = stack.enter_context(scratch_directory())
            address = str(directory)
        else:
            directory = Path(f"{beside}.work" if work is None else work).absolute()
            address = str(directory)
            check_own(directory)
            with writing(directory):
                directory.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock(directory))
            try:
                claim(directory, content, address)
            except (ArtifactError, MismatchError, CorpusError):
                if kept:
                    raise
                empty(directory)
                claim(directory, content, address)
            remove_leftovers(directory)
            if not kept:
                stack.push(partial(_ended, directory))
        backend = open_backend(
            workers.backend,
            workers.count,
            directory,
            address=workers.address,
            threads=workers.means["threads"],
            gpu=workers.gpu,
            report=options.report,
        )
        stack.callback(backend.close)
        # Tasks of this process report their progress; otherwise the tasks themselves are counted.
        report = silent if workers.backend == "serial" else options.report
        note = options.note
        yield Run(
            directory, address, backend, workers, kept=kept, name=name, report=report, note=note
        )


def _ended(place: Path, kind: type[BaseException] | None, *_: object) -> None:
    """Remove a directory beside an output, unless the run was stopped or lacked a resource."""
    if kind is None or (issubclass(kind, MinerError) and not issubclass(kind, ResourceError)):
        with suppress(OSError):
            empty(place)
            place.rmdir()


def _error(record: dict[str, Any]) -> MinerError:
    kind = getattr(errors, record["type"], MinerError)
    try:
        fault: MinerError = kind(record["error"])
    except TypeError:
        return MinerError(record["error"])
    vars(fault).update(record["details"])
    return fault
