"""Measure searches on a GPU: 4 nearest neighbours in both directions, as a share of the bf16 peak.

Vectors of real text are in host memory before and the lists after, so copying counts. The peak is
the rate of torch's product of square bf16 matrices on the same GPU. The work of a search counts as
one product of both sides: a system that multiplies twice, or in another precision, reaches a
smaller share. The peer in torch computes one bf16 product a block, with topk along rows and
columns, and does not score again in higher precision. Best of a few runs.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.speed import speed_text
from benchmarks.speed.process import Job, run
from miner import Encoder
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet

K = 4
MEMORY = 8 << 30
RUNS = 3
SQUARE = 8192
BLOCK = 8192


def peak() -> float:
    """Return the FLOP/s of a bf16 product."""
    import torch

    left, right = (torch.randn(SQUARE, SQUARE, device="cuda").bfloat16() for _ in range(2))
    work = 20

    def products() -> None:
        for _ in range(work):
            left @ right.T
        torch.cuda.synchronize()

    return work * 2 * SQUARE**3 / best(products)


def best(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of a few runs, after one to warm up."""
    work()
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def torch_topk(source: np.ndarray, target: np.ndarray) -> None:
    import torch

    left = torch.from_numpy(source).cuda().bfloat16()
    right = torch.from_numpy(target).cuda().bfloat16()
    forward, best_values, place = [], None, None
    for start in range(0, len(left), BLOCK):
        product = left[start : start + BLOCK] @ right.T
        forward.append(product.topk(K, dim=1).indices.cpu())
        values, rows = product.topk(K, dim=0)
        rows += start
        if best_values is not None and place is not None:
            values, rows = torch.cat([best_values, values]), torch.cat([place, rows])
        best_values, order = values.topk(K, dim=0)
        place = rows.gather(0, order)
    assert place is not None
    place.cpu()


def faiss_gpu(source: np.ndarray, target: np.ndarray) -> None:
    import faiss

    resources = faiss.StandardGpuResources()
    metric = faiss.METRIC_INNER_PRODUCT
    for queries, base in ((source, target), (target, source)):
        faiss.knn_gpu(resources, queries, base, K, metric=metric)


def job(paths: list[str], count: int, dimensions: list[int], threads: int) -> dict[str, Any]:
    """Return the rows of all systems, or that there is no GPU."""
    import torch

    if not torch.cuda.is_available():
        return {"device": "no GPU"}
    import faiss

    encoder = Encoder.load("default", threads)
    encoded = (
        encoder.encode(speed_text.read(paths[0], count)),
        encoder.encode(speed_text.read(paths[1], count)),
    )
    top = peak()
    rows: list[dict[str, Any]] = []
    for d in dimensions:
        source, target = speed_text.resized(encoded, d)
        wide = [vectors.astype(np.float32) for vectors in (source, target)]

        systems: dict[str, Callable[[], object]] = {
            f"ours, engine {engine}": partial(
                nearest_both,
                VectorSet(source, np.arange(len(source))),
                VectorSet(target, np.arange(len(target))),
                SearchSettings(k=K, memory=MEMORY, engine=engine, device="cuda", threads=threads),
            )
            for engine in ("fused", "triton")
        }
        systems |= {
            "torch matmul and topk, bf16": partial(torch_topk, source, target),
        }
        if hasattr(faiss, "StandardGpuResources"):
            systems["FAISS GPU, float32, twice"] = partial(faiss_gpu, *wide)
        for name, work in systems.items():
            row: dict[str, Any] = {"name": name, "a side": len(source), "dimension": d}
            try:
                seconds = best(work)
                share = 2 * len(source) * len(target) * d / seconds / top
                row |= {"seconds": round(seconds, 3), "share of the bf16 peak": round(share, 3)}
            except Exception as error:  # out of memory, or a GPU that the library cannot use
                row["failed"] = str(error).splitlines()[0]
            rows.append(row)
        if not hasattr(faiss, "StandardGpuResources"):
            rows.append({"name": "FAISS GPU", "dimension": d, "missing": "faiss-gpu"})
    device = torch.cuda.get_device_name()
    return {"device": device, "bf16 peak, TFLOP/s": round(top / 1e12, 1), "rows": rows}


def measure(paths: list[Any], count: int, dimensions: list[int], threads: int) -> dict[str, Any]:
    arguments = {"paths": [str(path) for path in paths], "count": count, "dimensions": dimensions}
    return run(Job("GPU", "cuda:job", {**arguments, "threads": threads}), threads)
