"""Measure searches on a GPU: 4 nearest neighbours in both directions, as a share of the bf16 peak.

Vectors of real text are in host memory before and the lists after, so copying counts. The peak is
the rate of torch's product of square bf16 matrices on the same GPU. The work of a search counts as
one product of both sides: a system that multiplies twice, or in another precision, reaches a
smaller share. The peer in torch computes one bf16 product a block, with topk along rows and
columns, and does not score again in higher precision. Best of a few runs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.speed import speed_text
from benchmarks.speed.limits import best
from benchmarks.speed.process import Job, run
from benchmarks.speed.search_speed import K, encoded, topk_both
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet

MEMORY = 8 << 30
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


def torch_topk(source: np.ndarray, target: np.ndarray) -> None:
    import torch

    left, right = (torch.from_numpy(side).cuda().bfloat16() for side in (source, target))
    for found in topk_both(left, right, BLOCK):
        found.cpu()


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

    vectors = encoded(paths, count, threads)
    top = peak()
    rows: list[dict[str, Any]] = []
    for d in dimensions:
        source, target = speed_text.resized(vectors, d)
        wide = [side.astype(np.float32) for side in (source, target)]
        systems: dict[str, Callable[[], object]] = {
            "ours": partial(
                nearest_both,
                VectorSet(source, np.arange(len(source))),
                VectorSet(target, np.arange(len(target))),
                SearchSettings(k=K, memory=MEMORY, device="cuda", threads=threads),
            )
        }
        systems["torch matmul and topk, bf16"] = partial(torch_topk, source, target)
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
