"""Measure speed and memory of this tool and other systems, which alternate in one run.

    python -m benchmarks speed --data DIR [--only SECTION ...] [--before CHECKOUT] [--quick]

Sections, each merged into the JSON with the command, versions and machine it was measured on:
``limits`` peak rates of the machine; ``encode`` text to vectors; ``search`` neighbours in both
directions; ``mine`` text files to pairs; ``filter`` pairs to clean pairs, beside the filters of
``--peers``; ``growth`` mining at 50k to 400k lines a side; ``first`` the first run of a command,
which compiles its loops, beside the second; ``jobs`` whole commands on texts of 200 to 100,000
lines, beside an earlier version (``--before``). GPUs have a benchmark of their own, ``gpu``.
Results are medians, extremes and ratios. The text is a sample of ``train/PAIR``.
A system that is not installed (``pip install -e '.[bench]'``) is reported as missing.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.filtering.filter_peers import Peers
from benchmarks.speed import (
    encode_speed,
    filter_speed,
    first_run,
    limits,
    mine_speed,
    search_speed,
    small_jobs,
    speed_tables,
    speed_text,
)
from miner.machine import thread_count

ROUNDS = 3
PEERS = ("sentence-transformers", "tokenizers", "model2vec", "fasttext-numpy2", "usearch")
A_SIDE = 50_000
DIMENSION = 300
GROWTH = [50_000, 100_000, 200_000, 400_000]
# Factor of all sizes with --quick.
QUICK = 0.04


def measure(
    name: str, sides: tuple[list[str], list[str]], scale: float, arguments: argparse.Namespace
) -> Any:
    """Return the results of one section."""
    rounds, threads = arguments.rounds, arguments.threads
    a_side = round(A_SIDE * scale)
    with tempfile.TemporaryDirectory(prefix="speed-") as directory:
        work = Path(directory)

        def written(count: int) -> list[Path]:
            return [
                speed_text.write(work / f"{side}.txt", texts[:count])
                for side, texts in zip(("source", "target"), sides, strict=True)
            ]

        if name == "limits":
            return limits.measure(rounds, threads)
        if name == "encode":
            both = [one for pair in zip(*sides, strict=False) for one in pair]
            mixed = both[: round(encode_speed.SENTENCES * scale)]
            path = speed_text.write(work / "mixed.txt", mixed)
            found = encode_speed.measure(path, len(mixed), rounds, threads)
            return {"text": described(mixed), "rows": found}
        if name == "search":
            found = search_speed.measure(written(a_side), a_side, DIMENSION, rounds, threads, work)
            return {"rows": found}
        if name == "mine":
            texts = [one for side in sides for one in side[:a_side]]
            found = mine_speed.measure(written(a_side), rounds, threads, work)
            return {"text": described(texts), "rows": found}
        if name == "filter":
            peers = Peers(arguments.peers)
            return filter_speed.measure(arguments.data, scale, rounds, threads, work, peers)
        if name == "growth":
            sizes = [round(size * scale) for size in GROWTH]
            return {"rows": mine_speed.growth(list(sides), sizes, threads, work)}
        if name == "first":
            return first_run.measure(arguments.data, rounds, threads)
        data, before = arguments.data, arguments.before
        return small_jobs.measure(data, sides, scale, rounds, threads, before)


def described(texts: list[str]) -> dict[str, Any]:
    """Return the number of sentences and their mean length."""
    return {
        "sentences": len(texts),
        "mean words": round(sum(len(one.split()) for one in texts) / len(texts), 1),
        "mean characters": round(sum(map(len, texts)) / len(texts), 1),
    }


def main() -> None:
    parser = report.parser(__doc__, "speed.json", sections=speed_tables.SECTIONS, quick=True)
    parser.add_argument(
        "--pair", default="fr-en", help="languages; fr-en has the most text [fr-en]"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each system [3]")
    parser.add_argument("--threads", type=int, default=thread_count(), help="[all cores]")
    parser.add_argument("--peers", type=Path, help="filter: Python of the other filters")
    parser.add_argument("--before", type=Path, help="jobs: a checkout of an earlier version")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else 1.0
    if arguments.quick:
        arguments.rounds = 1
    path = report.destination(arguments)
    sides = speed_text.sides(arguments.data, arguments.pair)
    short = min(map(len, sides))
    if not arguments.quick and short < GROWTH[-1]:
        print(f"{arguments.pair}: {short:,} sentences a side limit the largest size")
    for name in arguments.only:
        print(f"{name}:", flush=True)
        settings = {name: getattr(arguments, name) for name in ("threads", "rounds", "pair")}
        found = {**settings, **measure(name, sides, scale, arguments)}
        print("\n".join(speed_tables.SECTIONS[name](found)), flush=True)
        report.merge(path, "speed", name, found, PEERS)
