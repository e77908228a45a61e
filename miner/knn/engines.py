"""Search engines: each merges blocks of the similarity matrix into the lists of both sides.

:class:`Int8Engine` and :class:`Float32Engine` are the fused engine on processors: one product
serves both directions. :class:`FaissEngine` searches each block twice, once for each direction.
Engines for GPUs are in :mod:`miner.knn.gpu_engines`. Each engine rounds similarities in its own
way; :mod:`miner.knn.refine` rescores the candidates exactly.
"""

import math
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from miner.device import resolve_device, torch_gpus
from miner.errors import DependencyError, ResourceError
from miner.index import faiss
from miner.knn.lists import Lists
from miner.knn.matrix_threads import Strip, run_crosswise, run_strips, strips_per_side
from miner.knn.vector_set import VectorSet
from miner.libraries import has_driver
from miner.machine import blas

# Rows and columns of a product of the float32 engine: the block stays in a shared cache.
PRODUCT_SIZE = 1024
# Standard deviations within which the error of an int8 similarity is assumed to stay.
DEVIATIONS = 5.0
# Share of vectors whose int8 steps may exceed the step assumed by the error bound; size of the
# sample that measures it; number of its vectors in memory at a time.
WIDER = 0.001
SAMPLED, SAMPLED_AT_ONCE = 8192, 256

ErrorBound = Callable[[np.ndarray], float | np.ndarray]
Ranked = tuple[np.ndarray, np.ndarray]


class Engine(Protocol):
    """Protocol of the search engines.

    ``name`` identifies the engine in a checkpoint. ``slack`` is the number of candidates kept
    beyond k, among which exact scores choose; ``threads`` are threads of the processor.
    """

    name: str
    slack: int
    threads: int

    def error_bound(self, base: VectorSet) -> ErrorBound:
        """Return a function that bounds the errors of similarities to rows of ``base``.

        It takes queries ``(b, d)`` and returns one bound for all, or a bound per query, ``(b,)``.
        """

    def bytes_per_row(self, dimension: int) -> int:
        """Return the bytes that a row of a prepared block takes."""

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        """Convert ``vectors (b, d)``, float16 or float32, to the input format of :meth:`merge`."""

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        """Merge the block of ``rows`` from position ``s`` by ``columns`` from ``t``.

        After MemoryError the same block can be merged again in smaller parts without a candidate
        being listed twice.
        """


def choose_engine(engine: str, exact: bool, threads: int) -> Engine:
    """Return the CPU engine of the name ``engine``.

    ``fused`` is the int8 engine, or the float32 engine if ``exact`` or without AVX2.
    """
    if engine == "faiss":
        return FaissEngine(threads)
    from miner.kernels.library import GENERIC, level

    return Int8Engine(threads) if level() != GENERIC and not exact else Float32Engine(threads)


def search_device(device: str, engine: str, exact: bool = False) -> str:
    """Resolve ``auto`` to ``cuda`` or ``cpu``; return other names unchanged.

    Raises ResourceError for a missing device, and for settings that the hybrid engine does not
    support.
    """
    if engine == "hybrid":
        if exact:
            raise ResourceError("--engine hybrid is not exact; leave out either it or --exact")
        if device.startswith("cuda"):
            raise ResourceError(f"--engine hybrid runs on processors; leave out --device {device}")
        return "cpu"
    if engine == "faiss":
        return resolve_device(device, faiss.gpu_count, "FAISS")
    if device == "auto" and not has_driver():
        return "cpu"  # avoids loading a library to find out
    return resolve_device(device, _gpu_count, "torch or FAISS")


def _gpu_count() -> int:
    """Count the GPUs that torch or FAISS can use. Raises DependencyError if both are missing."""
    try:
        gpus = torch_gpus()
    except DependencyError:
        gpus = 0
    try:
        return max(gpus, faiss.gpu_count())
    except DependencyError:
        if gpus:
            return gpus
        raise


