"""Measure exact searches for the 4 nearest neighbours in both directions, on the same vectors.

Vectors of real text by the model that ships, projected to 300 principal components of both sides,
normalised and stored as float16. All systems get the same values: ours as stored, others as
float32, converted before the clock starts. Recall is against the exact neighbours in float64; a
neighbour as near as the fourth, up to 1e-9, counts as found. Memory includes the vectors. Slow
systems search the first queries of each side only, in the whole of the other side. Every system
first searches 2,000 x 2,000 to warm up.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import speed_text
from benchmarks.speed.process import Job, Meter, alternate, need, rows
from miner import Encoder
from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet

K = 4
WARM = 2000
MEMORY = 2 << 30
# Rows of a block: the fastest for torch, and about the size of LASER's batches.
TORCH_BLOCK, LOOP_BLOCK = 1024, 16_384
OURS = "ours"
# Options of our search.
VARIANTS: dict[str, dict[str, Any]] = {
    OURS: {},
    "ours, exact=True": {"exact": True},
    "ours, engine faiss": {"engine": "faiss"},
}

# Neighbours of both sides, (n or fewer, K), or vectors of both sides, (n, d).
Found = tuple[np.ndarray, np.ndarray]


def nearest(source: np.ndarray, target: np.ndarray, threads: int, **options: Any) -> Found:
    """Search by our engine, through the interface that the tool uses."""
    sides = [VectorSet(vectors, np.arange(len(vectors))) for vectors in (source, target)]
    settings = SearchSettings(k=K, memory=MEMORY, device="cpu", threads=threads, **options)
    found = nearest_both(sides[0], sides[1], settings)
    return found[0].row, found[1].row


def faiss_flat(source: np.ndarray, target: np.ndarray, threads: int) -> Found:
    import faiss

    def one(queries: np.ndarray, base: np.ndarray) -> np.ndarray:
        index = faiss.IndexFlatIP(base.shape[1])
        index.add(base)
        return index.search(queries, K)[1]

    return one(source, target), one(target, source)


def torch_topk(source: np.ndarray, target: np.ndarray, threads: int) -> Found:
    import torch

    forward, backward = topk_both(torch.from_numpy(source), torch.from_numpy(target), TORCH_BLOCK)
    return forward.numpy(), backward.numpy()


def topk_both(left: Any, right: Any, block: int) -> tuple[Any, Any]:
    """Search tensors in both directions by one product, in blocks of ``left``.

    topk runs along rows and columns. Returns indices ``(len(left), K)`` and ``(len(right), K)``.
    """
    import torch

    forward, best, place = [], None, None
    for start in range(0, len(left), block):
        product = left[start : start + block] @ right.T  # (block, len(right))
        forward.append(product.topk(min(K, len(right)), dim=1).indices)
        values, rows_ = product.topk(min(K, len(product)), dim=0)
        rows_ += start
        if best is not None and place is not None:
            values, rows_ = torch.cat([best, values]), torch.cat([place, rows_])
        best, order = values.topk(min(K, len(values)), dim=0)
        place = rows_.gather(0, order)
    assert place is not None
    return torch.cat(forward), place.T


def usearch_exact(source: np.ndarray, target: np.ndarray, threads: int) -> Found:
    """Search a fifth of the queries in each direction."""
    from usearch.index import MetricKind, search

    def one(queries: np.ndarray, base: np.ndarray) -> np.ndarray:
        some = queries[: max(1, len(queries) // 5)]
        found = search(base, some, K, MetricKind.IP, exact=True, threads=threads)
        return np.asarray(found.keys).astype(np.int64)

    return one(source, target), one(target, source)


def semantic_search(source: np.ndarray, target: np.ndarray, threads: int) -> Found:
    """Search each direction by the function of sentence-transformers with its default blocks."""
    import torch
    from sentence_transformers import util

    def one(queries: np.ndarray, base: np.ndarray) -> np.ndarray:
        lists = util.semantic_search(
            torch.from_numpy(queries),
            torch.from_numpy(base),
            top_k=K,
            score_function=util.dot_score,
        )
        return np.array([[hit["corpus_id"] for hit in hits] for hits in lists])

    return one(source, target), one(target, source)


def laser_loop(source: np.ndarray, target: np.ndarray, threads: int) -> Found:
    """Search blocks of the base by FAISS and merge their lists, in each direction.

    LASER merges in a Python loop over queries; numpy, used here, is faster.
    """
    import faiss

    def one(queries: np.ndarray, base: np.ndarray) -> np.ndarray:
        best = []
        for start in range(0, len(queries), LOOP_BLOCK):
            block = queries[start : start + LOOP_BLOCK]
            values, places = [], []
            for begin in range(0, len(base), LOOP_BLOCK):
                index = faiss.IndexFlatIP(base.shape[1])
                index.add(base[begin : begin + LOOP_BLOCK])
                found = index.search(block, min(K, index.ntotal))
                values.append(found[0])
                places.append(found[1] + begin)
            order = np.argsort(-np.concatenate(values, axis=1), axis=1)[:, :K]
            best.append(np.take_along_axis(np.concatenate(places, axis=1), order, axis=1))
        return np.concatenate(best)

    return one(source, target), one(target, source)


PEERS: dict[str, Callable[[np.ndarray, np.ndarray, int], Found]] = {
    "FAISS Flat, twice": faiss_flat,
    "torch matmul and topk, one product": torch_topk,
    "blocks of FAISS Flat merged (LASER's style), twice": laser_loop,
    "sentence-transformers semantic_search, twice": semantic_search,
    "usearch exact, twice": usearch_exact,
}


def encoded(paths: list[str], count: int, threads: int) -> Found:
    """Return the vectors of the first ``count`` sentences of both sides."""
    encoder = Encoder.load("default", threads)
    source, target = (encoder.encode(speed_text.read(path, count)) for path in paths)
    return source, target


def prepare(paths: list[str], count: int, d: int, threads: int, work: str) -> dict[str, Any]:
    """Write the vectors of both sides, and each sentence's cosine to its fourth neighbour."""
    import torch

    torch.set_num_threads(threads)
    sides = speed_text.resized(encoded(paths, count, threads), d)
    for side, vectors in zip(("source", "target"), sides, strict=True):
        np.save(Path(work) / f"{side}.npy", vectors)
    double = [torch.from_numpy(vectors.astype(np.float64)) for vectors in sides]
    for side, queries, base in (
        ("source", double[0], double[1]),
        ("target", double[1], double[0]),
    ):
        blocks = [
            (queries[start : start + 512] @ base.T).topk(min(K, len(base)), dim=1).values[:, -1]
            for start in range(0, len(queries), 512)
        ]
        np.save(Path(work) / f"{side}.fourth.npy", torch.cat(blocks).numpy())
    return {"sentences": [len(vectors) for vectors in sides], "dimension": d}


