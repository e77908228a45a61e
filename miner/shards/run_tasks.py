"""Runs the tasks of a plan: gives out those whose inputs are done, until all are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from miner import errors
from miner.errors import MinerError, ResourceError
from miner.progress import Reporter, silent
from miner.shards.backends import Backend
from miner.shards.object_store import address, standing, store_of
from miner.shards.task import Task
from miner.shards.work import AnyPlan, Order

# Workers that may die over one task.
ATTEMPTS = 3


def run(
    work: Path,
    plan: AnyPlan,
    tasks: Sequence[Task],
    backend: Backend,
    *,
    memory: int,
    threads: int,
    report: Reporter = silent,
    note: Callable[[str], None] = lambda line: None,
) -> None:
    """Do the tasks whose results do not stand. Inputs come before tasks that need them.

    ``report`` counts tasks. A task whose worker died is given out again, ``ATTEMPTS`` times in all;
    ``note`` then receives a line. After a fault no more tasks are given out, and its MinerError is
    raised once the running ones have ended; their results stay.
    """
    waiting, store = _to_do(work, plan, tasks), store_of(work)
    done = {task.name for task in tasks} - set(waiting)
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
    report(plan.stage, len(done), len(tasks))
    while running or (ready and fault is None):
        if fault is None:
            given, ready = ready[: backend.slots - running], ready[backend.slots - running :]
            if given:
                backend.submit([Order(address(work), task, memory, threads) for task in given])
                running += len(given)
        for order, record in backend.results():
            running -= 1
            name = order.task.name
            if record is None:
                lost[name] = lost.get(name, 0) + 1
                if lost[name] >= ATTEMPTS:
                    fault = fault or ResourceError(
                        f"{name}: its worker was killed {ATTEMPTS} times, probably because memory "
                        "ran out; give fewer --workers, or fewer --shard-lines"
                    )
                else:
                    note(f"{name}: its worker died; trying again")
                    ready.insert(0, order.task)
            elif "error" in record:
                fault = fault or _error(record)
            else:
                if store is not None:
                    store.keep(name, record)
                done.add(name)
                for other in needed.get(name, ()):
                    missing[other] -= 1
                    if not missing[other]:
                        ready.append(waiting[other])
            report(plan.stage, len(done), len(tasks))
    if fault is not None:
        raise fault


def _to_do(work: Path, plan: AnyPlan, tasks: Sequence[Task]) -> dict[str, Task]:
    """Return the tasks whose results do not stand, or that depend on one of those."""
    waiting: dict[str, Task] = {}
    stands = standing(work)
    for task in tasks:
        again = any(name in waiting for name in task.inputs)
        if again or not stands(task, plan.digest(task.kind)):
            waiting[task.name] = task
    return waiting


def _error(record: dict[str, Any]) -> MinerError:
    """Return the error that a worker noted."""
    kind = getattr(errors, record["type"], MinerError)
    try:
        found: MinerError = kind(record["error"])
    except TypeError:
        return MinerError(record["error"])
    return found
