"""Workers of a plan: where its tasks run, by what means, and the work directory they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import ResourceError
from miner.progress import Reporter, silent
from miner.shards.backends import open_backend
from miner.shards.context import Context
from miner.shards.object_store import ObjectStore, address, open_store, store_of
from miner.shards.plan_file import PLAN
from miner.shards.run_tasks import run
from miner.shards.shard_plan import Plan
from miner.shards.task import Task, remove_leftovers
from miner.shards.work import KINDS, AnyPlan
from miner.shards.worker_settings import SHARD_LINES as SHARD_LINES
from miner.shards.worker_settings import Workers
from miner.text.locks import lock
from miner.text.output import resource_error
from miner.text.remote import is_remote


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
