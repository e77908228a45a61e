"""Killed workers elsewhere: a node of a Ray cluster, a job of Slurm.

Ray has two nodes on this machine. Without Slurm, submitit runs jobs as processes of this machine.
"""

from __future__ import annotations

import importlib.util
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from benchmarks.reliability import commands
from benchmarks.reliability.commands import COMMANDS, LIMIT

# Object store of a node, in bytes.
OBJECTS = 80 << 20


def ray_node_killed(root: Path, count: int, seed: int) -> dict[str, Any]:
    """Kill one of two nodes of a Ray cluster in the middle of a run; another node joins."""
    if importlib.util.find_spec("ray") is None:
        return {"skipped": "ray is not installed"}
    from ray.cluster_utils import Cluster

    size = {"num_cpus": 1, "object_store_memory": OBJECTS}
    cluster = Cluster(initialize_head=True, head_node_args=size | {"include_dashboard": False})
    nodes = [cluster.add_node(**size)]

    def kill(process: subprocess.Popen[str]) -> bool:
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        nodes.append(cluster.add_node(**size))
        return True

    try:
        return _disturbed(root, f"ray --address {cluster.address}", kill, count, seed)
    finally:
        cluster.shutdown()


def slurm_job_killed(root: Path, count: int, seed: int) -> dict[str, Any]:
    """Kill a job in the middle of a run."""
    if importlib.util.find_spec("submitit") is None:
        return {"skipped": "submitit is not installed"}

    def kill(process: subprocess.Popen[str]) -> bool:
        jobs = []
        with suppress(psutil.Error):
            jobs = psutil.Process(process.pid).children(recursive=True)
        for job in jobs:
            with suppress(psutil.Error):
                if any("submitit" in part for part in job.cmdline()):
                    job.kill()
                    return True
        return False

    return _disturbed(root, "slurm", kill, count, seed)


def _disturbed(
    root: Path, backend: str, kill: Callable[[subprocess.Popen[str]], bool], count: int, seed: int
) -> dict[str, Any]:
    """Run the command of many parts on a backend, and kill a worker once some parts are done."""
    parts = COMMANDS["parts"]
    command = replace(parts, line=parts.line.replace("processes", backend))
    whole = root / f"{backend.split()[0]}-whole"
    commands.prepare(parts, whole)
    commands.run_whole(parts, whole)
    wanted = commands.digest(whole, parts.outputs)
    generator = random.Random(f"{seed} {backend.split()[0]}")
    counts: Counter[str] = Counter(equal=0)
    failures: list[str] = []
    for number in range(count):
        place = root / f"{backend.split()[0]}-{number}"
        place.mkdir()
        process = commands.start(command, place)
        done, killed = generator.randint(1, 20), False
        deadline = time.monotonic() + LIMIT
        while process.poll() is None and not killed and time.monotonic() < deadline:
            if len(list(place.glob("work/*/*/done.json"))) >= done:
                killed = kill(process)
            time.sleep(0.02)
        try:
            _, err = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
        if not killed:
            counts["too late"] += 1
        if process.returncode == 0 and commands.digest(place, command.outputs) == wanted:
            counts["equal"] += 1
        else:
            counts["other output"] += 1
            failures.append(f"exit code {process.returncode}: {err[-300:]}")
        shutil.rmtree(place)
    return {**counts, "failures": failures[:5]}
