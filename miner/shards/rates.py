"""Rates of a sharded mining, measured: a sample of both sides is mined with one thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from miner.encoder.sentence_encoder import SentenceEncoder
from miner.errors import MinerError
from miner.index.index import Index
from miner.knn.settings import SearchSettings
from miner.mining.keep import Keep
from miner.names import SIDES
from miner.shards.cost import Rates, rows_of, units_of
from miner.shards.mine_shards import mine_shards
from miner.shards.shard_plan import Plan
from miner.shards.task import record
from miner.shards.workers import Workers
from miner.text.corpus import Reader
from miner.text.durable import scratch_directory
from miner.text.output import open_output

# Sentences of each side that rates are measured on, in shards of SHARD.
SAMPLE, SHARD = 8192, 4096


def calibrated(
    texts: tuple[Sequence[str], Sequence[str]],
    encoder: SentenceEncoder,
    keep: Keep,
    settings: SearchSettings,
    *,
    hybrid: bool = False,
    **reading: Any,
) -> Rates:
    """Measure rates by mining the heads of both sides, twice: loops are compiled the first time.

    ``hybrid``: those of a hybrid search.

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
                hybrid_from=0 if hybrid else None,
            )  # fmt: skip
        return _divided(place / "work")


def _divided(work: Path) -> Rates:
    """Divide the times and sizes of a finished mining by its units."""
    plan = Plan.read(work)
    rows = plan.rows(work)
    sizes = sum(rows[0]), sum(rows[1])
    drawn: list[int] = []
    with suppress(MinerError, KeyError):
        drawn = record(work, "decoys/all")["result"]["sizes"]
    units = units_of(sizes, plan.shard_lines, sum(drawn))
    seconds: dict[str, float] = {}
    disk: dict[str, float] = {}
    for task in plan.all_tasks(work):
        entry = record(work, task.name)
        seconds[task.kind] = seconds.get(task.kind, 0.0) + entry["core seconds"]
        disk[task.kind] = disk.get(task.kind, 0.0) + sum(entry["files"].values())
    return Rates(
        {kind: value / max(units[kind], 1.0) for kind, value in seconds.items()},
        {kind: value / max(rows_of(kind, sizes), 1) for kind, value in disk.items()},
        Index.open(work / "index" / SIDES[0]).dimension,
        len(drawn),
    )