class Int8Engine:
    """Integer products of vectors rounded to int8 (:mod:`miner.kernels.fused`).

    The rounding of a component is close to uniform within one step. So the error of a similarity of
    unit vectors has a standard deviation of ``sqrt((s² + t²) / 12)``, with ``s`` and ``t`` the step
    sizes of both vectors; :meth:`error_bound` is a multiple of it.
    """

    name = "int8"
    slack = 12

    def __init__(self, threads: int):
        self.threads = threads

    def error_bound(self, base: VectorSet) -> ErrorBound:
        sample = base.sample(SAMPLED)
        parts = np.array_split(sample, -(-len(sample) // SAMPLED_AT_ONCE))
        steps = np.concatenate([_steps(base.take(part)) for part in parts])
        position = int((1 - WIDER) * (len(steps) - 1))
        widest = float(np.partition(steps, position)[position])
        return lambda queries: DEVIATIONS * np.sqrt((_steps(queries) ** 2 + widest**2) / 12)

    def bytes_per_row(self, dimension: int) -> int:
        return 5 * dimension + 12

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        from miner.kernels.fused import UP, empty_pack

        pack = empty_pack(*vectors.shape, columns=columns)
        up = UP if columns else 0
        round_int8(vectors, pack.tiles, up, pack.scale, pack.correction, self.threads)
        return pack

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        where = (
            np.arange(s, s + rows.count, dtype=np.int32),
            np.arange(t, t + columns.count, dtype=np.int32),
        )
        self.merge_places(rows, where[0], columns, where[1], lists)

    def merge_places(
        self,
        rows: Any,
        s: np.ndarray,
        columns: Any,
        t: np.ndarray,
        lists: tuple[Lists, Lists],
    ) -> None:
        """Merge a block as :meth:`merge` does, of vectors at any positions of their sides.

        ``s (a,) int32`` and ``t (b,) int32`` are the positions of the rows and of the columns.
        """
        from miner.kernels.fused import merge

        arrays = (*lists[0].arrays, *lists[1].arrays)

        def work(row_tiles: Strip, column_tiles: Strip) -> None:
            merge(rows, s, columns, t, row_tiles, column_tiles, arrays)

        run_crosswise(len(rows.tiles), len(columns.tiles), self.threads, work)


class Float32Engine:
    """float32 products by numpy's BLAS, limited to one BLAS thread in each of our threads."""

    name = "float32"
    slack = 4

    def __init__(self, threads: int):
        self.threads = threads

    def error_bound(self, base: VectorSet) -> ErrorBound:
        return float32_bound

    def bytes_per_row(self, dimension: int) -> int:
        return 4 * dimension + 4 * PRODUCT_SIZE

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        return vectors.astype(np.float32, copy=False)

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        from miner.kernels.blocks import merge_block

        arrays = (*lists[0].arrays, *lists[1].arrays)

        # All memory is allocated here, before the first merge: a product of another shape may be
        # rounded differently, so that a pair merged again would be listed twice.
        buffers: SimpleQueue[np.ndarray] = SimpleQueue()
        number = strips_per_side(self.threads)
        size = math.prod(min(PRODUCT_SIZE, -(-len(side) // number)) for side in (rows, columns))
        for _ in range(self.threads):
            buffers.put(np.empty(size, np.float32))

        def work(row_strip: Strip, column_strip: Strip) -> None:
            buffer = buffers.get()
            for i in range(*row_strip, PRODUCT_SIZE):
                left = rows[i : min(i + PRODUCT_SIZE, row_strip[1])]  # (a, d)
                for j in range(*column_strip, PRODUCT_SIZE):
                    right = columns[j : min(j + PRODUCT_SIZE, column_strip[1])]  # (b, d)
                    block = buffer[: len(left) * len(right)].reshape(len(left), len(right))
                    np.matmul(left, right.T, out=block)
                    merge_block(block, s + i, t + j, *arrays)
            buffers.put(buffer)

        with blas().limit(limits=1):
            run_crosswise(len(rows), len(columns), self.threads, work)


class FaissEngine(Float32Engine):
    """FAISS's exhaustive search of float32 vectors, once for each direction."""

    name = "faiss"

    def bytes_per_row(self, dimension: int) -> int:
        return 4 * dimension

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        # Both directions are searched before either is stored, which allocates nothing: after
        # MemoryError the block is repeated in parts, whose similarities may be rounded differently,
        # so that a candidate would be listed twice.
        forward, backward = lists
        ahead = self.search(rows, columns, t, forward.width)
        back = self.search(columns, rows, s, backward.width)
        forward.merge(s, *ahead)
        backward.merge(t, *back)

    def search(self, queries: np.ndarray, base: np.ndarray, first: int, width: int) -> Ranked:
        """Search one direction. ``first`` is the position of the first row of ``base``.

        Returns similarities float32 and positions int32, both ``(n, min(width, len(base)))``, which
        lists take without a copy.
        """
        width = min(width, len(base))
        similarity, position = faiss.flat_search(queries, base, width)
        return np.ascontiguousarray(similarity), (position + first).astype(np.int32)


def round_int8(
    vectors: np.ndarray,
    tiles: np.ndarray,
    up: int,
    scale: np.ndarray,
    correction: np.ndarray,
    threads: int,
) -> None:
    """Round ``vectors (b, d)`` to int8 as :func:`miner.kernels.fused.quantise` does, by threads."""
    from miner.kernels.exact import bits
    from miner.kernels.fused import quantise

    numbers = bits(vectors)

    def work(first: int, last: int) -> None:
        quantise(numbers, tiles, up, scale, correction, first, last)

    run_strips(len(tiles), threads, work)


def float32_bound(queries: np.ndarray) -> float:
    """Return a bound on the error of float32 products with unit vectors, with a safety factor of
    four.

    The sum of d products in any order is off by at most ``d 2^-24`` (Higham 2002, section 3.1).
    """
    return 4 * queries.shape[1] * 2.0**-24


def _steps(vectors: np.ndarray) -> np.ndarray:
    """Return the int8 step size of each of ``vectors (b, d)``: ``(b,) float32``."""
    from miner.kernels.exact import bits
    from miner.kernels.fused import step_sizes

    steps = np.empty(len(vectors), np.float32)
    step_sizes(bits(vectors), steps)
    return steps
