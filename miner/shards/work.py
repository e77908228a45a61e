"""One task, from its description to its result: what every backend calls, wherever it runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MinerError, MismatchError
from miner.names import VERSION
from miner.shards import search_tasks, text_tasks, verify_tasks
from miner.shards.context import Context
from miner.shards.scoring_plan import FORMAT, KIND, ScoringPlan, rate
from miner.shards.shard_plan import PLAN, Plan
from miner.shards.task import Task, perform

FUNCTIONS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "read": text_tasks.read,
    "encode": text_tasks.encode,
    "index": text_tasks.index,
    "probe": search_tasks.probe,
    "decoys": search_tasks.decoys,
    "search": search_tasks.search,
    "against": search_tasks.against,
    "merge": search_tasks.merge,
    "lists": search_tasks.lists,
    "verify": verify_tasks.verify,
    "rivals": verify_tasks.rivals,
    "contest": verify_tasks.contest,
    "score": verify_tasks.score,
    "match": verify_tasks.match,
    "features": verify_tasks.features,
}


KINDS = (*FUNCTIONS, KIND)

AnyPlan = Plan | ScoringPlan


def open_plan(work: Path) -> AnyPlan:
    """Read the plan of a work directory, of either kind. Raises ArtifactError, MismatchError."""
    with suppress(OSError):
        if f'"{FORMAT}"' in (work / PLAN).read_text(encoding="utf-8", errors="replace")[:99]:
            return ScoringPlan.read(work)
    return Plan.read(work)


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
        work, task = Path(order.work), order.task
        plan = open_plan(work)
        function: Callable[[Path], dict[str, Any] | None]
        if isinstance(plan, ScoringPlan):
            function = partial(rate, plan, order.threads, **task.arguments)
        else:
            context = Context(work, plan, order.memory, order.threads, lent)
            function = partial(FUNCTIONS[task.kind], context, **task.arguments)
        return perform(work, task, plan.digest(task.kind), function)
    except MinerError as error:
        return {"error": str(error), "type": type(error).__name__}
