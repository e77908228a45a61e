"""Measure searches on GPUs: 4 nearest neighbours in both directions, beside other systems.

    python -m benchmarks gpu --data DIR [--device cuda] [--sizes 100000 400000] [--quick]

Vectors of real text are in host memory before and the lists after, so copying counts. Ours is each
engine of :mod:`miner.knn.gpu_check` that is usable, with its exact ranking. The peak is the rate of
torch's product of square bf16 matrices on one GPU. The work of a search counts as one product of
both sides: a system that multiplies twice, or in another precision, reaches a smaller share. The
peer in torch computes one bf16 product a block, with topk along rows and columns, and does not
score again in higher precision. Best of a few runs, each in a process of its own, because CUDA
faults abort it; memory is what the device has less free meanwhile. Recall is by a sample of queries
of both sides, against float64.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.speed import speed_text
from benchmarks.speed.limits import best
from benchmarks.speed.search_speed import Found, K, encoded, recall, topk_both
from benchmarks.speed.speed_tables import gpus as table
from miner import MinerError
from miner.child import ChildError, call
from miner.index import faiss
from miner.knn.gpu_check import ENGINES, try_engine, usable_engines
from miner.knn.gpu_engines import free_memory
from miner.knn.knn_search import BlockSearch, refine_part
from miner.knn.vector_set import VectorSet
from miner.machine import memory_budget, thread_count

SIZES, DIMENSIONS, QUICK = [100_000, 400_000], [300, 1024], [2_000]
SQUARE = BLOCK = 8192
SAMPLE = 500
PATIENCE = 1800.0
POLL = 0.02
# Peer systems.
TORCH, FAISS = "torch matmul and topk, bf16", "FAISS knn_gpu, float32, twice"


def peak(device: str) -> tuple[float, str]:
    """Return the FLOP/s of a bf16 product on the first GPU, and its name; 0 if torch has none."""
    import torch

    if not torch.cuda.is_available():
        return 0.0, device
    place = device if ":" in device else "cuda:0"
    left, right = (torch.randn(SQUARE, SQUARE, device=place).bfloat16() for _ in range(2))
    work = 20

    def products() -> None:
        for _ in range(work):
            left @ right.T
        torch.cuda.synchronize()

    return work * 2 * SQUARE**3 / best(products), torch.cuda.get_device_name(place)


def ours(
    engine: str, gpus: list[int], threads: int, source: np.ndarray, target: np.ndarray
) -> Found:
    sides = [VectorSet(vectors, np.arange(len(vectors))) for vectors in (source, target)]
    made, memory = ENGINES[engine]("cuda", threads, gpus), memory_budget()
    lists = BlockSearch(sides[0], sides[1], K, memory, made).candidates()
    found = [refine_part(sides[i], sides[1 - i], lists[i], K, memory, made) for i in (0, 1)]
    return found[0].row, found[1].row


def torch_topk(device: str, source: np.ndarray, target: np.ndarray) -> Found:
    import torch

    left, right = (torch.from_numpy(side).to(device).bfloat16() for side in (source, target))
    found = [one.cpu().numpy() for one in topk_both(left, right, BLOCK)]
    return found[0], found[1]


def faiss_twice(source: np.ndarray, target: np.ndarray) -> Found:
    library = faiss.faiss()
    resources, metric = library.StandardGpuResources(), library.METRIC_INNER_PRODUCT
    wide = [side.astype(np.float32) for side in (source, target)]
    found = [library.knn_gpu(resources, *pair, K, metric=metric)[1] for pair in (wide, wide[::-1])]
    return found[0], found[1]


def measure_in_child(system: str, gpus: list[int], threads: int, place: str) -> dict[str, Any]:
    """Measure one system on the vectors in ``place``; peers use the first of the GPUs, if any."""
    source, target = (np.load(Path(place, f"{side}.npy")) for side in ("source", "target"))
    searches: dict[str, Callable[[], Found]] = {
        **{f"ours, {name}": partial(ours, name, gpus, threads, source, target) for name in ENGINES},
        TORCH: partial(torch_topk, f"cuda:{gpus[0]}" if gpus else "cpu", source, target),
        FAISS: partial(faiss_twice, source, target),
    }
    found: list[Found] = []
    first = gpus[0] if gpus else 0
    least, stopped = [free_memory(first)], threading.Event()
    before = least[0]

    def watch() -> None:
        while not stopped.wait(POLL):
            least.append(free_memory(first))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    seconds = best(lambda: found.append(searches[system]()))
    stopped.set()
    watcher.join()
    return {
        "seconds": seconds,
        "device MiB": (before - min(least)) >> 20,
        "recall": _recall(source, target, found[-1]),
    }


def _recall(source: np.ndarray, target: np.ndarray, found: Found) -> float:
    """Return the recall of the neighbours of evenly spaced queries of both sides."""
    shares = []
    for queries, base, rows in ((source, target, found[0]), (target, source, found[1])):
        some = np.linspace(0, len(queries) - 1, min(SAMPLE, len(queries))).astype(np.int64)
        exact = queries[some].astype(np.float64) @ base.astype(np.float64).T
        fourth = -np.partition(-exact, K - 1, axis=1)[:, K - 1]
        shares.append(recall(queries[some], base, rows[some], fourth))
    return sum(shares) / 2


def measure(
    vectors: Found, device: str, sizes: list[int], dimensions: list[int], threads: int
) -> list[dict[str, Any]]:
    """Return the rows of all systems that are usable, for each size and dimension."""
    usable = usable_engines(device)
    systems = [f"ours, {name}" for name in usable]
    systems += [peer for peer, name in ((TORCH, "torch"), (FAISS, "faiss")) if name in usable]
    rows = []
    for d in dimensions:
        for size in sizes:
            sides = speed_text.resized((vectors[0][:size], vectors[1][:size]), d)
            with tempfile.TemporaryDirectory(prefix="gpu-") as place:
                for name, side in zip(("source", "target"), sides, strict=True):
                    np.save(Path(place, f"{name}.npy"), side)
                for system in systems:
                    row: dict[str, Any] = {"name": system, "a side": len(sides[0]), "dimension": d}
                    try:
                        row |= call(
                            "benchmarks.speed.gpu_search:measure_in_child",
                            PATIENCE,
                            system=system,
                            gpus=ENGINES[usable[0]](device, threads).gpus,
                            threads=threads,
                            place=place,
                        )
                        row["pairs/s"] = len(sides[0]) * len(sides[1]) / row["seconds"]
                    except ChildError as error:
                        row["failed"] = str(error)
                    rows.append(row)
                    print(row, flush=True)
    return rows


def main() -> None:
    parser = report.parser(__doc__, "gpu.json", quick=True)
    parser.add_argument("--pair", default="fr-en", help="languages of the text [fr-en]")
    parser.add_argument("--device", default="cuda", help="cuda is all GPUs, cuda:1 one [cuda]")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="sentences a side")
    parser.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS)
    parser.add_argument("--threads", type=int, default=thread_count(), help="[all cores]")
    arguments = parser.parse_args()
    if not usable_engines(arguments.device):
        raise MinerError(f"--device {arguments.device}: no GPU here that torch or FAISS can use")
    report.finish(arguments, "gpu", run(arguments))


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """Check each engine, and measure all systems on the text."""
    sizes = QUICK if arguments.quick else arguments.sizes
    device, threads = arguments.device, arguments.threads
    texts = speed_text.sides(arguments.data, arguments.pair)
    with tempfile.TemporaryDirectory(prefix="gpu-") as place:
        paths = [
            str(speed_text.write(Path(place, name), side[: max(sizes)]))
            for name, side in zip(("source", "target"), texts, strict=True)
        ]
        began = time.perf_counter()
        vectors = encoded(paths, max(sizes), threads)
        print(f"encoded in {time.perf_counter() - began:.0f} s", flush=True)
    some = (vectors[0][:2000], vectors[1][:2000])
    sides = [VectorSet(side, np.arange(len(side))) for side in some]
    checks = [
        vars(try_engine(name, device, threads, (sides[0], sides[1])))
        for name in usable_engines(device)
    ]
    rows = measure(vectors, device, sizes, arguments.dimensions, threads)
    top, card = peak(device)
    for row in rows:
        if top and "seconds" in row:
            work = 2 * row["a side"] ** 2 * row["dimension"]
            row["share of the bf16 peak"] = work / row["seconds"] / top
    found = {"device": card, "checks": checks, "rows": rows, "bf16 peak, TFLOP/s": top / 1e12}
    print("\n".join(table({"results": found})))
    return found
