"""k nearest neighbours in both directions, exact or from a compressed index.

FAISS looks; :mod:`miner.kernels.exact` decides. FAISS keeps a few more neighbours than asked for,
these are scored again exactly, and where rounding could have pushed a true neighbour out of the
list, the sentence is searched once more without FAISS. So the lists of an exact search are one
and the same for every block size, thread count and device: by similarity descending, then row.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from miner import backend
from miner.errors import ResourceError
from miner.machine import thread_count
from miner.margin import Neighbors

# Rows of either side in one block of the similarity matrix; halved until it fits the memory.
BLOCK = 16_384
# Neighbours kept beyond k, to be sorted out by exact scores.
SLACK = 4
# A compressed index is asked for this many times k neighbours, to be re-ranked exactly.
REFINE = 8


@dataclass(frozen=True)
class Side:
    """What takes part in a search: the ``rows (m,) int64``, ascending, of ``vectors (n, d)``.

    ``ann`` is a FAISS index over those rows, or None for an exact search.
    """

    vectors: np.ndarray
    rows: np.ndarray
    ann: Any = None

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, start: int, end: int) -> np.ndarray:
        """Vectors of the rows at positions ``start`` to ``end``: ``(b, d) float32``."""
        return self.at(np.arange(start, min(end, len(self))))

    def at(self, positions: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self.vectors[self.rows[positions]], dtype=np.float32)


Report = Callable[[int, int], None]


def _width(base: Side, k: int) -> int:
    """Candidates kept for every row that is searched in ``base``."""
    return max(1, min(k + SLACK if base.ann is None else k * REFINE, len(base)))


def nearest_both(
    source: Side,
    target: Side,
    k: int,
    *,
    memory: int,
    device: str = "cpu",
    threads: int | None = None,
    report: Report = lambda done, total: None,
) -> tuple[Neighbors, Neighbors]:
    """The k nearest targets of every source, and the k nearest sources of every target.

    Returns Neighbors of ``(n_source, k)`` and ``(n_target, k)``: rows that take no part, and
    places beyond the size of the other side, have row -1. ``memory`` bounds, in bytes, what the
    search allocates beyond these two. ``report(done, total)`` counts rows searched, over both
    directions. Raises ValueError for k < 1, ResourceError for too little memory.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    _use_threads(thread_count(threads))
    search = _Search(source, target, k, memory, device, report)
    forward, backward = search.candidates()
    return (
        _settle(source, target, forward, k, search.block, exact=target.ann is None),
        _settle(target, source, backward, k, search.block, exact=source.ann is None),
    )


@dataclass
class _Lists:
    """Running candidates: ``similarity (m, w) float32`` as FAISS sees it, ``position (m, w)``."""

    similarity: np.ndarray
    position: np.ndarray

    @classmethod
    def empty(cls, size: int, width: int) -> "_Lists":
        return cls(
            np.full((size, width), -np.inf, dtype=np.float32),
            np.full((size, width), -1, dtype=np.int64),
        )

    def merge(self, start: int, similarity: np.ndarray, position: np.ndarray) -> None:
        """Put new candidates of the rows from ``start`` in; the order of merges does not matter."""
        part = slice(start, start + len(similarity))
        values = np.concatenate([self.similarity[part], similarity], axis=1)
        places = np.concatenate([self.position[part], position], axis=1)
        order = np.lexsort((places, -values), axis=1)[:, : self.position.shape[1]]
        self.similarity[part] = np.take_along_axis(values, order, axis=1)
        self.position[part] = np.take_along_axis(places, order, axis=1)


