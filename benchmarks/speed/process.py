"""Run each measurement in its own process, alternate systems, and compare their rates.

A job names a function ``MODULE:FUNCTION`` of this package and its arguments. Its process may use
only ``threads`` cores, so that every library uses as many threads by default. The function
prepares, warms up, and measures its work by :class:`Meter`. Systems alternate round by round, so
that changes of the machine's speed affect all.

    python -m benchmarks.speed.process JSON     (what the parent calls)
"""

import gc
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parent.parent.parent


class Meter:
    """Wall seconds, CPU seconds of all threads and children, and memory of a ``with`` block.

    ``peak`` is the highest resident memory in bytes, mapped file pages included; ``memory`` is its
    rise since the meter was made. Both use the high-water mark of the kernel, which is reset before
    the block; ``ru_maxrss`` cannot be reset and starts at that of the parent. Only the CPU time of
    children counts, not their memory.
    """

    def __init__(self) -> None:
        gc.collect()
        self.before = _status("VmRSS")

    def __enter__(self) -> "Meter":
        Path("/proc/self/clear_refs").write_text("5")
        self._cpu = _cpu_seconds()
        self._wall = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._wall
        self.cpu = _cpu_seconds() - self._cpu
        self.peak = _status("VmHWM")

    def result(self, count: int, **more: Any) -> dict[str, Any]:
        """Return the record of a job: count of sentences, seconds, memory, and ``more``."""
        return {
            "count": count,
            "seconds": self.seconds,
            "cpu seconds": self.cpu,
            "memory": self.peak - self.before,
            "peak": self.peak,
            **more,
        }


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


def _cpu_seconds() -> float:
    ended = os.times()
    total = time.process_time() + ended.children_user + ended.children_system
    for child in psutil.Process().children(recursive=True):
        used = child.cpu_times()
        total += used.user + used.system
    return total


@dataclass(frozen=True)
class Job:
    """A call with its arguments. ``name``: the system in the tables."""

    name: str
    call: str
    arguments: dict[str, Any] = field(default_factory=dict)


def run(job: Job, threads: int) -> dict[str, Any]:
    """Run a job in a process of its own and return the result of its function.

    The result is ``{"missing": ...}`` if a library is missing, ``{"failed": ...}`` after an error.
    """
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true",
        "HF_HUB_OFFLINE": "1",
    }
    text = json.dumps({"call": job.call, "threads": threads, "arguments": job.arguments})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.process", text],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"failed": why}
    return json.loads(done.stdout.splitlines()[-1])


def need(job: Job, threads: int) -> dict[str, Any]:
    """Run a job whose result other jobs need; exit if it fails."""
    found = run(job, threads)
    if "failed" in found or "missing" in found:
        raise SystemExit(f"{job.name}: {found.get('failed') or found['missing']}")
    return found


def alternate(jobs: list[Job], rounds: int, threads: int) -> dict[str, list[dict[str, Any]]]:
    """Run all jobs in turn, round by round; return the results of each.

    A job that failed, or whose library is missing, is skipped from then on.
    """
    measured: dict[str, list[dict[str, Any]]] = {job.name: [] for job in jobs}
    for _ in range(rounds):
        for job in jobs:
            found = measured[job.name]
            if found and "count" not in found[-1]:
                continue
            found.append(run(job, threads))
            print(f"  {job.name}: {_brief(found[-1])}", flush=True)
    return measured


def _brief(found: dict[str, Any]) -> str:
    if "count" not in found:
        return found.get("failed") or f"missing: {found['missing']}"
    return f"{found['count'] / found['seconds']:,.0f}/s, {found['seconds']:.2f} s"


def rows(measured: dict[str, list[dict[str, Any]]], ours: str) -> list[dict[str, Any]]:
    """Return medians, extremes and ratios to the system ``ours``, one row a system.

    Ratios are of rates, because systems may do different amounts of the same work.
    """

    def median(name: str, metric: str) -> float:
        return statistics.median(one["count"] / one[metric] for one in measured[name])

    out = []
    for name, found in measured.items():
        if "count" not in found[-1]:
            out.append({"name": name, **found[-1]})
            continue
        rates = [one["count"] / one["seconds"] for one in found]
        row: dict[str, Any] = {
            "name": name,
            "sentences": found[0]["count"],
            "sentences/s": _rounded(statistics.median(rates)),
            "min": _rounded(min(rates)),
            "max": _rounded(max(rates)),
            "seconds": _rounded(statistics.median(one["seconds"] for one in found)),
            "cpu seconds": _rounded(statistics.median(one["cpu seconds"] for one in found)),
            "memory MiB": round(max(one["memory"] for one in found) / 2**20),
            "peak MiB": round(max(one["peak"] for one in found) / 2**20),
        }
        if "count" in measured[ours][-1]:
            for title, metric in (("", "seconds"), (" in CPU time", "cpu seconds")):
                ratio = median(ours, metric) / median(name, metric)
                row[f"ours is faster by{title}"] = _rounded(ratio)
        known = {"count", "seconds", "cpu seconds", "memory", "peak"}
        row |= {key: value for key, value in found[-1].items() if key not in known}
        out.append(row)
    return out


def _rounded(value: float) -> float:
    """Round to three digits, or to a whole number."""
    return round(value) if value >= 100 else float(f"{value:.3g}")


def main() -> None:
    spec = json.loads(sys.argv[1])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: spec["threads"]])
    module, function = spec["call"].split(":")
    try:
        called = getattr(importlib.import_module(f"benchmarks.speed.{module}"), function)
        found = called(**spec["arguments"])
    except ModuleNotFoundError as error:
        found = {"missing": error.name}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
