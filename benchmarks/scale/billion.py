"""Simulate mining of a billion sentences on each side, by the cost model of ``miner plan``.

    python -m benchmarks billion --data DIR [--quick]

Rates are measured with one thread on 8,192 sentences a side of the BUCC-style German and English
training split, and multiplied by the tasks that a plan has, once with the exhaustive engine and
once with the hybrid one. Nothing of the simulated size is run.
The search on an H100 is arithmetic: one product of both sides, at a rate that is assumed, not
measured.
"""

import tempfile
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.scale.news_lines import write_sides
from miner.encoder.open_encoder import open_encoder
from miner.knn.settings import SearchSettings
from miner.mining.cost import SAMPLE, Planner, Sample
from miner.tasks.workers import Workers

SENTENCES = 1_000_000_000
FILES = 1000
SHARDS = 1_000_000, 4_000_000, 16_000_000
# Kinds of task that search.
SEARCHES = "search", "centroids", "assign", "retrieve", "hybrid"
# Assumed: operations per second of an H100 in this search, about 30% of its peak in bf16.
H100 = 3e14


def simulated(planner: Planner, sample: Sample, lines: int) -> dict[str, Any]:
    """Return the cost of all kinds of tasks in shards of so many lines."""
    sizes, files, workers = (SENTENCES,) * 2, (FILES,) * 2, Workers(shard_lines=lines)
    kinds = {
        entry.kind: {
            "tasks": entry.tasks,
            "core-hours": entry.core_seconds / 3600,
            "written TB": entry.disk / 1e12,
            "GB of one": entry.memory / 1e9,
        }
        for entry in planner.costs(sizes, files, workers, sample)
    }
    return {"lines": lines, "kinds": kinds, **totals(kinds, planner.encoder.dimension)}


def totals(kinds: dict[str, dict[str, float]], dimension: int) -> dict[str, Any]:
    """Return sums over all kinds, and which kinds need most."""
    cores = {kind: row["core-hours"] for kind, row in kinds.items()}
    longest = {kind: row["core-hours"] / row["tasks"] for kind, row in kinds.items()}
    return {
        "blocks": "search" if "search" in kinds else "hybrid",
        "tasks": sum(row["tasks"] for row in kinds.values()),
        "core-hours": sum(cores.values()),
        "core-hours without search": sum(
            hours for kind, hours in cores.items() if kind not in SEARCHES
        ),
        "H100-hours": 2.0 * dimension * SENTENCES**2 / H100 / 3600,
        "at rest TB": sum(row["written TB"] for row in kinds.values()),
        "most memory": max(kinds, key=lambda kind: kinds[kind]["GB of one"]),
        "longest task": max(longest, key=lambda kind: longest[kind]),
        "bottleneck on cores": max(cores, key=lambda kind: cores[kind]),
    }


def measure(data: Path, quick: bool) -> dict[str, Any]:
    """Measure rates, and simulate with each size of shards."""
    settings = SearchSettings(threads=1)
    with tempfile.TemporaryDirectory(prefix="billion-") as place:
        source, target = write_sides(data, Path(place), 512 if quick else SAMPLE)
        planner = Planner(open_encoder(threads=1, side="source"), settings)
        exhaustive, hybrid = (
            planner.measured(([source], [target]), hybrid=few) for few in (False, True)
        )
    return {
        "sentences": SENTENCES,
        "core-seconds of the sample": [
            {kind: cost.core_seconds for kind, cost in sample.costs.items()}
            for sample in (exhaustive, hybrid)
        ],
        "assumed": {"H100 op/s": H100},
        "plans": [simulated(planner, exhaustive, lines) for lines in SHARDS],
        "hybrid plans": [simulated(planner, hybrid, lines) for lines in SHARDS],
    }


def main() -> None:
    arguments = report.parser(__doc__, "billion.json", quick=True).parse_args()
    results = measure(arguments.data, arguments.quick)
    report.finish(arguments, "billion", results)
