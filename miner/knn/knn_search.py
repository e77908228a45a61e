"""k nearest neighbours in both directions, exact or from a compressed index.

An engine (:mod:`miner.knn.engines`) looks; :mod:`miner.kernels.exact` decides. The engine keeps a few
more neighbours than asked for, and these are scored again exactly. Where an engine's rounding has a
bound and could have pushed a true neighbour out of the list, the sentence is searched once more,
exactly. So the lists of an exact search are one and the same for every block size, thread count and
device: by similarity descending, then row; those of the engine of bytes do not depend on these
either, and miss a neighbour about never.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from miner.errors import ResourceError
from miner.index import faiss
from miner.knn.engines import Bytes, Engine, Faiss, Floats, Lists, choose
from miner.knn.neighbors import Neighbors
from miner.knn.recall import bytes_suffice, scan
from miner.knn.search_checkpoint import Checkpoint, Plan
from miner.knn.vector_set import Side
from miner.machine import thread_count
from miner.progress import Reporter, silent

# Rows of either side in one block of the similarity matrix; halved until it fits the memory.
BLOCK = 16_384
LEAST_BLOCK = 256
# Pairs of sentences up to which float32 products take no longer than trying bytes.
SMALL = 1 << 23
# A compressed index is asked for this many times k neighbours, to be re-ranked exactly.
REFINE = 8


def nearest_both(
    source: Side,
    target: Side,
    k: int,
    *,
    memory: int,
    engine: str = "fused",
    exact: bool = False,
    device: str = "cpu",
    threads: int | None = None,
    report: Reporter = silent,
    checkpoint: Checkpoint | None = None,
) -> tuple[Neighbors, Neighbors]:
    """The k nearest targets of every source, and the k nearest sources of every target.

    Returns Neighbors of ``(n_source, k)`` and ``(n_target, k)``: rows that take no part, and
    places beyond the size of the other side, have row -1. ``engine`` is fused or faiss; ``exact``
    makes the fused one multiply in float32, and search again what rounding may have changed.
    ``memory`` bounds, in bytes, what the search allocates beyond these two. ``report``
    counts rows searched, over both directions. ``checkpoint`` keeps what is done on disk. Raises
    ValueError for k < 1, ResourceError for too little memory, and where ``exact`` is asked of a
    compressed index.
    """
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    threads = thread_count(threads)
    if source.ann is not None or target.ann is not None:
        if exact:
            raise ResourceError(
                "--exact needs flat indexes, and one is compressed; build it with --index flat"
            )
        engine = "faiss"  # nothing else reads its indexes
        if device == "cuda" and not faiss.gpu_count():
            device = "cpu"  # a GPU that torch sees, and not FAISS
        if checkpoint is not None and checkpoint.keep:
            checkpoint.note(f"{checkpoint.path} is not used: compressed indexes have no such state")
    chosen = choose(engine, device, exact, threads)
    _use_threads(threads, chosen)
    if isinstance(chosen, Bytes) and not (
        len(source) * len(target) > SMALL
        and bytes_suffice(source, target, k)
        and bytes_suffice(target, source, k)
    ):
        chosen = Floats(threads)
    search = _Search(source, target, k, memory, chosen, report, checkpoint)
    forward, backward = search.candidates()
    return (
        search.settle(source, target, forward),
        search.settle(target, source, backward),
    )


class _Search:
    """One search of two sides against each other, block by block."""

    def __init__(
        self,
        source: Side,
        target: Side,
        k: int,
        memory: int,
        engine: Engine,
        report: Reporter,
        checkpoint: Checkpoint | None,
    ):
        self.source, self.target, self.k = source, target, k
        self.engine, self.report, self.checkpoint = engine, report, checkpoint
        self.done = 0.0
        self.total = len(source) + len(target)
        self.forward_width, self.backward_width = self._width(target), self._width(source)
        widest = max(self.forward_width, self.backward_width)
        d = source.vectors.shape[1]
        # The lists of both sides; per row of a block, both sides' vectors, float32 and prepared, or
        # what sorts the candidates of a row, with ample room: scoring reads vectors where they are.
        lists = len(source) * (self.forward_width * 8 + 4) + len(target) * (
            self.backward_width * 8 + 4
        )
        row = max(2 * (4 * d + engine.bytes_per_row(d)), 8 * d + widest * (d * 6 + 48))
        self.block = BLOCK
        while lists + self.block * row > memory and self.block > LEAST_BLOCK:
            self.block //= 2
        if lists + self.block * row > memory:
            need = (lists + self.block * row) >> 20
            raise ResourceError(
                f"--memory {memory >> 20}M is too little for {self.total} sentences and k={k}: "
                f"give at least {need + 1}M, or split the corpus"
            )
        self.spare = memory - lists - self.block * row
        self.held: dict[tuple[bool, int, int], Any] = {}

    def _width(self, base: Side) -> int:
        """Candidates kept for every row that is searched in ``base``."""
        wanted = self.k + self.engine.slack if base.ann is None else self.k * REFINE
        return max(1, min(wanted, len(base)))

    def candidates(self) -> tuple[Lists, Lists]:
        if self.source.ann is None and self.target.ann is None:
            return self._both()
        return (
            self._one(self.source, self.target, self.forward_width),
            self._one(self.target, self.source, self.backward_width),
        )

    def _one(self, queries: Side, base: Side, width: int) -> Lists:
        """Candidates from the compressed index of ``base``, or by brute force if it has none."""
        assert isinstance(self.engine, Faiss)
        lists = Lists.empty(len(queries), width)
        for start in range(0, len(queries), self.block):
            vectors = queries.floats(start, start + self.block)
            if base.ann is not None:
                lists.merge(start, *base.ann.search(vectors, width))
            else:
                for first in range(0, len(base), self.block):
                    part = base.floats(first, first + self.block)
                    lists.merge(start, *self.engine.search(vectors, part, first, width))
            self._advance(len(vectors))
        return lists

    def _both(self) -> tuple[Lists, Lists]:
        """Both directions by one pass over the blocks of the similarity matrix."""
        n, m = len(self.source), len(self.target)
        lists = Lists.empty(n, self.forward_width), Lists.empty(m, self.backward_width)
        plan = Plan((), self.block).grown((0, 0), (n, m))
        if self.checkpoint is not None:
            plan = self.checkpoint.resume(self.engine.name, self.source, self.target, lists, plan)
        left = plan.cells
        # Of all rows of both sides, those that this share of the matrix stands for.
        weight = self.total / max(1, n * m)
        self._advance(self.total - left * weight)
        for s, s_end, t, t_end in plan.blocks():
            self._merge(s, s_end, t, t_end, lists)
            plan = replace(plan, done=plan.done + 1)
            self._advance((s_end - s) * (t_end - t) * weight)
            if self.checkpoint is not None and self.checkpoint.due:
                self.engine.flush(lists)
                self.checkpoint.save(lists, plan)
        self.held.clear()  # room for what comes next
        self.engine.flush(lists)
        if self.checkpoint is not None:
            self.checkpoint.finish(lists, plan)
        return lists

    def _merge(self, s: int, s_end: int, t: int, t_end: int, lists: tuple[Lists, Lists]) -> None:
        """Search one block; where the memory does not suffice, in quarters."""
        if self._fits(s, s_end, t, t_end, lists):
            return
        # What was merged before memory ran out is merged again, which changes nothing.
        s_half, t_half = (s + s_end + 1) // 2, (t + t_end + 1) // 2
        for part in ((s, s_half), (s_half, s_end)):
            for other in ((t, t_half), (t_half, t_end)):
                if part[0] < part[1] and other[0] < other[1]:
                    self._merge(*part, *other, lists)

    def _fits(self, s: int, s_end: int, t: int, t_end: int, lists: tuple[Lists, Lists]) -> bool:
        """Merge one block; False, with nothing of it left in memory, if memory ran out."""
        try:
            rows = self._prepared(self.source, s, s_end, columns=False)
            columns = self._prepared(self.target, t, t_end, columns=True)
            self.engine.merge(rows, s, columns, t, lists)
        except Exception as error:
            if not isinstance(error, (MemoryError, *self.engine.exhausted)):
                raise
            if max(s_end - s, t_end - t) <= LEAST_BLOCK:
                raise ResourceError(
                    f"out of memory in a block of {s_end - s} x {t_end - t} sentences; free some, "
                    "give less --memory, or --device cpu"
                ) from error
            self.held.clear()
            self.spare = 0  # what is held next would be the first to fail again
            return False
        return True

    def _prepared(self, side: Side, start: int, end: int, *, columns: bool) -> Any:
        """A block ready for the engine; those of rows, which come again, are held if they fit."""
        key = (columns, start, end)
        if key in self.held:
            return self.held[key]
        made = self.engine.prepare(side.block(start, end), columns=columns)
        if columns:
            # One block of columns at a time meets all rows.
            self.held = {old: kept for old, kept in self.held.items() if not old[0]}
            self.held[key] = made
        else:
            size = (end - start) * self.engine.bytes_per_row(side.vectors.shape[1])
            if size <= self.spare:
                self.spare -= size
                self.held[key] = made
        return made

    def _advance(self, rows: float) -> None:
        self.done += rows
        self.report("searching", round(self.done), self.total)

    def settle(self, queries: Side, base: Side, lists: Lists) -> Neighbors:
        """Exact scores for the candidates, sorted and cut to k, in rows of the whole corpora."""
        similarity = np.full((len(queries.vectors), self.k), -np.inf, dtype=np.float32)
        row = np.full((len(queries.vectors), self.k), -1, dtype=np.int64)
        for start in range(0, len(queries) if len(base) else 0, self.block):
            best, place = self._settled(queries, base, lists, start)
            part = queries.rows[start : start + self.block]
            similarity[part, : best.shape[1]] = best
            row[part, : best.shape[1]] = np.where(place >= 0, base.rows[place], -1)
        return Neighbors(similarity, row)

    def _settled(
        self, queries: Side, base: Side, lists: Lists, start: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same for one block: similarities and positions."""
        from miner.kernels.exact import rescore
        from miner.kernels.half import bits

        found = lists.position[start : start + self.block]
        vectors = queries.block(start, start + self.block)
        scores = np.empty(found.shape, dtype=np.float32)
        rescore(
            bits(vectors), bits(base.vectors), np.where(found >= 0, base.rows[found], -1), scores
        )
        order = np.lexsort((found, -scores), axis=1)[:, : self.k]
        best = np.take_along_axis(scores, order, axis=1)
        place = np.take_along_axis(found, order, axis=1)
        rounding = self.engine.rounding(queries.vectors.shape[1])
        if base.ann is None and rounding is not None and found.shape[1] < len(base):
            # The engine dropped everything it saw below its last place: safe only if that, give or
            # take its rounding, is below the k-th.
            unsure = lists.least[start : start + self.block] + rounding >= best[:, -1]
            if unsure.any():
                best[unsure], place[unsure] = scan(
                    vectors[unsure].astype(np.float32), base, best.shape[1], self.block
                )
        return best, place


def _use_threads(threads: int, engine: Engine) -> None:
    import numba

    if isinstance(engine, Faiss):
        faiss.use_threads(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
