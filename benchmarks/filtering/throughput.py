"""How fast ``miner filter`` is with its default filters, and which of them takes the time."""

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
# Of the text, the share that stands there once more, as crawled text repeats itself.
REPEATED = 0.1
ROUNDS = 3


def text(data: Path, path: Path) -> int:
    """Write all training text of `LANGUAGES`, and the first of it again; the number of pairs."""
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
    """Pairs a second from file to files, the start of the program included; shares of seconds."""
    source, target = LANGUAGES.split("-")
    with tempfile.TemporaryDirectory(prefix="filter-") as directory:
        work = Path(directory)
        count = text(data, work / "pairs.tsv")
        options = "--source-lang", source, "--target-lang", target, "--scol", "1", "--tcol", "2"
        files = {name: str(work / name) for name in ("clean.tsv", "rejected.tsv", "report.json")}
        outputs = "-o", files["clean.tsv"], "--rejected", files["rejected.tsv"]
        seconds = []
        for _ in range(rounds):
            for file in files.values():  # or the command would go on, or refuse to replace them
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
    """Of the seconds of all filters, the share of each: from the report of ``miner filter``.

    The report has ``filters``, each with its ``label`` and the ``seconds`` of all processes.
    """
    seconds = {one["label"]: float(one["seconds"]) for one in report["filters"]}
    total = sum(seconds.values()) or 1.0
    return {name: round(one / total, 4) for name, one in seconds.items()}
