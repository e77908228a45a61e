"""Measure whole commands, mostly on little text: CPU seconds from start to end of the program.

Loops are compiled: each kind of command runs once before it is measured. With ``before``, a
checkout of an earlier version, the commands of both alternate. Rows to filter are a
sample of the training text, a tenth of them repeated; texts to mine are as in the other sections.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.mining import bucc_protocol
from benchmarks.speed import filter_speed, speed_text
from benchmarks.speed.process import ROOT
from miner.text.compression import codec

# The high-water mark of memory starts at the parent's, so it is reset first.
MAIN = """
import atexit, pathlib, sys
pathlib.Path("/proc/self/clear_refs").write_text("5")
status = pathlib.Path("/proc/self/status")
atexit.register(lambda: pathlib.Path("status").write_text(status.read_text()))
from miner.cli import main
sys.exit(main())
"""
LANGUAGES = "--source-lang", "de", "--target-lang", "en"
ROWS = {"score": [200], "filter": [200, 1_199, 10_000, 100_000]}
# Mined cuts of a corpus: lines per side, and options. The demo and a BUCC-style set are mined, too.
MINED: dict[int, list[str]] = {8_000: [], 12_000: ["--threads", "1"]}
# Lines of the index that is searched.
INDEXED = 50_000


def commands(
    data: Path, sides: tuple[list[str], list[str]], scale: float, work: Path
) -> dict[str, list[str]]:
    """Write the texts, and return the command of each job by its name."""
    demo = [str(ROOT / "miner" / "demo" / f"demo.{side}") for side in ("de", "en")]
    found = {"mine, the demo": ["mine", *demo]}
    for size, options in MINED.items():
        lines = round(size * scale)
        texts = [
            str(speed_text.write(work / f"{side}.{lines}", some[:lines]))
            for side, some in zip(("source", "target"), sides, strict=True)
        ]
        name = " ".join([f"mine, {lines:,} × {lines:,} lines", *options])
        found[name] = ["mine", *texts, *options]
    task = bucc_protocol.located(data.absolute() / "bucc-style", "de-en")
    if scale == 1:
        texts = [str(task.need(f"training.{side}")) for side in ("de", "en")]
        found["mine, BUCC-style de-en, training"] = ["mine", *texts, "--format", "bucc"]
    lines = min(len(sides[0]), round(INDEXED * scale))
    plain = speed_text.write(work / "indexed", sides[0][:lines])
    packed = work / "indexed.zst"
    packed.write_bytes(codec(packed.name).compress(plain.read_bytes()))
    for text in (plain, packed):
        found[f"index, {lines:,} lines{text.suffix and ', ' + text.suffix}"] = ["index", str(text)]
    every = filter_speed.text(data)
    for command, sizes in ROWS.items():
        for size in sizes:
            count = min(len(every), max(10, round(size * scale)))
            rows = speed_text.write(work / f"{count}.tsv", every[:count])
            found[f"{command}, {count:,} rows"] = [command, str(rows), *LANGUAGES]
    return found


def job(
    checkout: Path, command: list[str], threads: int, work: Path, **environment: str
) -> dict[str, float]:
    """Run a command of a checkout; return its seconds, CPU seconds and peak memory."""
    output = work / "out.tsv"
    if output.is_dir():
        shutil.rmtree(output)
    output.unlink(missing_ok=True)
    cores = sorted(os.sched_getaffinity(0))[:threads]
    begun = time.perf_counter()
    with open(work / "messages", "w+b") as messages:
        running = subprocess.Popen(
            [sys.executable, "-c", MAIN, *command, "-o", str(output)],
            cwd=work,
            # With bytecode written as for users, because an empty variable permits it.
            env={
                **os.environ,
                "PYTHONPATH": str(checkout),
                "PYTHONDONTWRITEBYTECODE": "",
                **environment,
            },
            stdout=messages,
            stderr=messages,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        _, status, used = os.wait4(running.pid, 0)  # including finished children
        running.returncode = os.waitstatus_to_exitcode(status)
        messages.seek(0)
        if running.returncode:
            raise SystemExit(messages.read().decode())
    return {
        "cpu seconds": used.ru_utime + used.ru_stime,
        "seconds": time.perf_counter() - begun,
        "peak MiB": _peak((work / "status").read_text()),
    }


def measure(
    data: Path,
    sides: tuple[list[str], list[str]],
    scale: float,
    rounds: int,
    threads: int,
    before: Path | None,
) -> dict[str, Any]:
    checkouts = {"now": ROOT} if before is None else {"before": before.absolute(), "now": ROOT}
    rows = []
    compiled = set()
    with tempfile.TemporaryDirectory(prefix="jobs-") as directory:
        work = Path(directory)
        for name, command in commands(data, sides, scale, work).items():
            runs: dict[str, list[dict[str, float]]] = {version: [] for version in checkouts}
            if command[0] not in compiled:
                for checkout in checkouts.values():
                    job(checkout, command, threads, work)
                compiled.add(command[0])
            for _ in range(rounds):
                for version, checkout in checkouts.items():
                    runs[version].append(job(checkout, command, threads, work))
            row: dict[str, Any] = {"name": name}
            for version, found in runs.items():
                cpu = sorted(one["cpu seconds"] for one in found)
                row[version] = {
                    "cpu seconds": [round(value, 2) for value in cpu],
                    "seconds": round(statistics.median(one["seconds"] for one in found), 2),
                    "peak MiB": round(max(one["peak MiB"] for one in found)),
                }
            print(f"  {row}", flush=True)
            rows.append(row)
    commit = {version: _commit(checkout) for version, checkout in checkouts.items()}
    return {"rows": rows, "commit": commit}


def _peak(status: str) -> float:
    """Return the high-water mark in MiB of a process's /proc/self/status."""
    (found,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(found.split()[1]) / 1024


def _commit(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or "unknown"
