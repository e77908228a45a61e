"""Exact reranking of candidates, and a second search for rows in doubt.

An engine drops every row that it finds less similar than the last entry of a list. That is safe
only if the last entry's similarity, plus the error of the engine, is below the exact k-th
similarity of the list. Otherwise the query is in doubt and is searched again: in float32, with a
long list; if float32 cannot decide either, by an exact scan.
"""

import numpy as np

from miner.knn.engines import Engine, Float32Engine, Ranked, float32_bound
from miner.knn.lists import Lists
from miner.knn.neighbors import Neighbors
from miner.knn.recall import scan
from miner.knn.vector_set import VectorSet
from miner.machine import release_pages

# Maximum bytes of a vector file kept in memory while candidates are ranked.
PAGES = 64 << 20
# Extra candidates beyond k in a second, float32 search: enough for a cluster of near-duplicates.
SECOND_SLACK = 60


def refine(
    queries: VectorSet, base: VectorSet, lists: Lists, k: int, engine: Engine | None, block: int
) -> Neighbors:
    """Return the k nearest rows of ``base`` among the candidates of each of ``queries``.

    ``lists``: candidates of ``engine`` among all rows. ``engine`` is None for a search that skips
    rows, where no row is in doubt. ``block`` bounds the rows in memory.
    """
    similarity = np.full((len(queries.vectors), k), -np.inf, dtype=np.float32)
    row = np.full((len(queries.vectors), k), -1, dtype=np.int64)

    def store(positions: np.ndarray, ranked: Ranked) -> None:
        best, nearest = ranked
        rows = queries.rows[positions]
        similarity[rows, : best.shape[1]] = best
        row[rows, : best.shape[1]] = np.where(nearest >= 0, base.rows[nearest], -1)

    def search_again(positions: np.ndarray) -> None:
        assert engine is not None
        vectors = queries.take(positions)
        store(positions, search_float32(vectors, base, k, engine.threads, block))

    if not len(queries) or not len(base):
        return Neighbors(similarity, row)
    complete = engine is None or base.ann is not None or lists.width == len(base)
    bound = None if complete or engine is None else engine.error_bound(base)
    doubtful = np.empty(0, dtype=np.int64)
    for start in range(0, len(queries), block):
        vectors = queries.block(start, start + block)  # (b, d)
        positions = np.arange(start, start + len(vectors))
        best, nearest = rank(vectors, base, lists.position[start : start + block], k)
        store(positions, (best, nearest))
        release_pages(base.vectors)
        if bound is not None:
            doubt = lists.least[positions] + bound(vectors) >= best[:, -1]
            doubtful = np.concatenate([doubtful, positions[doubt]])
        # Many rows in doubt share a pass over the base.
        while len(doubtful) >= block or (len(doubtful) and start + block >= len(queries)):
            search_again(doubtful[:block])
            doubtful = doubtful[block:]
    return Neighbors(similarity, row)


def rank(vectors: np.ndarray, base: VectorSet, candidates: np.ndarray, k: int) -> Ranked:
    """Rank the candidates of each of ``vectors (b, d)`` by their exact similarity.

    ``candidates (b, w) int32`` are positions in ``base``. Returns exact similarities and
    positions, ``(b, min(k, w))``, by similarity descending, then position. A position of -1
    marks an empty slot.
    """
    from miner.kernels.exact import rescore

    scores = np.full(candidates.shape, -np.inf, dtype=np.float32)
    rows = np.where(candidates >= 0, base.rows[candidates], -1)
    if base.vectors.nbytes <= PAGES:
        rescore(vectors, base.vectors, rows, scores)
    else:
        # Candidates are scattered over a large file: they are read in file order, and pages are
        # dropped after each part.
        flat, values = rows.ravel(), scores.reshape(-1)
        order = np.argsort(flat, kind="stable")
        part = max(1, PAGES // (base.vectors.nbytes // len(base.vectors)))
        edges = np.arange(0, len(base.vectors) + part, part)
        places = np.searchsorted(flat, edges, sorter=order)  # -1 comes before
        for first, last in zip(places, places[1:], strict=False):
            slots = order[first:last]
            if len(slots):
                value = np.empty((len(slots), 1), np.float32)
                rescore(vectors, base.vectors, flat[slots, None], value, slots // rows.shape[1])
                values[slots] = value[:, 0]
                release_pages(base.vectors)
    order = np.lexsort((candidates, -scores), axis=1)[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(candidates, order, axis=1)


def search_float32(
    vectors: np.ndarray, base: VectorSet, k: int, threads: int, block: int
) -> Ranked:
    """Find the k nearest of ``base`` for each of ``vectors (c, d)``: in float32, then exactly.

    Returns exact similarities and positions in ``base``, ``(c, min(k, m))``, best first. An exact
    scan decides where float32 cannot. ``block`` bounds the rows of ``base`` in memory.
    """
    engine = Float32Engine(threads)
    lists = Lists.empty(len(vectors), min(k + SECOND_SLACK, len(base)))
    closed = Lists.closed(len(base))
    queries = vectors.astype(np.float32)
    for start in range(0, len(base), block):
        part = base.float32_block(start, start + block)
        engine.merge(queries, 0, part, start, (lists, closed))
    best, nearest = rank(vectors, base, lists.position, k)
    if lists.width < len(base):
        doubt = lists.least + float32_bound(queries) >= best[:, -1]
        if doubt.any():
            best[doubt], nearest[doubt] = scan(queries[doubt], base, k, block)
    return best, nearest
