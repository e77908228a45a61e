"""Measure the largest memory of each kind of task on a shard of a million lines.

    python -m benchmarks memory --data DIR [--only text mining million blocks] [--quick]

`text`: the tasks that read, encode and index. `million`: the others, of a mining of a million lines
against 4,000 with the hybrid engine and without decoys. `blocks`: tasks of a million by a million
lines, which would take long; they are stopped after 90 CPU seconds, when nothing new is allocated.
`mining`: all tasks of a mining with decoys, on shards of two smaller sizes. The text is the
BUCC-style German and English training split, repeated with a number on every line where there is
too little. One process of one thread does all tasks. The peaks are those
of resident memory, which includes pages of mapped files that the system would take back.
"""

import os
import subprocess
import tempfile
import time
from itertools import count, islice
from pathlib import Path
from typing import Any

import psutil

from benchmarks import report
from miner.machine import peak_memory
from miner.tasks.record import RUNNING, notes
from miner.tasks.status import status
from miner.text.corpus import CorpusReader

MILLION, SIZES, TARGETS = 1_000_000, (10_000, 40_000), 4000
TEXT = "read", "encode", "duplicates", "index"
# Memory that a task's search may allocate.
MEMORY = "1G"
# CPU seconds of a million by a million lines that are watched: the exhaustive search allocates
# nothing new after its first pass over the rows.
WATCHED = 90.0


def write_text(data: Path, side: str, lines: int, path: Path) -> None:
    """Write so many distinct lines of one side."""

    def repeated() -> Any:
        for number in count():
            text = CorpusReader(
                data / "bucc-style/de-en" / f"de-en.training.{side}.xz", format="bucc"
            )
            for block in text:
                yield from (f"{line} {number}" if number else line for line in block.sentences)

    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in islice(repeated(), lines))


def started(command: list[str], work: Path) -> subprocess.Popen[bytes]:
    """Start a command with a work directory, with one process of one thread."""
    command += ["--work", str(work), "--shard-lines", "1M", "--threads", "1"]
    command += ["--backend", "processes", "--workers", "1"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen([*report.PROGRAM, *command], env=environment)


def peaks(command: list[str], work: Path) -> dict[str, int]:
    """Run a command; return the largest memory of each kind of task, in MB."""
    assert started(command, work).wait() == 0
    return {kind.name: kind.peak >> 20 for kind in status(work).kinds if kind.done}


def first_peak(command: list[str], work: Path, kind: str, watched: float) -> int:
    """Stop a command when a task of this kind has used so many CPU seconds; return its peak in MB.

    Peaks of tasks that the process did before do not count.
    """
    process = started(command, work)
    begun, spent, peak = None, 0.0, 0
    while process.poll() is None and spent < watched:
        time.sleep(0.2)
        for name, note in notes(work, RUNNING).items():
            if name.startswith(f"{kind}/"):
                used = psutil.Process(note["pid"]).cpu_times()
                begun = used.user if begun is None else begun
                spent = used.user - begun
                peak = max(peak, peak_memory(note["pid"]))
    process.terminate()
    process.wait()
    return peak >> 20


def text(data: Path, place: Path, quick: bool) -> dict[str, Any]:
    """Measure the tasks that make an index of a shard."""
    lines = 1000 if quick else MILLION
    write_text(data, "de", lines, place / "de")
    command = ["index", str(place / "de"), "-o", str(place / "index")]
    found = peaks(command, place / "work")
    return {"lines": lines, "peak MB": {kind: found[kind] for kind in TEXT}}


def mining(data: Path, place: Path, quick: bool) -> dict[str, Any]:
    """Measure the other tasks on shards of two sizes."""
    sizes, targets = ((200, 400), 200) if quick else (SIZES, TARGETS)
    write_text(data, "en", targets, place / "en")
    found = []
    for size in sizes:
        write_text(data, "de", size, place / "de")
        command = ["mine", str(place / "de"), str(place / "en"), "--memory", MEMORY]
        command += ["--threshold", "0", "-o", str(place / f"{size}.tsv")]
        found.append(peaks(command, place / f"work-{size}"))
    small, large = found
    kinds = {}
    for kind in large:
        if kind not in TEXT:
            kinds[kind] = [small[kind], large[kind]]
    return {"sizes": sizes, "targets": targets, "memory": MEMORY, "peak MB": kinds}


def million(data: Path, place: Path, quick: bool) -> dict[str, Any]:
    """Measure the tasks that follow the index on a shard of a million sources and few targets."""
    lines, targets = (40_000, 28_000) if quick else (MILLION, TARGETS)
    write_text(data, "de", lines, place / "de")
    write_text(data, "en", targets, place / "en")
    command = ["mine", str(place / "de"), str(place / "en"), "--memory", MEMORY, "--no-estimate"]
    command += ["--engine", "hybrid", "--threshold", "0", "-o", str(place / "pairs.tsv")]
    found = peaks(command, place / "work")
    kinds = {kind: peak for kind, peak in found.items() if kind not in TEXT}
    return {"lines": lines, "targets": targets, "memory": MEMORY, "peak MB": kinds}


def blocks(data: Path, place: Path, quick: bool) -> dict[str, Any]:
    """Measure the beginning of blocks of a million by a million, of both engines."""
    lines, watched = (40_000, 1.0) if quick else (MILLION, WATCHED)
    for side in ("de", "en"):
        write_text(data, side, lines, place / side)
    command = ["mine", str(place / "de"), str(place / "en"), "--memory", MEMORY]
    command += ["--rank", "margin", "--threshold", "0", "-o", str(place / "pairs.tsv")]
    kinds = {
        kind: first_peak([*command, "--engine", engine], place / "work", kind, watched)
        for kind, engine in (("search", "fused"), ("hybrid", "hybrid"))
    }
    return {"lines": lines, "memory": MEMORY, "watched seconds": watched, "peak MB": kinds}


def main() -> None:
    sections = {"text": text, "mining": mining, "million": million, "blocks": blocks}
    parser = report.parser(__doc__, "memory.json", sections=sections, quick=True)
    arguments = parser.parse_args()
    destination = report.destination(arguments)
    for name in arguments.only:
        with tempfile.TemporaryDirectory(prefix="memory-") as place:
            results = sections[name](arguments.data, Path(place), arguments.quick)
        print(f"{name}: {results}")
        report.merge(destination, "memory", name, results)
