"""Orders: a task for a worker, and what every backend calls to do it, wherever it runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.errors import MinerError, MismatchError
from miner.names import VERSION
from miner.progress import Reporter, silent
from miner.tasks.object_store import open_store
from miner.tasks.task import Task, perform
from miner.text.remote import is_remote


@dataclass(frozen=True)
class Order:
    """A task of the work directory ``work``, and its means: see :class:`miner.tasks.task.Job`.

    ``durably``: results survive a power cut. ``version`` is the version that gave the order.
    """

    work: str
    task: Task
    memory: int
    threads: int
    durably: bool
    version: str = VERSION


def execute(order: Order, report: Reporter = silent) -> dict[str, Any]:
    """Do a task unless its result stands; return its record.

    A fault of the input or the machine is returned, too, as ``error``: backends differ in the
    exceptions that they can carry. Any other exception is raised.
    """
    try:
        if order.version != VERSION:
            raise MismatchError(
                f"a worker has bitext-miner {VERSION}, the task was given by {order.version}; "
                "install one version everywhere"
            )
        if is_remote(order.work):
            return open_store(order.work).perform(
                order.task, memory=order.memory, threads=order.threads, report=report
            )
        return perform(
            Path(order.work),
            order.task,
            memory=order.memory,
            threads=order.threads,
            durably=order.durably,
            report=report,
        )
    except MinerError as error:
        return {"error": str(error), "type": type(error).__name__, "details": vars(error)}
