"""k nearest neighbours in both directions, exhaustively or from a compressed index.

An engine (:mod:`miner.knn.engines`) proposes a few more candidates than requested, and
:mod:`miner.knn.refine` ranks them by exact similarities. It searches again if the engine's rounding
could have pushed a true neighbour out of the list. So the lists are the same for every block size,
thread count and device: sorted by similarity descending, then by row. The error of a float32
similarity has a strict bound; for int8 the bound is five standard deviations, so that it may miss
one neighbour in many thousands.
"""

from contextlib import ExitStack
from typing import Any

from miner.errors import ResourceError
from miner.index import faiss
from miner.knn.engines import (
    PRODUCT_SIZE,
    Engine,
    FaissEngine,
    Float32Engine,
    Int8Engine,
    choose_engine,
    search_device,
)
from miner.knn.gpu_check import QUERIES, choose_gpu_engine, compressed_on_gpu
from miner.knn.gpu_engines import LARGEST, FaissGpuEngine, GpuEngine
from miner.knn.lists import Lists
from miner.knn.neighbors import Neighbors
from miner.knn.recall import int8_suffices
from miner.knn.refine import SECOND_SLACK, refine
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.machine import memory_budget, thread_count
from miner.parallel import use_loop_threads
from miner.progress import Reporter, silent

# Rows of each side in a block of the similarity matrix; halved until it fits in memory.
BLOCK = 16_384
LEAST_BLOCK = 256
# Number of sentence pairs up to which float32 products take no longer than probing the int8 engine;
# and number that processors compare in the time of a GPU check.
SMALL, SMALL_ON_GPU = 1 << 23, 1 << 30
# Candidates per k that a compressed index returns for exact reranking.
REFINE = 8


def nearest_both(
    source: VectorSet, target: VectorSet, settings: SearchSettings, report: Reporter = silent
) -> tuple[Neighbors, Neighbors]:
    """Find the k nearest targets of every source, and the k nearest sources of every target.

    Returns Neighbors of ``(n_source, k)`` and ``(n_target, k)``, by rows of the whole corpora. Rows
    outside the sets, and slots beyond the size of the other side, have row -1.

    Only the settings k, memory, engine, exact, device and threads matter here; memory bounds the
    allocations, the result included. ``report`` counts searched rows of both directions.

    Raises ResourceError for too little memory, for a GPU that is not there, and for ``exact`` with
    a compressed index.
    """
    engine = engine_for(source, target, settings)
    memory = memory_budget() if settings.memory is None else settings.memory
    k = settings.neighbors
    candidates = list(BlockSearch(source, target, k, memory, engine, report).candidates())
    # Candidates are freed as soon as they are refined.
    forward = refine_part(
        source, target, candidates.pop(0), k, memory - candidates[-1].bytes, engine
    )
    return forward, refine_part(target, source, candidates.pop(0), k, memory, engine)


