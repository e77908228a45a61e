"""Measure filters from a file of pairs to a file of pairs, beside other filters.

Every system is a command, its start included. Peers run in an environment of their own
(docs/results/filtering.md). OpusFilter has the filters that its ``opusfilter-autogen`` chooses, and
fewer rows, because its identification of languages is slow. bicleaner-hardrules runs without the
rules that need another model.
"""

import json
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filtering.filter_peers import SCRIPT, Peers, hardrules_command
from benchmarks.filtering.systems import Missing, run
from benchmarks.report import PROGRAM
from benchmarks.speed import speed_text
from benchmarks.speed.process import Job, Meter, alternate, rows
from miner import MinerError
from miner.filters.registry import FILTERS
from miner.text.bitext import read_bitext

LANGUAGES = "de-en"
# Share of repeated rows, as in crawled text.
REPEATED = 0.1
ROWS, FEW = 100_000, 5_000
OURS = "ours, the default filters"
RULES = "ours, without the filter of quality"
OPUSFILTER = "OpusFilter, its default filters"
HARDRULES = "bicleaner-hardrules, no language id"


def text(data: Path) -> list[str]:
    """Return all training text of `LANGUAGES` as shuffled rows, a tenth of them twice."""
    files = sorted((data / "train" / LANGUAGES).glob("*.tsv*"))
    if not files:
        raise MinerError(f"{data / 'train' / LANGUAGES}: no text (*.tsv, compressed or not)")
    lines = []
    for file in files:
        bitext = read_bitext(file)
        pairs = zip(bitext.source, bitext.target, strict=True)
        lines += [f"{source}\t{target}" for source, target in pairs]
    lines += lines[: round(REPEATED * len(lines))]
    order = np.random.default_rng(speed_text.SEED).permutation(len(lines)).tolist()
    return [lines[i] for i in order]


def job(name: str, path: str, work: str, threads: int, python: str | None) -> dict[str, Any]:
    """Run one system once. Memory is that of its largest process."""
    given = Path(path).read_text(encoding="utf-8")
    source, target = LANGUAGES.split("-")
    place = Path(work)
    report, clean = place / "report.json", place / "clean.tsv"
    if name in (OURS, RULES):
        for output in (report, clean):
            output.unlink(missing_ok=True)
        command = [*PROGRAM, "filter", path, "--source-lang", source, "--target-lang", target]
        command += ["--threads", str(threads), "-o", str(clean), "--report", str(report)]
        if name == RULES:
            rules = [
                f'[[filter]]\nname = "{one}"\n'
                for one, entry in FILTERS.items()
                if entry.default and one != "quality"
            ]
            command += ["--config", str(speed_text.write(place / "rules.toml", rules))]
    elif python is None:
        return {"missing": "no --peers"}
    elif name == OPUSFILTER:
        command = [python, "-I", str(SCRIPT), source, target]
    else:
        command = hardrules_command(Path(python), LANGUAGES, threads)
    with Meter() as meter:
        try:
            run(command, given)
        except Missing as error:
            return {"missing": str(error)}
    found: dict[str, Any] = {}
    if name in (OURS, RULES):
        found["kept"] = clean.read_bytes().count(b"\n")
        found["shares"] = shares(json.loads(report.read_text(encoding="utf-8")))
    meter.before, meter.peak = 0, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return meter.result(given.count("\n"), **found)


def measure(data: Path, scale: float, rounds: int, threads: int, work: Path, peers: Peers) -> Any:
    """Return a row for each system, and the versions of the peers."""
    every = text(data)
    many, few = (
        str(speed_text.write(work / f"{count}.tsv", every[: round(count * scale)]))
        for count in (ROWS, FEW)
    )
    python = peers.python and str(peers.python)
    jobs = [
        Job(
            name,
            "filter_speed:job",
            {
                "name": name,
                "path": few if name == OPUSFILTER else many,
                "work": str(work),
                "threads": threads,
                "python": python,
            },
        )
        for name in (OURS, RULES, OPUSFILTER, HARDRULES)
    ]
    return {"rows": rows(alternate(jobs, rounds, threads), OURS), "peers": peers.versions()}


def shares(report: Mapping[str, Any]) -> dict[str, float]:
    """Return each filter's share of the filters' time, from the report of ``miner filter``.

    The report has ``filters``, each with its ``label`` and the ``seconds`` of all processes.
    """
    seconds = {one["label"]: float(one["seconds"]) for one in report["filters"]}
    total = sum(seconds.values()) or 1.0
    return {name: round(one / total, 4) for name, one in seconds.items()}
