"""The data experiments of the papers: what should one train on?

    python -m benchmarks experiments --data DIR [--only SECTION ...] [--pairs 24000] [--models DIR]

The questions of Wieting et al. 2017, 2018 and 2019, on our text, with the P19 recipe in as many
passes for every row. Sections: ``sources`` compares sources of text at a fixed number of pairs,
``filters`` what filters keep of noisy pools, ``deciles`` the tenths of a pool by score, ``scale``
the number of pairs, by two recipes, and ``languages`` foreign languages beside the same English.

A model that lies in ``--models`` is not trained again, nor are figures taken again that the JSON
has of it, from the same machine and versions; every row is written when it is there. So a run that
was killed goes on. ``--quick`` tries whether all of it runs, and writes with ``--json`` only.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.models import (
    deciles,
    experiment_tables,
    filter_experiments,
    language_experiments,
    size_experiments,
    sources,
)
from benchmarks.models.encoder_plan import quickly
from benchmarks.models.experiment_metrics import Bench, Results, Row

NAME = "experiments"
PAIRS = 24_000
QUICK_PAIRS = 1000
SECTIONS: dict[str, Callable[[Bench], Iterator[Results]]] = {
    "sources": sources.measure,
    "filters": filter_experiments.measure,
    "deciles": deciles.measure,
    "scale": size_experiments.measure,
    "languages": language_experiments.measure,
}


def earlier(path: Path) -> dict[str, list[Row]]:
    """The rows of each section that an earlier run left, on this machine with these versions."""
    if not path.exists():
        return {}
    same = {"versions": report.versions(), "hardware": report.hardware()}
    return {
        name: section["results"]["rows"]
        for name, section in json.loads(path.read_text(encoding="utf-8"))["sections"].items()
        if {key: section[key] for key in same} == same
    }


def completed(results: Results, old: list[Row]) -> Results:
    """The results with those old rows that are still to be repeated."""
    done = {(row["group"], row["name"]) for row in results["rows"]}
    later = [row for row in old if (row["group"], row["name"]) not in done]
    return {**results, "rows": [*results["rows"], *later]}


def run(name: str, bench: Bench, old: list[Row], write: Callable[[Results], None]) -> Results:
    """One section: written after each row, and at the end without rows that no longer are any."""
    results: Results = {"rows": []}
    for results in SECTIONS[name](bench):
        write(completed(results, old))
    write(results)
    return results


def main() -> None:
    parser = report.parser(__doc__, "experiments.json", models=True)
    parser.set_defaults(models=Path("models/experiments"))
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), help="some sections [all]")
    parser.add_argument("--pairs", type=int, help=f"where it is fixed [{PAIRS}]")
    parser.add_argument("--quick", action="store_true", help="does it run? few pairs, one epoch")
    arguments = parser.parse_args()
    keep = not arguments.quick or arguments.json != parser.get_default("json")
    old = earlier(arguments.json) if keep else {}
    known: dict[str, Any] = {
        row["fingerprint"]: row["figures"]
        for rows in old.values()
        for row in rows
        if "figures" in row
    }
    pairs = arguments.pairs or (QUICK_PAIRS if arguments.quick else PAIRS)
    bench = Bench(arguments.data, arguments.models, pairs, known)
    if arguments.quick:
        bench.change = quickly

    for name in arguments.only or SECTIONS:

        def write(results: Results, name: str = name) -> None:
            if keep:
                report.merge(arguments.json, NAME, name, results, ())

        results = run(name, bench, old.get(name, []), write)
        print("\n".join(experiment_tables.section(name, results)), flush=True)