def recall(queries: np.ndarray, base: np.ndarray, found: np.ndarray, fourth: np.ndarray) -> float:
    """Return the share of ``found (m, K)`` that are true neighbours, none counted twice.

    ``queries`` and ``base`` are float16, ``fourth (n,) float64`` the similarity of each query's
    K-th neighbour; the first m queries were searched.
    """
    right = 0
    for start in range(0, len(found), 4096):
        places = np.sort(found[start : start + 4096], axis=1)
        again = np.zeros(places.shape, dtype=bool)
        again[:, 1:] = places[:, 1:] == places[:, :-1]
        rows_ = queries[start : start + len(places)].astype(np.float64)
        similarity = np.einsum("nd,nkd->nk", rows_, base[places].astype(np.float64))
        enough = similarity >= fourth[start : start + len(places), None] - 1e-9
        right += int(np.count_nonzero(enough & ~again & (places >= 0)))
    return right / found.size


def _vectors(work: str, dtype: type | None = None, count: int | None = None) -> Found:
    """Load the first ``count`` vectors of both sides as ``dtype``; None maps the files."""
    paths = [Path(work) / f"{side}.npy" for side in ("source", "target")]
    if dtype is None:
        mapped = [np.load(path, mmap_mode="r")[:count] for path in paths]
        return mapped[0], mapped[1]
    loaded = [np.load(path)[:count].astype(dtype) for path in paths]
    return loaded[0], loaded[1]


def job(name: str, work: str, threads: int) -> dict[str, Any]:
    """Measure one system once."""
    options = VARIANTS.get(name)
    if options is None:
        import faiss
        import torch

        torch.set_num_threads(threads)
        faiss.omp_set_num_threads(threads)
        search = PEERS[name]
    else:
        search = partial(nearest, **options)
    # Other systems get float32 in memory, ours the mapped float16 of a store.
    dtype = np.float32 if options is None else None
    search(*_vectors(work, dtype, WARM), threads)
    meter = Meter()  # created before the vectors are loaded, so that their memory counts
    source, target = _vectors(work, dtype)
    with meter:
        found = search(source, target, threads)
    fourth = [np.load(Path(work) / f"{side}.fourth.npy") for side in ("source", "target")]
    source, target = _vectors(work)
    both = [
        recall(source, target, found[0], fourth[0]),
        recall(target, source, found[1], fourth[1]),
    ]
    return meter.result(sum(map(len, found)), **{"recall@4": round(sum(both) / 2, 6)})


def measure(
    paths: list[Path], count: int, d: int, rounds: int, threads: int, work: Path
) -> list[dict[str, Any]]:
    arguments = {"paths": [str(path) for path in paths], "count": count, "d": d}
    shared = {"threads": threads, "work": str(work)}
    made = need(Job("vectors", "search_speed:prepare", {**arguments, **shared}), threads)
    jobs = [Job(name, "search_speed:job", {"name": name, **shared}) for name in [*VARIANTS, *PEERS]]
    found = rows(alternate(jobs, rounds, threads), OURS)
    vectors = sum(made["sentences"])
    for row in found:
        row |= {"in": made["sentences"], "dimension": d}
        if "sentences" in row:
            row["memory, bytes a vector"] = round(row["memory MiB"] * 2**20 / vectors)
            # Operations of one product of both sides, for every system.
            needed = 2 * d * made["sentences"][0] * made["sentences"][1] / 1e9
            row["of one product, GFLOP/s"] = float(
                f"{needed * row['sentences'] / vectors / row['seconds']:.3g}"
            )
    return found
