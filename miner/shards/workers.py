"""Workers of a plan: where its tasks run, by what means, and the work directory they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ResourceError
from miner.machine import memory_budget, thread_count
from miner.progress import Reporter, silent
from miner.shards.backends import open_backend
from miner.shards.context import Context
from miner.shards.object_store import ObjectStore, address, open_store, store_of
from miner.shards.plan_file import PLAN
from miner.shards.run_tasks import run
from miner.shards.shard_plan import Plan
from miner.shards.task import Task, remove_leftovers
from miner.shards.work import KINDS, AnyPlan
from miner.text.locks import lock
from miner.text.output import resource_error
from miner.text.remote import is_remote

SHARD_LINES = 1_000_000
# Memory of a task elsewhere, where this machine's says nothing.
MEMORY = 2 << 30


@dataclass(frozen=True)
class Workers:
    """Where tasks run.

    ``backend`` is one of :data:`miner.names.BACKENDS`. ``workers`` is the number of tasks at a time
    [all cores], ``address`` that of a Ray cluster. ``memory`` and ``threads`` are those of a task:
    by default this machine's are divided among the workers; one thread, and 2 GB, elsewhere.
    """

    backend: str = "serial"
    workers: int | None = None
    address: str | None = None
    memory: int | None = None
    threads: int | None = None

    @property
    def count(self) -> int:
        return 1 if self.backend == "serial" else self.workers or thread_count()

    @property
    def means(self) -> dict[str, int]:
        """Memory and threads of a task."""
        here = self.backend in ("serial", "processes")
        threads = max(1, thread_count() // self.count) if here else 1
        memory = memory_budget() // self.count if here else MEMORY
        return {
            "memory": memory if self.memory is None else memory_budget(self.memory),
            "threads": self.threads or threads,
        }


@contextmanager
def held(work: str | Path, plan: AnyPlan) -> Iterator[Path]:
    """Write a plan into its work directory and hold it; yield the directory, absolute.

    Raises MismatchError or CorpusError where ``work`` holds another plan, and ResourceError where
    another process works.
    """
    if is_remote(work):
        with _held_remote(open_store(str(work)), plan) as cache:
            yield cache
        return
    work = Path(work).absolute()
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise resource_error(error, work) from error
    with lock(work / PLAN):
        plan.write(work)
        remove_leftovers(work, KINDS)
        yield work


@contextmanager
def _held_remote(store: ObjectStore, plan: AnyPlan) -> Iterator[Path]:
    """Hold the cache of a work directory in an object store.

    Only this machine is excluded: results of two that work at once are the same.
    """
    with lock(store.cache / PLAN), store.named():
        store.pull()
        plan.write(store.cache)
        store.push_plan()
        remove_leftovers(store.cache, KINDS)
        yield store.cache


@contextmanager
def at_work(
    work: str | Path, plan: Plan, workers: Workers, encoder: SentenceEncoder
) -> Iterator[Context]:
    """Hold a work directory as :func:`held`; yield the context of this process.

    ``encoder`` is that of the source side.
    """
    with held(work, plan) as place:
        means = workers.means
        yield Context(place, plan, means["memory"], means["threads"], encoder)


@contextmanager
def tasks_of(
    work: Path,
    plan: AnyPlan,
    workers: Workers,
    encoder: SentenceEncoder | None = None,
    report: Reporter = silent,
    note: Callable[[str], None] = lambda line: None,
) -> Iterator[Callable[[Sequence[Task]], None]]:
    """Start the workers of a plan; yield a function that does tasks.

    ``encoder`` is that of the source side, for tasks of this process.
    Raises DependencyError for a backend whose extra is missing.
    """
    means = workers.means
    if workers.backend == "slurm" and store_of(work) is not None:
        raise ResourceError(
            f"--work {address(work)}: --backend slurm needs a directory that all nodes share"
        )
    backend = open_backend(
        workers.backend,
        workers.count,
        work,
        address=workers.address,
        encoder=encoder,
        **means,
    )

    def do(tasks: Sequence[Task]) -> None:
        run(work, plan, tasks, backend, report=report, note=note, **means)

    try:
        yield do
    finally:
        backend.close()
