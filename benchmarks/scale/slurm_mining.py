"""Mine by a real Slurm on this machine, with jobs killed, cancelled and requeued in mid-search.

    python -m benchmarks slurm --data DIR [--lines 4000] [--quick]

:mod:`benchmarks.scale.slurm_node` starts the daemons. The text is the BUCC-style German and English
training split. One serial run, one by Slurm, and one by Slurm of which three jobs of the search
are lost: the process of one gets SIGKILL, one is cancelled (`scancel`), one requeued (`scontrol
requeue`). All outputs must be equal. The memory and minutes that each kind of job asks for are
estimated by the stages' hints; the node kills jobs that take more memory.
"""

import hashlib
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks import report
from benchmarks.scale.news_lines import write_sides
from benchmarks.scale.slurm_node import slurm_node
from miner.tasks.status import status

SHARDS = 2
QUICK = 400
FAULTS = "SIGKILL", "scancel", "requeue"
LOST = re.compile(r"^(?:warning: )?(\S+): its worker died; trying again", re.MULTILINE)


def mined(
    place: Path, run: str, options: list[str], environment: dict[str, str], faults: tuple[str, ...]
) -> dict[str, Any]:
    """Mine with these options; apply ``faults`` to jobs of the search meanwhile."""
    output = place / f"{run}.tsv"
    command = ["mine", str(place / "de"), str(place / "en"), "--threshold", "0", "--threads", "1"]
    command += ["--work", str(place / run), *options, "-o", str(output)]
    begun, said = time.perf_counter(), place / f"{run}.txt"
    with open(said, "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*report.PROGRAM, *command], env=environment, stdout=log, stderr=log
        )
        left, struck = list(faults), set[str]()
        while process.poll() is None:
            time.sleep(0.2)
            if left:
                running = _running(environment)
                if fresh := sorted(running - struck):
                    struck.add(fresh[0])
                    _strike(left.pop(0), fresh[0], environment)
    words = said.read_text(encoding="utf-8")
    if process.returncode:
        raise RuntimeError(f"{run} failed: {words[-500:]}")
    return {
        "seconds": round(time.perf_counter() - begun, 1),
        "faults": len(struck),
        "tasks given out again": len(LOST.findall(words)),
        "sha256": hashlib.sha256(output.read_bytes()).hexdigest(),
    }


def _running(environment: dict[str, str]) -> set[str]:
    """Return the ids of running search jobs."""
    command = ["squeue", "--noheader", "--name=miner-search", "--states=R", "--format=%A"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return set(found.stdout.split())


def _strike(fault: str, job: str, environment: dict[str, str]) -> None:
    """Kill the processes of a job, cancel it, or requeue it."""
    if fault == "SIGKILL":
        for process in psutil.process_iter():
            try:
                found = process.environ().get("SLURM_JOB_ID") == job
                if found and "submitit" in " ".join(process.cmdline()):
                    os.kill(process.pid, signal.SIGKILL)
            except (psutil.Error, ProcessLookupError):
                continue
    else:
        command = ["scancel", job] if fault == "scancel" else ["scontrol", "requeue", job]
        subprocess.run(command, env=environment, check=True, capture_output=True)


def asked(work: Path) -> dict[str, dict[str, Any]]:
    """Return what the jobs of each kind asked for, and the largest memory of their tasks."""
    found: dict[str, dict[str, Any]] = {}
    peaks = {kind.name: kind.peak for kind in status(work).kinds}
    for script in sorted((work / "slurm").glob("*_submission.sh")):
        options = dict(
            re.findall(r"^#SBATCH --([\w-]+)=?(.*)$", script.read_text(), flags=re.MULTILINE)
        )
        kind = options["job-name"].removeprefix("miner-")
        entry = found.setdefault(kind, {"jobs": 0, "memory": options["mem"], "minutes": 0})
        entry["jobs"] += int(re.sub(r"^0-(\d+).*", r"\1", options.get("array", "0-0"))) + 1
        entry["minutes"] = max(entry["minutes"], int(options["time"]))
        entry["requeue"] = "requeue" in options
        entry["peak MB"] = peaks[kind] >> 20
    return {kind: found[kind] for kind in peaks if kind in found}


def measure(data: Path, lines: int) -> dict[str, Any]:
    """Mine so many lines a side in all ways."""
    results: dict[str, Any] = {"lines": lines, "shards": SHARDS, "faults": FAULTS}
    with tempfile.TemporaryDirectory(prefix="slurm-mining-") as name:
        place = Path(name)
        write_sides(data, place, lines)
        cut = ["--shard-lines", str(-(-lines // SHARDS))]
        slurm = [*cut, "--backend", "slurm", "--workers", "2"]
        serial = [*cut, "--backend", "serial"]
        results["serial"] = mined(place, "serial", serial, {**os.environ}, ())
        with slurm_node() as environment:
            results["slurm"] = mined(place, "slurm", slurm, environment, ())
            results["with faults"] = mined(place, "with faults", slurm, environment, FAULTS)
        results["asked"] = asked(place / "slurm")
    runs = [results[run] for run in ("serial", "slurm", "with faults")]
    results["equal"] = len({run["sha256"] for run in runs}) == 1
    return results


def main() -> None:
    parser = report.parser(__doc__, "slurm.json", quick=True)
    parser.add_argument("--lines", type=int, default=4000, help="lines of each side [4000]")
    arguments = parser.parse_args()
    results = measure(arguments.data, QUICK if arguments.quick else arguments.lines)
    report.finish(arguments, "slurm", results)