def refine_part(
    queries: VectorSet, base: VectorSet, lists: Lists, k: int, memory: int, engine: Engine | None
) -> Neighbors:
    """Rank the candidates ``lists`` of some queries among all of ``base`` exactly.

    ``engine``: the engine that searched; None for a search that skips rows. ``memory`` is for the
    candidates, the result, and the ranking.
    """
    d = base.vectors.shape[1]
    # Bytes per row while its candidates are ranked, and while it is searched again in float32.
    ranked, second = (
        8 * d + lists.width * (d * 6 + 48),
        12 * d + 4 * PRODUCT_SIZE + (k + SECOND_SLACK) * 48,
    )
    free = memory - lists.bytes - 12 * k * len(queries.vectors)
    return refine(queries, base, lists, k, engine, max(1, min(BLOCK, free // max(ranked, second))))


def engine_for(source: VectorSet, target: VectorSet, settings: SearchSettings) -> Engine:
    """Choose the engine of a search by its settings, the machine, and a probe of the vectors.

    Also sets the thread counts of the libraries. Raises the errors of :func:`nearest_both`.
    """
    threads = thread_count(settings.threads)
    engine = "fused" if settings.engine == "auto" else settings.engine
    if source.ann is not None or target.ann is not None:
        if settings.exact:
            raise ResourceError(
                "--exact needs flat indexes, and one is compressed; build it with --index flat"
            )
        engine = "faiss"  # only FAISS reads its indexes
    small = len(source) * len(target) <= SMALL_ON_GPU
    wanted = "cpu" if settings.device == "auto" and small else settings.device
    device = search_device(wanted, engine, settings.exact)
    on_gpu: GpuEngine | None = None
    if device != "cpu":
        places = settings.neighbors + GpuEngine.slack
        on_gpu = choose_gpu_engine(device, engine, threads, (source, target), places)
    chosen = on_gpu or choose_engine(engine, settings.exact, threads)
    use_threads(threads, chosen)
    if isinstance(chosen, Int8Engine) and not (
        len(source) * len(target) > SMALL and int8_suffices(source, target, settings.neighbors)
    ):
        chosen = Float32Engine(threads)
    return chosen


class BlockSearch:
    """Search of two sides against each other, block by block."""

    def __init__(
        self,
        source: VectorSet,
        target: VectorSet,
        k: int,
        memory: int,
        engine: Engine,
        report: Reporter = silent,
    ):
        self.source, self.target, self.k = source, target, k
        self.engine, self.report = engine, report
        self.done = 0.0
        self.total = len(source) + len(target)
        self.forward_width, self.backward_width = self._width(target), self._width(source)
        widest = max(self.forward_width, self.backward_width)
        d = source.vectors.shape[1]
        # Lists of both sides: 8 bytes per slot, and 4 per row for the last similarity.
        ahead = len(source) * (self.forward_width * 8 + 4)
        back = len(target) * (self.backward_width * 8 + 4)
        # Refining holds a result of 12 bytes per slot and both lists, then two results and one
        # list; and 4 bytes per row of a side.
        results = 12 * k * len(source.vectors), 12 * k * len(target.vectors)
        lists = back + results[0] + max(ahead, results[1]) + 4 * max(len(source), len(target))
        # One row of a block: the vectors of both sides, as float32 and prepared; or, while
        # candidates are refined, the sorting arrays with a margin.
        row = max(2 * (4 * d + engine.bytes_per_row(d)), 8 * d + widest * (d * 6 + 48))
        self.block = BLOCK
        if isinstance(engine, GpuEngine):  # the sides, rounded up, are an upper limit
            self.block = min(LARGEST, 1 << max(len(source), len(target), BLOCK).bit_length())
        while lists + self.block * row > memory and self.block > LEAST_BLOCK:
            self.block //= 2
        if lists + self.block * row > memory:
            need = (lists + self.block * row) >> 20
            raise ResourceError(
                f"--memory {memory >> 20}M is too little for {self.total} sentences and k={k}: "
                f"give at least {need + 1}M, or split the corpus"
            )
        self.spare = memory - lists - self.block * row
        # Bytes available for prepared blocks, and the held blocks by (columns, start, end).
        self.held: dict[tuple[bool, int, int], Any] = {}

    def _width(self, base: VectorSet) -> int:
        """Return the number of candidates to keep for every row searched in ``base``."""
        wanted = self.k + self.engine.slack if base.ann is None else self.k * REFINE
        return max(1, min(wanted, len(base)))

    def candidates(self) -> tuple[Lists, Lists]:
        """Collect the candidates of both sides; positions are relative to the two sets.

        Lists of several parts of a matrix, merged by :meth:`~miner.knn.lists.Lists.merge`, equal
        the lists of the whole matrix.
        """
        with ExitStack() as stack:
            if isinstance(self.engine, GpuEngine):
                dimension = self.source.vectors.shape[1]
                block, held = stack.enter_context(self.engine.opened(dimension))
                self.block, self.spare = min(self.block, block), min(self.spare, held)
            if self.source.ann is None and self.target.ann is None:
                return self._both_directions()
            return (
                self._one_direction(self.source, self.target, self.forward_width),
                self._one_direction(self.target, self.source, self.backward_width),
            )

    def _one_direction(self, queries: VectorSet, base: VectorSet, width: int) -> Lists:
        """Collect candidates from the compressed index of ``base``, or exhaustively without one.

        Exhaustive searches of one direction run on the CPU.
        """
        exhaustive = FaissEngine(self.engine.threads)
        lists = Lists.empty(len(queries), width)
        index = self._index(queries, base, width)
        for start in range(0, len(queries), self.block):
            vectors = queries.float32_block(start, start + self.block)
            if index is not None:
                lists.merge(start, *index.search(vectors, width))
            else:
                for first in range(0, len(base), self.block):
                    part = base.float32_block(first, first + self.block)
                    lists.merge(start, *exhaustive.search(vectors, part, first, width))
            self._advance(len(vectors))
        return lists

    def _index(self, queries: VectorSet, base: VectorSet, width: int) -> Any:
        """Return the compressed index of ``base``: on the GPUs if FAISS has its kind there."""
        gpus = self.engine.gpus if isinstance(self.engine, FaissGpuEngine) else []
        if base.ann is None or not gpus or width > faiss.MOST_ON_GPU:
            return base.ann
        sample = queries.float32_block(0, QUERIES)
        return compressed_on_gpu(base.ann, sample, width, gpus) or base.ann

    def _both_directions(self) -> tuple[Lists, Lists]:
        """Collect candidates of both sides in one pass over the similarity matrix."""
        n, m = len(self.source), len(self.target)
        lists = Lists.empty(n, self.forward_width), Lists.empty(m, self.backward_width)
        # Progress is counted in rows of both sides: each matrix cell counts as this share of a row.
        weight = self.total / max(1, n * m)
        for t in range(0, m, self.block):
            for s in range(0, n, self.block):
                s_end, t_end = min(n, s + self.block), min(m, t + self.block)
                self._merge(s, s_end, t, t_end, lists)
                self._advance((s_end - s) * (t_end - t) * weight)
        self.held.clear()
        return lists

    def _merge(self, s: int, s_end: int, t: int, t_end: int, lists: tuple[Lists, Lists]) -> None:
        """Merge a block, cut into quarters if memory runs out."""
        if self._fits(s, s_end, t, t_end, lists):
            return
        # Candidates merged before memory ran out are merged again, which changes nothing.
        s_half, t_half = (s + s_end + 1) // 2, (t + t_end + 1) // 2
        for part in ((s, s_half), (s_half, s_end)):
            for other in ((t, t_half), (t_half, t_end)):
                if part[0] < part[1] and other[0] < other[1]:
                    self._merge(*part, *other, lists)

    def _fits(self, s: int, s_end: int, t: int, t_end: int, lists: tuple[Lists, Lists]) -> bool:
        """Merge a block. Returns False, with all held blocks freed, if memory ran out."""
        try:
            rows = self._prepared(self.source, s, s_end, columns=False)
            columns = self._prepared(self.target, t, t_end, columns=True)
            self.engine.merge(rows, s, columns, t, lists)
        except MemoryError as error:
            if max(s_end - s, t_end - t) <= LEAST_BLOCK:
                raise ResourceError(
                    f"out of memory in a block of {s_end - s} x {t_end - t} sentences; free some, "
                    "give less --memory, or --device cpu"
                ) from error
            self.held.clear()
            self.spare = 0  # holding another block would run out of memory again
            return False
        return True

    def _prepared(self, side: VectorSet, start: int, end: int, *, columns: bool) -> Any:
        """Return a block prepared for the engine.

        Every block of columns meets all blocks of rows: rows are held as memory allows, columns one
        block at a time.
        """
        key = (columns, start, end)
        if key in self.held:
            return self.held[key]
        if columns:  # free the previous block first, so that only one is in memory
            self.held = {old: kept for old, kept in self.held.items() if not old[0]}
        prepared = self.engine.prepare(side.block(start, end), columns=columns)
        if columns:
            self.held[key] = prepared
        else:
            size = (end - start) * self.engine.bytes_per_row(side.vectors.shape[1])
            if size <= self.spare:
                self.spare -= size
                self.held[key] = prepared
        return prepared

    def _advance(self, rows: float) -> None:
        self.done += rows
        self.report("searching", round(self.done), self.total)


def use_threads(threads: int, engine: Engine) -> None:
    """Set the thread counts of compiled loops and, for its engines, of FAISS."""
    if isinstance(engine, FaissEngine | FaissGpuEngine):
        faiss.use_threads(threads)
    use_loop_threads(threads)
