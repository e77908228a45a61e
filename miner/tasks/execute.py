"""Execution of assignments: what every backend calls, wherever its worker runs."""

from pathlib import Path
from typing import Any

from miner.errors import MinerError, MismatchError
from miner.option_values import VERSION
from miner.progress import Reporter, silent
from miner.tasks.assignment import Assignment, perform
from miner.tasks.object_store import open_store
from miner.text.remote import is_remote


def execute(assignment: Assignment, report: Reporter = silent) -> dict[str, Any]:
    """Do a task unless its result stands; return its record.

    A fault of the input or the machine is returned, too, as ``error``: backends differ in the
    exceptions that they can carry. Any other exception is raised.
    """
    try:
        if assignment.version != VERSION:
            raise MismatchError(
                f"a worker has bitext-miner {VERSION}, the task was given by {assignment.version}; "
                "install one version everywhere"
            )
        if is_remote(assignment.work):
            return open_store(assignment.work).perform(assignment, report)
        return perform(assignment, Path(assignment.work), report)
    except MinerError as error:
        return {"error": str(error), "type": type(error).__name__, "details": vars(error)}
