"""Measure mining from two text files to a file of pairs, and its growth with their size.

Ours does the work of ``miner index``, twice, and ``miner search``: every line is accounted for,
vectors are on disk, the search is exact. The other is a usual script around sentence-transformers
and FAISS: drop repeats, encode by ``StaticEmbedding`` with the same model, ``IndexFlatIP`` in both
directions, ratio margin, max retrieval. Its margins are in numpy, faster than the usual Python
loops. k = 4; by probability 8. Loading, and a run over 2,000 lines to warm up, do not count.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import search_speed, speed_peers, speed_text
from benchmarks.speed.process import Job, Meter, alternate, rows, run
from miner import Encoder, Index
from miner.knn.settings import SearchSettings
from miner.mining.choices import verifier_for
from miner.mining.mine import search_indexes as mine
from miner.precision.estimate import calibrate
from miner.precision.search_result import SearchResult

OURS = "ours, by margin"
PROBABLE = "ours, by probability, with the estimate of precision (the default)"
THEIRS = "StaticEmbedding and FAISS Flat, by margin"
RANKS = {OURS: "margin", PROBABLE: "probability"}
WARM = 2000


def ours(
    encoder: Encoder,
    source: Path,
    target: Path,
    work: Path,
    rank: str,
    threads: int,
    engine: str = "fused",
) -> tuple[SearchResult, dict[str, float]]:
    """Mine pairs; return the search and the seconds of each stage."""
    seconds: dict[str, float] = {}
    started = time.perf_counter()

    def stage(name: str) -> None:
        nonlocal started
        now = time.perf_counter()
        seconds[name], started = seconds.get(name, 0.0) + now - started, now

    sides = [Index.build(encoder, path, work / path.stem) for path in (source, target)]
    stage("text to indexes")
    estimating = rank == "probability" and sides[1].distinct > WARM
    verifier = verifier_for(sides[0], rank, encoder if rank == "probability" else None)
    found = mine(
        sides[0],
        sides[1],
        verifier,
        SearchSettings(memory=search_speed.MEMORY, device="cpu", threads=threads, engine=engine),
        # Each block of the similarity matrix reports its end. The search of decoys counts as
        # scoring.
        report=lambda what, done, total: (
            stage("neighbours") if what.startswith("searching") and done == total else None
        ),
        estimating=estimating,
    )
    stage("scores")
    if estimating:
        found, _ = calibrate(found)
        stage("estimate")
    pairs = found.pairs
    pairs.write(work / "pairs.tsv")
    stage("pairs to file")
    return found, seconds


def theirs(encode: speed_peers.Encode, source: Path, target: Path, work: Path, threads: int) -> int:
    """Mine pairs and return their number."""
    texts = [
        list(dict.fromkeys(path.read_text(encoding="utf-8").removesuffix("\n").split("\n")))
        for path in (source, target)
    ]
    vectors = [encode(side) for side in texts]
    near, place = zip(
        *(_nearest(vectors[0], vectors[1]), _nearest(vectors[1], vectors[0])), strict=True
    )
    mean = [values.mean(axis=1) for values in near]
    # Max retrieval: the best pair of each sentence, among the candidates of both directions.
    best = []
    for side in (0, 1):
        ratio = near[side] / ((mean[side][:, None] + mean[1 - side][place[side]]) / 2)
        chosen = ratio.argmax(axis=1)
        every = np.arange(len(chosen))
        pair = (every, place[side][every, chosen])
        best.append((ratio[every, chosen], *(pair if side == 0 else pair[::-1])))
    score, left, right = (np.concatenate(column) for column in zip(*best, strict=True))
    order = np.argsort(-score)
    used: tuple[set[int], set[int]] = (set(), set())
    count = 0
    with open(work / "pairs.tsv", "w", encoding="utf-8") as file:
        for s, t, value in zip(
            left[order].tolist(), right[order].tolist(), score[order].tolist(), strict=True
        ):
            if s not in used[0] and t not in used[1]:
                used[0].add(s)
                used[1].add(t)
                file.write(f"{value}\t{texts[0][s]}\t{texts[1][t]}\n")
                count += 1
    return count


def _nearest(queries: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    import faiss

    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    return index.search(queries, search_speed.K)


def job(name: str, paths: list[str], work: str, threads: int) -> dict[str, Any]:
    """Measure one system once."""
    place = Path(work)
    warm = [
        speed_text.write(place / f"warm{number}.txt", speed_text.read(path, WARM))
        for number, path in enumerate(paths)
    ]
    source, target = (Path(path) for path in paths)
    seconds: dict[str, float] = {}
    if name == THEIRS:
        encode = speed_peers.static_embedding(threads, source)
        theirs(encode, warm[0], warm[1], place, threads)
        meter = Meter()
        with meter:
            pairs = theirs(encode, source, target, place, threads)
    else:
        encoder = Encoder.load("default", threads)
        ours(encoder, warm[0], warm[1], place, RANKS[name], threads)
        meter = Meter()
        with meter:
            found, seconds = ours(encoder, source, target, place, RANKS[name], threads)
        pairs = len(found.pairs)
    lines = sum(path.read_bytes().count(b"\n") for path in (source, target))
    stages = {stage: round(value, 2) for stage, value in seconds.items()}
    return meter.result(lines, pairs=pairs, stages=stages)


def measure(paths: list[Path], rounds: int, threads: int, work: Path) -> list[dict[str, Any]]:
    """Measure all systems end to end."""
    return rows(alternate(_jobs([*RANKS, THEIRS], paths, threads, work), rounds, threads), OURS)


def growth(
    sides: list[list[str]], sizes: list[int], threads: int, work: Path
) -> list[dict[str, Any]]:
    """Mine by probability at several sizes, once each; fit the exponent of n in the seconds."""
    points = []
    for n in sorted({min(n, *map(len, sides)) for n in sizes}):
        paths = [
            speed_text.write(work / f"side{number}.txt", side[:n])
            for number, side in enumerate(sides)
        ]
        (one,) = _jobs([PROBABLE], paths, threads, work)
        found = run(one, threads)
        if "count" not in found:
            points.append({"a side": n, **found})
            continue
        points.append(
            {
                "a side": n,
                "seconds": round(found["seconds"], 2),
                "stages": found["stages"],
                "cpu seconds": round(found["cpu seconds"], 2),
                "peak MiB": round(found["peak"] / 2**20),
                "pairs": found["pairs"],
            }
        )
        print(f"  {PROBABLE}, {n:,} a side: {points[-1]}", flush=True)
    return [{"name": PROBABLE, "points": points, "exponents": exponents(points)}]


def exponents(points: list[dict[str, Any]]) -> dict[str, float]:
    """Return the slopes of log seconds over log n, for the whole and for each stage."""
    whole = [point for point in points if "seconds" in point]
    if len(whole) < 2:
        return {}
    size = np.log([point["a side"] for point in whole])

    def slope(seconds: list[float]) -> float:
        return round(float(np.polyfit(size, np.log(np.maximum(seconds, 1e-3)), 1)[0]), 2)

    found = {"all": slope([point["seconds"] for point in whole])}
    for stage in whole[0]["stages"]:
        found[stage] = slope([point["stages"][stage] for point in whole])
    return found


def _jobs(names: list[str], paths: list[Path], threads: int, work: Path) -> list[Job]:
    arguments = {"paths": [str(path) for path in paths], "work": str(work), "threads": threads}
    return [Job(name, "mine_speed:job", {"name": name, **arguments}) for name in names]
