"""Memory and time of a task that a scheduler is asked for: an estimate, and room above it.

Sizes of the plan are multiplied by rates of one core of an AMD EPYC with the model that ships,
rounded up (`python -m benchmarks billion`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from miner.errors import ArtifactError
from miner.shards.cost import BASE, ROW, Rates, costs
from miner.shards.shard_plan import Plan
from miner.shards.work import AnyPlan

TYPICAL = Rates(
    seconds={
        "read": 7e-6, "encode": 4e-5, "duplicates": 1e-5, "index": 6e-6, "probe": 1.0,
        "decoys": 6e-5, "search": 8e-9, "merge": 2e-5, "lists": 2e-5, "against": 1e-8,
        "verify": 5e-4, "rivals": 1e-5, "contest": 2e-6, "score": 6e-5, "match": 4e-6,
        "features": 5e-5, "centroids": 2e-8, "assign": 8e-9, "retrieve": 2e-4, "hybrid": 8e-9,
        "recall": 4e-8,
    },
    disk=dict.fromkeys(
        (
            "read", "encode", "duplicates", "index", "probe", "decoys", "search", "merge",
            "lists", "against", "verify", "rivals", "contest", "score", "match", "features",
            "centroids", "assign", "retrieve", "hybrid", "recall",
        ),
        0.0,
    ),
    dimension=512,
    draws=2,
)  # fmt: skip
# Bytes of a file for one line, at least: text of a few words, well compressed.
LINE = 10
# Times the estimate that is asked for: other machines are slower, and their disks are shared.
ROOM = 8
# Minutes that a task may take at least, and a task of which nothing is known: an encoder of another
# library, or files of pairs.
MINUTES, UNKNOWN = 60, 24 * 60


@dataclass(frozen=True)
class Need:
    """Memory in bytes, and minutes, of one task."""

    memory: int
    minutes: int


def needs(plan: AnyPlan, work: Path, kind: str, memory: int, slow: bool) -> Need:
    """Return what to ask for a task of this kind, at most.

    ``memory`` are the bytes that a search may allocate. ``slow``: the encoder is not one that
    averages vectors of tokens, and its speed is not known.
    """
    if not isinstance(plan, Plan):
        return Need(_rounded(BASE + memory), UNKNOWN)
    sizes = _sizes(plan, work)
    files = len(plan.texts[0]), len(plan.texts[1])
    found = costs(sizes, files, plan.shard_lines, plan.settings.neighbors, TYPICAL)
    cost = next((entry for entry in found if entry.kind == kind), None)
    if cost is None:
        return Need(_rounded(BASE + memory), UNKNOWN)
    seconds = cost.core_seconds / cost.tasks
    if kind == "read":  # files differ in size
        seconds = cost.core_seconds * max(size for side in plan.stamps for size, _ in side)
        seconds /= max(1, sum(size for side in plan.stamps for size, _ in side))
    minutes = max(MINUTES, math.ceil(ROOM * seconds / 60))
    if kind == "encode" and slow:
        minutes = max(UNKNOWN, minutes)
    # Blocks of a search take what they may; what else grows with a shard counts beside them.
    rows = cost.memory - BASE
    return Need(_rounded(BASE + rows + (memory if kind in ROW else 0)), minutes)


def _sizes(plan: Plan, work: Path) -> tuple[int, int]:
    """Return the sentences of both sides; while files are read, a bound from their bytes."""
    try:
        left, right = plan.rows(work)
    except ArtifactError:
        left, right = ([size // LINE for size, _ in side] for side in plan.stamps)
    return sum(left), sum(right)


def _rounded(memory: float) -> int:
    """Round up to whole GiB, with a quarter to spare."""
    return math.ceil(1.25 * memory / (1 << 30)) << 30
