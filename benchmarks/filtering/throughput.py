"""Measure the throughput of ``miner filter`` with its default filters, and the time of each."""

import json
import shlex
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.filtering.systems import Missing, run
from miner import MinerError
from miner.text.bitext import read_bitext

LANGUAGES = "de-en"
# Share of the text that is repeated, as in crawled text.
REPEATED = 0.1
ROUNDS = 3


def text(data: Path, path: Path) -> int:
    """Write all training text of `LANGUAGES` and repeat its first part; return the pairs."""
    files = sorted((data / "train" / LANGUAGES).glob("*.tsv*"))
    if not files:
        raise MinerError(f"{data / 'train' / LANGUAGES}: no text (*.tsv, compressed or not)")
    lines = []
    for file in files:
        bitext = read_bitext(file)
        pairs = zip(bitext.source, bitext.target, strict=True)
        lines += [f"{source}\t{target}\n" for source, target in pairs]
    lines += lines[: round(REPEATED * len(lines))]
    path.write_text("".join(lines), encoding="utf-8")
    return len(lines)


def measure(data: Path, command: str, rounds: int = ROUNDS) -> dict[str, Any]:
    """Return pairs/s from file to files, start of the program included, and each filter's share."""
    source, target = LANGUAGES.split("-")
    with tempfile.TemporaryDirectory(prefix="filter-") as directory:
        work = Path(directory)
        count = text(data, work / "pairs.tsv")
        options = "--source-lang", source, "--target-lang", target, "--scol", "1", "--tcol", "2"
        files = {name: str(work / name) for name in ("clean.tsv", "rejected.tsv", "report.json")}
        outputs = "-o", files["clean.tsv"], "--rejected", files["rejected.tsv"]
        seconds = []
        for _ in range(rounds):
            for file in files.values():  # the command resumes, or refuses to replace them
                Path(file).unlink(missing_ok=True)
            begun = time.perf_counter()
            try:
                run(
                    [
                        *shlex.split(command),
                        *("filter", str(work / "pairs.tsv"), *options),
                        *(*outputs, "--report", files["report.json"]),
                    ]
                )
            except Missing as error:
                return {"pairs": count, "missing": str(error)}
            seconds.append(time.perf_counter() - begun)
        report = json.loads(Path(files["report.json"]).read_text(encoding="utf-8"))
        kept = Path(files["clean.tsv"]).read_bytes().count(b"\n")
    rates = [count / one for one in seconds]
    return {
        "pairs": count,
        "kept": kept,
        "rounds": rounds,
        "pairs/s": round(statistics.median(rates)),
        "min": round(min(rates)),
        "max": round(max(rates)),
        "shares": shares(report),
    }


def shares(report: Mapping[str, Any]) -> dict[str, float]:
    """Return each filter's share of the filters' time, from the report of ``miner filter``.

    The report has ``filters``, each with its ``label`` and the ``seconds`` of all processes.
    """
    seconds = {one["label"]: float(one["seconds"]) for one in report["filters"]}
    total = sum(seconds.values()) or 1.0
    return {name: round(one / total, 4) for name, one in seconds.items()}
