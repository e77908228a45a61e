"""Commands and evaluations of other packages, found by entry points.

The laboratory of the papers (``train/papers``) is such a package; the engine runs without it. An
entry point of the group ``miner.commands`` has the name of its command; ``evaluate.sts`` is the
command ``sts`` of ``evaluate``. An entry point of the group ``miner.evaluations`` is a module of an
evaluation task, with the functions that :mod:`miner.evaluation.suite` lists.
"""

from functools import cache
from typing import Any

COMMANDS, EVALUATIONS = "miner.commands", "miner.evaluations"


@cache
def names(group: str) -> tuple[str, ...]:
    """List the entry points of a group by name, sorted."""
    return tuple(sorted(_points(group)))


@cache
def load(group: str, name: str) -> Any:
    """Import the object of an entry point; None if no package defines it."""
    point = _points(group).get(name)
    return None if point is None else point.load()


@cache
def _points(group: str) -> dict[str, Any]:
    from importlib.metadata import entry_points  # takes as long to import as click

    return {point.name: point for point in entry_points(group=group)}
