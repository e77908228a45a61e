"""Cost of a sharded mining: tasks, core-hours and bytes, from rates measured on a sample of it.

Each kind of task takes time in proportion to a number of units: sentences, cells of the similarity
matrix, or lists that are merged. :func:`calibrated` mines a sample with one thread and divides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MinerError
from miner.knn.engines import Int8Engine
from miner.knn.settings import NEIGHBORS, SearchSettings
from miner.mining.decoys import DECOYS
from miner.mining.keep import Keep
from miner.shards.mine_shards import Workers, mine_shards
from miner.shards.search_tasks import PLACE
from miner.shards.shard_plan import Plan
from miner.shards.task import record
from miner.text.corpus import Reader
from miner.text.durable import scratch_directory
from miner.text.output import open_output

# Sentences of each side that rates are measured on, in shards of SHARD.
SAMPLE, SHARD = 8192, 4096
# Time to merge one list into a longer one, as a share of the time to rank a list exactly.
MERGE = 0.03
# Memory, in bytes: of a process with the libraries and the model that ships, and of each row of a
# shard in the kinds of task that hold most.
BASE = 500 << 20
ROW = {"search": 700, "merge": 500, "verify": 900, "score": 1100, "index": 40, "match": 190}


@dataclass(frozen=True)
class Rates:
    """Core-seconds and bytes on disk of a unit of each kind of task."""

    seconds: dict[str, float]
    disk: dict[str, float]


@dataclass(frozen=True)
class Cost:
    """Cost of the tasks of one kind; ``memory`` is that of one task, in bytes."""

    kind: str
    tasks: int
    core_seconds: float
    disk: float
    memory: float


def calibrated(
    texts: tuple[Sequence[str], Sequence[str]],
    encoder: SentenceEncoder,
    keep: Keep,
    settings: SearchSettings,
    **reading: Any,
) -> Rates:
    """Measure rates by mining the heads of both sides, twice: loops are compiled the first time.

    Raises the errors of :func:`~miner.shards.mine_shards.mine_shards`.
    """
    one = Workers(threads=1)
    with scratch_directory() as place:
        heads = []
        for name, paths in zip(("source", "target"), texts, strict=True):
            sentences = (
                text
                for path in paths
                for block in Reader(path, **reading)
                for text in block.sentences
            )
            with open_output(place / name) as file:
                file.writelines(f"{text}\n" for text in islice(sentences, SAMPLE))
            heads.append([str(place / name)])
        for work in (place / "warm", place / "work"):
            mine_shards(
                (heads[0], heads[1]), work, encoder=encoder, settings=settings, workers=one,
                keep=replace(keep, threshold=0.0, target_precision=None), shard_lines=SHARD,
            )  # fmt: skip
        return _rates(place / "work")


def _rates(work: Path) -> Rates:
    """Divide the times and sizes of a finished mining by its units."""
    plan = Plan.read(work)
    rows = plan.rows(work)
    sizes = sum(rows[0]), sum(rows[1])
    decoys = 0
    with suppress(MinerError, KeyError):
        decoys = sum(record(work, "decoys/all")["result"]["sizes"])
    units = _units(sizes, plan.shard_lines, decoys)
    seconds: dict[str, float] = {}
    disk: dict[str, float] = {}
    for task in plan.tasks(rows):
        entry = record(work, task.name)
        seconds[task.kind] = seconds.get(task.kind, 0.0) + entry["core seconds"]
        disk[task.kind] = disk.get(task.kind, 0.0) + sum(entry["files"].values())
    return Rates(
        {kind: value / max(units[kind], 1.0) for kind, value in seconds.items()},
        {kind: value / max(units[kind], 1.0) for kind, value in disk.items()},
    )


def _units(sizes: tuple[int, int], lines: int, decoys: int) -> dict[str, float]:
    """Return the units of each kind of task for so many sentences a side."""
    n, m = map(float, sizes)
    left, right = (max(1, math.ceil(size / lines)) for size in sizes)
    both = n + m
    return {
        "read": both, "encode": both, "index": both, "probe": 1.0, "decoys": m + decoys,
        "search": n * m, "against": n * decoys,
        "merge": n * (1 + MERGE * right) + m * (1 + MERGE * left), "lists": both,
        "verify": n, "rivals": m, "contest": m, "score": n, "match": both, "features": n,
    }  # fmt: skip


def costs(
    sizes: tuple[int, int], files: tuple[int, int], lines: int, k: int, rates: Rates
) -> list[Cost]:
    """Return the cost of mining so many sentences, in so many files and shards of ``lines``."""
    units = _units(sizes, lines, DECOYS)
    left, right = (max(1, math.ceil(size / lines)) for size in sizes)
    counts = {
        "read": sum(files), "encode": max(sum(files), left + right), "index": 2, "probe": 1,
        "decoys": 1, "search": left * right, "against": left, "merge": left + right, "lists": 3,
        "verify": left, "rivals": right, "contest": 1, "score": left, "match": 1, "features": left,
    }  # fmt: skip
    width = k + Int8Engine.slack
    found = []
    for kind, seconds in rates.seconds.items():
        disk = rates.disk[kind] * units[kind]
        if kind == "search":  # lists grow with the rows of a block, not with its cells
            disk = PLACE.itemsize * width * float(sizes[0] * right + sizes[1] * left)
        rows = {"index": max(sizes), "match": sum(sizes)}.get(kind, min(lines, max(sizes)))
        memory = BASE + ROW.get(kind, 100) * rows
        found.append(Cost(kind, counts[kind], seconds * units[kind], disk, memory))
    return found


def neighbors(settings: SearchSettings, verifying: bool) -> int:
    """Return k of a search by these settings."""
    return settings.k or NEIGHBORS["probability" if verifying else "margin"]
