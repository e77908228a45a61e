"""Measure the cost of many parts: time beside one part, two workers, memory of each task.

    python -m benchmarks shards --data DIR [--lines 100000] [--quick]

The text is the German and English lines of the BUCC-style sets. Every run is a process of its own:
one part a side ("unsharded"), then 4 (16 blocks) one after the other, then the same by one and by
two processes of one thread each. CPU seconds are of a run and all its children, so that they mean
the same on a machine that others use, too; wall seconds are given beside them.
"""

import hashlib
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.scale.news_lines import write_sides
from miner.tasks.status import status

SHARDS = 4
QUICK = 400


def timed(arguments: list[str], threads: int) -> dict[str, float]:
    """Run a command; return its wall seconds and the CPU seconds of it and its children."""
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*report.PROGRAM, *arguments], check=True, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": round(time.perf_counter() - begun, 2), "cpu": round(cpu, 2)}


def measure(data: Path, lines: int) -> dict[str, Any]:
    """Measure all runs on ``lines`` lines of each side."""
    results: dict[str, Any] = {"lines": lines, "shards": SHARDS * 2, "blocks": SHARDS**2}
    with tempfile.TemporaryDirectory(prefix="shards-") as name:
        place = Path(name)
        write_sides(data, place, lines)
        base = ["mine", str(place / "de"), str(place / "en"), "--threshold", "0", "--threads", "1"]
        runs = {
            "unsharded": [],
            "serial": ["--backend", "serial"],
            "1 process": ["--backend", "processes", "--workers", "1"],
            "2 processes": ["--backend", "processes", "--workers", "2"],
        }
        digests = set()
        timed([*base, "--top-n", "1", "-o", str(place / "warm.tsv")], 1)
        for run, extra in runs.items():
            work, output = place / run.replace(" ", "-"), place / f"{run.replace(' ', '-')}.tsv"
            more = [*extra, "--work", str(work)]
            if extra:
                more += ["--shard-lines", str(-(-lines // SHARDS))]
            results[run] = timed([*base, *more, "-o", str(output)], 1)
            digests.add(hashlib.sha256(output.read_bytes()).hexdigest())
            if run == "1 process":
                kinds = status(work).kinds
                results["tasks"] = {
                    kind.name: {
                        "tasks": kind.total,
                        "seconds": round(kind.seconds * kind.total, 2),
                        "peak MB": kind.peak >> 20,
                    }
                    for kind in kinds
                }
    results["equal"] = len(digests) == 1
    results["overhead"] = round(results["serial"]["cpu"] / results["unsharded"]["cpu"] - 1, 4)
    results["speedup"] = round(results["1 process"]["wall"] / results["2 processes"]["wall"], 3)
    return results


def main() -> None:
    parser = report.parser(__doc__, "shards.json", quick=True)
    parser.add_argument("--lines", type=int, default=100_000, help="lines of each side [100000]")
    arguments = parser.parse_args()
    results = measure(arguments.data, QUICK if arguments.quick else arguments.lines)
    report.finish(arguments, "shards", results)
