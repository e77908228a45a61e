"""Speed and memory, ours and others', alternating in one run: medians, extremes, ratios.

    python -m benchmarks speed --data DIR [--only encode,search] [--quick]

Sections, each merged into the JSON with the command, versions and machine it was measured on:
``limits`` what the machine can do at best; ``encode`` text to vectors; ``search`` neighbours in
both directions; ``mine`` text files to pairs; ``growth`` the same at 50k to 400k lines a side;
``cuda`` searches on a GPU. The text is that of ``train/PAIR``, sampled. A peer that is not
installed is reported so: ``pip install -e '.[bench]'``.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.speed import (
    cuda,
    encode_speed,
    limits,
    mine_speed,
    search_speed,
    speed_tables,
    speed_text,
)
from miner.machine import thread_count

SECTIONS = tuple(speed_tables.SECTIONS)
ROUNDS = 3
PEERS = ("sentence-transformers", "tokenizers", "model2vec", "fasttext-numpy2-wheel", "usearch")
A_SIDE = 50_000
DIMENSION = 300
GROWTH = [50_000, 100_000, 200_000, 400_000]
GPU_DIMENSIONS = [300, 1024]
# Of all sizes, with --quick.
QUICK = 0.04


def sections(text_: str) -> list[str]:
    names = text_.split(",")
    unknown = sorted(set(names) - set(SECTIONS))
    if unknown:
        raise argparse.ArgumentTypeError(f"no section {unknown[0]}; take {', '.join(SECTIONS)}")
    return [name for name in SECTIONS if name in names]


def measure(
    name: str, sides: tuple[list[str], list[str]], scale: float, rounds: int, threads: int
) -> Any:
    """The results of one section."""
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
        if name == "growth":
            sizes = [round(size * scale) for size in GROWTH]
            return {"rows": mine_speed.growth(list(sides), sizes, threads, work)}
        count = round(GROWTH[-1] * scale)
        return cuda.measure(written(count), count, GPU_DIMENSIONS, threads)


def described(texts: list[str]) -> dict[str, Any]:
    """How many sentences, and how long they are."""
    return {
        "sentences": len(texts),
        "mean words": round(sum(len(one.split()) for one in texts) / len(texts), 1),
        "mean characters": round(sum(map(len, texts)) / len(texts), 1),
    }


def main() -> None:
    parser = report.parser(__doc__, "speed.json")
    parser.add_argument("--pair", default="fr-en", help="the one with the most text [fr-en]")
    parser.add_argument(
        "--only", type=sections, default=list(SECTIONS), help=f"of {','.join(SECTIONS)}"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--threads", type=int, default=thread_count())
    parser.add_argument(
        "--quick",
        action="store_true",
        help="does it run? one round, small; writes with --json only",
    )
    arguments = parser.parse_args()
    scale, rounds = (QUICK, 1) if arguments.quick else (1.0, arguments.rounds)
    keep = not arguments.quick or arguments.json != parser.get_default("json")
    sides = speed_text.sides(arguments.data, arguments.pair)
    short = min(map(len, sides))
    if not arguments.quick and short < GROWTH[-1]:
        print(f"{arguments.pair}: {short:,} sentences a side, so that is the largest size")
    for name in arguments.only:
        print(f"{name}:", flush=True)
        settings = {"threads": arguments.threads, "rounds": rounds, "pair": arguments.pair}
        found = {**settings, **measure(name, sides, scale, rounds, arguments.threads)}
        print("\n".join(speed_tables.SECTIONS[name](found)), flush=True)
        if keep:
            report.merge(arguments.json, "speed", name, found, PEERS)
