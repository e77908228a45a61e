"""Measure the first run of a command after an installation beside the second, in CPU seconds.

Without ``miner doctor``, which make and the page about installation call, the first run computes
the tables of the model and of languages. The second finds the cache of the first. Commands import a
copy of the package, so that files that a clone has made do not count; its byte code is compiled
before, as by pip and make.
"""

import compileall
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import PROGRAM
from benchmarks.speed import filter_speed, speed_text
from benchmarks.speed.process import ROOT
from benchmarks.speed.small_jobs import LANGUAGES, job

# Rows that are scored and filtered.
SCORED, FILTERED = 200, 2000


def measure(data: Path, rounds: int, threads: int) -> dict[str, Any]:
    """Return a row for each command: CPU seconds of its kinds of runs."""
    with tempfile.TemporaryDirectory(prefix="first-") as directory:
        work = Path(directory)
        package = work / "tree" / "miner"
        shutil.copytree(ROOT / "miner", package)
        compileall.compile_dir(package, quiet=1)
        every = filter_speed.text(data)
        rows = [
            speed_text.write(work / f"{count}.tsv", every[:count]) for count in (SCORED, FILTERED)
        ]
        demo = [str(ROOT / "miner" / "demo" / f"demo.{side}") for side in ("de", "en")]
        commands = {
            "mine, the demo": ["mine", *demo],
            f"score, {SCORED:,} rows": ["score", str(rows[0]), *LANGUAGES],
            f"filter, {FILTERED:,} rows": ["filter", str(rows[1]), *LANGUAGES],
        }
        return {
            "rows": [
                {"name": name, **_runs(command, package, rounds, threads, work)}
                for name, command in commands.items()
            ]
        }


def _runs(
    command: list[str], package: Path, rounds: int, threads: int, work: Path
) -> dict[str, float]:
    def spent(cache: Path) -> float:
        found = job(package.parent, command, threads, work, XDG_CACHE_HOME=str(cache))
        return found["cpu seconds"]

    empty, checked = (
        [work / f"{command[0]}-{kind}-{turn}" for turn in range(rounds)]
        for kind in ("empty", "checked")
    )
    for cache in checked:
        paths = {"PYTHONPATH": str(package.parent), "XDG_CACHE_HOME": str(cache)}
        subprocess.run(
            [*PROGRAM, "doctor"], cwd=work, env=os.environ | paths, check=True, capture_output=True
        )
    found = {
        "first": statistics.median(map(spent, empty)),
        "first after doctor": statistics.median(map(spent, checked)),
        "second": statistics.median(map(spent, empty)),
    }
    print(f"  {command[0]}: {found}", flush=True)
    return found