class _Search:
    """One search of two sides against each other, block by block."""

    def __init__(
        self,
        source: Side,
        target: Side,
        k: int,
        memory: int,
        device: str,
        report: Report,
    ):
        self.source, self.target, self.k = source, target, k
        self.device, self.report = device, report
        self.done = 0.0
        self.total = len(source) + len(target)
        forward, backward = _width(target, k), _width(source, k)
        self.block = BLOCK
        d = source.vectors.shape[1]
        # The lists of both sides; per row of a block, both sides' float32 vectors, the vectors of
        # what is scored again (as they are read, too), and what finds and sorts these.
        lists = (len(source) * forward + len(target) * backward) * 12
        row = 2 * d * 4 + max(forward, backward) * (d * 6 + 48)
        while lists + self.block * row > memory and self.block > 256:
            self.block //= 2
        if lists + self.block * row > memory:
            need = (lists + self.block * row) >> 20
            raise ResourceError(
                f"--memory {memory >> 20}M is too little for {self.total} sentences and k={k}: "
                f"give at least {need + 1}M, or split the corpus"
            )

    def candidates(self) -> tuple[_Lists, _Lists]:
        forward = self._compressed(self.source, self.target)
        backward = self._compressed(self.target, self.source)
        if forward is None or backward is None:
            return self._flat(forward, backward)
        return forward, backward

    def _compressed(self, queries: Side, base: Side) -> _Lists | None:
        """Candidates from the compressed index of ``base``; None where it has none."""
        if base.ann is None:
            return None
        width = _width(base, self.k)
        lists = _Lists.empty(len(queries), width)
        for start in range(0, len(queries), self.block):
            found = base.ann.search(queries.block(start, start + self.block), width)
            lists.merge(start, *found)
            self._advance(len(found[0]))
        return lists

    def _flat(self, forward: _Lists | None, backward: _Lists | None) -> tuple[_Lists, _Lists]:
        """Both directions by brute force, but for one that has its candidates already."""
        run_forward, run_backward = forward is None, backward is None
        forward = forward or _Lists.empty(len(self.source), _width(self.target, self.k))
        backward = backward or _Lists.empty(len(self.target), _width(self.source, self.k))
        blocks = range(0, len(self.source), self.block)
        for t in range(0, len(self.target), self.block):
            targets = self.target.block(t, t + self.block)
            for s in blocks:
                sources = self.source.block(s, s + self.block)
                if run_forward:
                    found = self._pass(sources, targets, forward.position.shape[1])
                    forward.merge(s, found[0], found[1] + t)
                if run_backward:
                    found = self._pass(targets, sources, backward.position.shape[1])
                    backward.merge(t, found[0], found[1] + s)
                # Of a row searched against a part of the other side, that part counts.
                if run_forward:
                    self._advance(len(sources) * len(targets) / len(self.target))
                if run_backward:
                    self._advance(len(targets) * len(sources) / len(self.source))
        return forward, backward

    def _pass(
        self, queries: np.ndarray, base: np.ndarray, width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        return backend.flat_search(queries, base, min(width, len(base)), self.device)

    def _advance(self, rows: float) -> None:
        self.done += rows
        self.report(round(self.done), self.total)


def _settle(
    queries: Side, base: Side, lists: _Lists, k: int, block: int, *, exact: bool
) -> Neighbors:
    """Exact scores for the candidates, sorted and cut to k, in rows of the whole corpora."""
    from miner.kernels.exact import rescore

    similarity = np.full((len(queries.vectors), k), -np.inf, dtype=np.float32)
    row = np.full((len(queries.vectors), k), -1, dtype=np.int64)
    if not len(base):
        return Neighbors(similarity, row)
    for start in range(0, len(queries), block):
        found = lists.position[start : start + block]
        used, local = np.unique(found, return_inverse=True)
        vectors = queries.block(start, start + block)
        pool = base.at(used[used >= 0])
        local = local.reshape(found.shape) - np.count_nonzero(used < 0)
        scores = np.empty(found.shape, dtype=np.float32)
        rescore(vectors, pool, local, scores)
        order = np.lexsort((found, -scores), axis=1)[:, :k]
        best = np.take_along_axis(scores, order, axis=1)
        place = np.take_along_axis(found, order, axis=1)
        if exact and found.shape[1] < len(base):
            # FAISS dropped everything it saw below its last place: safe only if that, give or
            # take the rounding of a float32 product of unit vectors, is below the k-th.
            rounding = 4 * vectors.shape[1] * 2.0**-24
            unsure = lists.similarity[start : start + block, -1] + rounding >= best[:, -1]
            if unsure.any():
                best[unsure], place[unsure] = _scan(vectors[unsure], base, best.shape[1], block)
        part = queries.rows[start : start + block]
        similarity[part, : best.shape[1]] = best
        row[part, : best.shape[1]] = np.where(place >= 0, base.rows[place], -1)
    return Neighbors(similarity, row)


def _scan(queries: np.ndarray, base: Side, k: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact top-k of all of ``base``, without FAISS: similarities and positions, ``(n, k)``."""
    from miner.kernels.exact import scan

    similarity = np.full((len(queries), k), -np.inf, dtype=np.float32)
    position = np.full((len(queries), k), -1, dtype=np.int64)
    for start in range(0, len(base), block):
        scan(queries, base.block(start, start + block), start, similarity, position)
    return similarity, position


def _use_threads(threads: int) -> None:
    import numba

    backend.use_threads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
