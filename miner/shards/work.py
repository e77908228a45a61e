"""One task, from its description to its result: what every backend calls, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MinerError, MismatchError
from miner.names import VERSION
from miner.shards import (
    filter_tasks,
    filtering_plan,
    hybrid_tasks,
    scoring_plan,
    scoring_tasks,
    search_tasks,
    text_tasks,
    verify_tasks,
)
from miner.shards.context import Context
from miner.shards.filter_tasks import FilteringContext
from miner.shards.filtering_plan import FilteringPlan
from miner.shards.object_store import open_store
from miner.shards.plan_file import format_of
from miner.shards.scoring_plan import ScoringPlan
from miner.shards.scoring_tasks import ScoringContext
from miner.shards.shard_plan import Plan
from miner.shards.task import Task, perform
from miner.text.remote import is_remote

FUNCTIONS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "read": text_tasks.read,
    "encode": text_tasks.encode,
    "duplicates": text_tasks.duplicates,
    "index": text_tasks.index,
    "probe": search_tasks.probe,
    "decoys": search_tasks.decoys,
    "search": search_tasks.search,
    "centroids": hybrid_tasks.centroids,
    "assign": hybrid_tasks.assign,
    "retrieve": hybrid_tasks.retrieve,
    "hybrid": hybrid_tasks.block,
    "against": search_tasks.against,
    "merge": search_tasks.merge,
    "lists": search_tasks.lists,
    "recall": hybrid_tasks.recall,
    "verify": verify_tasks.verify,
    "rivals": verify_tasks.rivals,
    "contest": verify_tasks.contest,
    "score": verify_tasks.score,
    "match": verify_tasks.match,
    "features": verify_tasks.features,
}


KINDS = tuple(dict.fromkeys((*FUNCTIONS, *scoring_plan.KINDS, *filtering_plan.KINDS)))

AnyPlan = Plan | ScoringPlan | FilteringPlan


def open_plan(work: Path) -> AnyPlan:
    """Read the plan of a work directory, of any kind. Raises ArtifactError, MismatchError."""
    plans: dict[str | None, Any] = {
        scoring_plan.FORMAT: ScoringPlan,
        filtering_plan.FORMAT: FilteringPlan,
    }
    found: AnyPlan = plans.get(format_of(work), Plan).read(work)
    return found


@dataclass(frozen=True)
class Order:
    """A task for a worker: which, where, and by what means. ``version`` is that of the plan."""

    work: str
    task: Task
    memory: int
    threads: int
    version: str = VERSION


def execute(order: Order, lent: SentenceEncoder | None = None) -> dict[str, Any]:
    """Do a task unless its result stands; return its record.

    ``lent`` is the encoder of the source side; without it, the process opens one and keeps it.

    A fault of the input or the machine is returned, too, as ``error``: backends differ in the
    exceptions that they can carry. Any other exception is raised.
    """
    try:
        if order.version != VERSION:
            raise MismatchError(
                f"a worker has bitext-miner {VERSION}, the plan was made by "
                f"{order.version}; install one version everywhere"
            )
        store = open_store(order.work) if is_remote(order.work) else None
        work, task = Path(order.work) if store is None else store.cache, order.task
        if store is not None:
            store.pull_plan()
        plan = open_plan(work)
        if store is not None and task.kind not in ("read", "encode"):
            # The sizes of all files say where shards begin.
            store.fetch_records(task.name for task in plan.reading_tasks())
        context: Any
        if isinstance(plan, ScoringPlan):
            context = ScoringContext(work, plan, order.threads)
            function = scoring_tasks.FUNCTIONS[task.kind]
        elif isinstance(plan, FilteringPlan):
            context = FilteringContext(work, plan, order.threads)
            function = filter_tasks.FUNCTIONS[task.kind]
        else:
            context = Context(work, plan, order.memory, order.threads, lent)
            function = FUNCTIONS[task.kind]
        function = partial(function, context, **task.arguments)
        if store is not None:
            return store.perform(task, plan.digest(task.kind), function)
        return perform(work, task, plan.digest(task.kind), function)
    except MinerError as error:
        return {"error": str(error), "type": type(error).__name__}
