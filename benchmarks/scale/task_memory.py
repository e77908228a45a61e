"""Measure the largest memory of each kind of task: of text with a million lines, of others less.

    python -m benchmarks memory --data DIR [--only text mining] [--quick]

`text`: the tasks that read, encode and index, on a shard of a million lines. `mining`: all others,
on shards of two sizes against 4,000 targets; the search of a million would take hours. The text is
the BUCC-style German and English training split, repeated with a number on every line where there
is too little. One process of one thread does all tasks. The peaks are those
of resident memory, which includes pages of mapped files that the system would take back.
"""

import os
import subprocess
import sys
import tempfile
from itertools import count, islice
from pathlib import Path
from typing import Any

from benchmarks import report
from miner.shards.status import status
from miner.text.corpus import Reader

MINER = "import sys; from miner.cli import main; sys.exit(main())"
MILLION, SIZES, TARGETS = 1_000_000, (10_000, 40_000), 4000
TEXT = "read", "encode", "duplicates", "index"
# Memory that a task's search may allocate.
MEMORY = "1G"


def write_text(data: Path, side: str, lines: int, path: Path) -> None:
    """Write so many distinct lines of one side."""

    def repeated() -> Any:
        for number in count():
            text = Reader(data / "bucc-style/de-en" / f"de-en.training.{side}.xz", format="bucc")
            for block in text:
                yield from (f"{line} {number}" if number else line for line in block.sentences)

    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in islice(repeated(), lines))


def peaks(command: list[str], work: Path) -> dict[str, int]:
    """Run a command by shards; return the largest memory of each kind of task, in MB."""
    command += ["--work", str(work), "--shard-lines", "1M", "--threads", "1"]
    command += ["--backend", "processes", "--workers", "1"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", MINER, *command], check=True, env=environment)
    return {kind.name: kind.peak >> 20 for kind in status(work).kinds if kind.done}


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


def main() -> None:
    sections = {"text": text, "mining": mining}
    parser = report.parser(__doc__, "memory.json", sections=sections, quick=True)
    arguments = parser.parse_args()
    destination = report.destination(arguments)
    for name in arguments.only:
        with tempfile.TemporaryDirectory(prefix="memory-") as place:
            results = sections[name](arguments.data, Path(place), arguments.quick)
        print(f"{name}: {results}")
        report.merge(destination, "memory", name, results)
