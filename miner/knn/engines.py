"""What multiplies blocks of vectors and keeps the best of every row and every column.

Each engine merges one block of the similarity matrix at a time into the running lists of both
sides. ``Bytes`` and ``Floats`` are the fused engine on processors, ``Cuda`` the one on GPUs, and
``Faiss`` searches each block twice, once for each direction. The similarities they keep are their
own; :mod:`miner.knn.knn_search` scores what was kept again.
"""

import importlib
import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from miner.encoder import gpu
from miner.errors import DependencyError
from miner.index import faiss

# Rows and columns of one product of the float32 engine: the block stays in a shared cache.
PART = 1024


@dataclass(frozen=True)
class Lists:
    """Running candidates of n rows: ``similarity (n, w) float32`` and ``position (n, w) int32``.

    By similarity descending, then position; empty places are -inf and -1. ``least (n,) float32`` is
    the last similarity of each list.
    """

    similarity: np.ndarray
    position: np.ndarray
    least: np.ndarray

    @classmethod
    def empty(cls, size: int, width: int) -> "Lists":
        return cls(
            np.full((size, width), -np.inf, dtype=np.float32),
            np.full((size, width), -1, dtype=np.int32),
            np.full(size, -np.inf, dtype=np.float32),
        )

    @property
    def width(self) -> int:
        return self.position.shape[1]

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.similarity, self.position, self.least

    def merged(
        self, start: int, similarity: np.ndarray, position: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The lists of the rows from ``start`` and more candidates of theirs, best first."""
        part = slice(start, start + len(similarity))
        values = np.concatenate([self.similarity[part], similarity], axis=1)
        places = np.concatenate([self.position[part], position], axis=1)
        order = np.lexsort((places, -values), axis=1)[:, : self.position.shape[1]]
        return np.take_along_axis(values, order, axis=1), np.take_along_axis(places, order, axis=1)

    def put(self, start: int, similarity: np.ndarray, position: np.ndarray) -> None:
        """Replace the lists of the rows from ``start``; takes no memory."""
        part = slice(start, start + len(similarity))
        self.similarity[part] = similarity
        self.position[part] = position
        self.least[part] = similarity[:, -1]

    def merge(self, start: int, similarity: np.ndarray, position: np.ndarray) -> None:
        """Put candidates of the rows from ``start`` in; the order of merges does not matter."""
        self.put(start, *self.merged(start, similarity, position))


class Engine(Protocol):
    """Merges blocks into lists.

    ``name`` tells states on disk apart; ``slack`` are the neighbours to keep beyond k, to be sorted
    out by exact scores; ``rounding`` is the most by which a similarity of unit vectors may be off,
    None where only chance bounds it. ``exhausted`` are the errors, beside MemoryError, that mean
    that memory ran out. ``bytes_per_row`` is what a row of a block takes when prepared.
    """

    name: str
    slack: int
    exhausted: tuple[type[Exception], ...]

    def rounding(self, dimension: int) -> float | None: ...

    def bytes_per_row(self, dimension: int) -> int: ...

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        """``vectors (b, d)``, float16 or float32, in the form that :meth:`merge` takes."""

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        """Merge the block of ``rows`` from ``s`` and ``columns`` from ``t``.

        After MemoryError, or what is ``exhausted``, the lists are such that the block can be merged
        again, in parts.
        """

    def flush(self, lists: tuple[Lists, Lists]) -> None:
        """Bring the lists up to date, where they are kept elsewhere meanwhile."""


def choose(engine: str, device: str, exact: bool, threads: int) -> Engine:
    """The engine of that name for that device, which is ``cpu`` or ``cuda``.

    The fused engine on processors without AVX2 is the float32 one, as it is everywhere when
    ``exact``.
    """
    if engine == "faiss":
        return Faiss(device)
    if device == "cuda":
        return Cuda()
    from miner.kernels.tile import has_avx2

    return Bytes(threads) if has_avx2() and not exact else Floats(threads)


def resolve_device(device: str, engine: str) -> str:
    """``auto`` to ``cuda`` or ``cpu``; asking for what there is not is a ResourceError."""
    return faiss.resolve_device(device) if engine == "faiss" else gpu.resolve_device(device)


class Bytes:
    """Integer products of vectors rounded to bytes (:mod:`miner.kernels.fused`)."""

    name = "bytes"
    slack = 12
    exhausted: tuple[type[Exception], ...] = ()

    def __init__(self, threads: int):
        self.threads = threads

    def rounding(self, dimension: int) -> float | None:
        return None

    def bytes_per_row(self, dimension: int) -> int:
        return 5 * dimension + 12

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        from miner.kernels.fused import UP, empty_pack, quantise
        from miner.kernels.half import bits

        made = empty_pack(*vectors.shape, columns=columns)
        numbers = bits(vectors)
        up = UP if columns else 0

        def work(start: int, end: int) -> None:
            quantise(numbers, made.tiles, up, made.scale, made.correction, start, end)

        parts = strips(len(made.tiles), self.threads)
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(lambda part: work(*part), parts))
        return made

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        from miner.kernels.fused import merge

        arrays = (*lists[0].arrays, *lists[1].arrays)

        def work(part: tuple[int, int], other: tuple[int, int]) -> None:
            merge(
                rows.tiles, rows.scale, rows.correction, rows.count,
                columns.tiles, columns.scale, columns.count, *part, *other, s, t, *arrays,
            )  # fmt: skip

        crosswise(len(rows.tiles), len(columns.tiles), self.threads, work)

    def flush(self, lists: tuple[Lists, Lists]) -> None:
        pass


class Floats:
    """float32 products by the BLAS of numpy, one of its threads in each of ours."""

    name = "floats"
    slack = 4
    exhausted: tuple[type[Exception], ...] = ()

    def __init__(self, threads: int):
        self.threads = threads

    def rounding(self, dimension: int) -> float | None:
        return rounding_of_floats(dimension)

    def bytes_per_row(self, dimension: int) -> int:
        return 4 * dimension + 4 * PART

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        return vectors.astype(np.float32, copy=False)

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        from threadpoolctl import threadpool_limits

        from miner.kernels.blocks import merge_block

        arrays = (*lists[0].arrays, *lists[1].arrays)

        # Memory runs out here or not at all: a product of another shape may be rounded otherwise,
        # so that the same pair would be in a list twice.
        free: SimpleQueue[np.ndarray] = SimpleQueue()
        sides = (min(PART, -(-len(side) // cuts(self.threads))) for side in (rows, columns))
        size = math.prod(sides)
        for _ in range(self.threads):
            free.put(np.empty(size, np.float32))

        def work(part: tuple[int, int], other: tuple[int, int]) -> None:
            room = free.get()
            for i in range(*part, PART):
                left = rows[i : min(i + PART, part[1])]
                for j in range(*other, PART):
                    right = columns[j : min(j + PART, other[1])]
                    block = room[: len(left) * len(right)].reshape(len(left), len(right))
                    np.matmul(left, right.T, out=block)
                    merge_block(block, s + i, t + j, *arrays)
            free.put(room)

        with threadpool_limits(1):
            crosswise(len(rows), len(columns), self.threads, work)

    def flush(self, lists: tuple[Lists, Lists]) -> None:
        pass


class Faiss:
    """FAISS's brute force, once for each direction."""

    slack = 4
    exhausted: tuple[type[Exception], ...] = ()

    def __init__(self, device: str):
        self.device = device
        self.name = "faiss"

    def rounding(self, dimension: int) -> float | None:
        return rounding_of_floats(dimension)

    def bytes_per_row(self, dimension: int) -> int:
        return 4 * dimension

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        return vectors.astype(np.float32, copy=False)

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        # Both directions or none: after MemoryError the block comes again, and would be in twice.
        made = [
            (into, start, into.merged(start, *self.search(queries, base, first, into.width)))
            for queries, start, base, first, into in (
                (rows, s, columns, t, lists[0]),
                (columns, t, rows, s, lists[1]),
            )
        ]
        for into, start, better in made:
            into.put(start, *better)

    def search(
        self, queries: np.ndarray, base: np.ndarray, first: int, width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """One direction: similarities and positions, of which the first is ``first``."""
        width = min(width, len(base))
        similarity, position = faiss.flat_search(queries, base, width, self.device)
        return similarity, position + first

    def flush(self, lists: tuple[Lists, Lists]) -> None:
        pass


class Cuda:
    """Thresholds on a GPU (:mod:`miner.kernels.fused_cuda`); the lists stay there meanwhile."""

    name = "cuda"
    slack = 4

    def __init__(self, device: str = "cuda"):
        self.device = device
        self.kernels = cuda_kernels()
        self.exhausted: tuple[type[Exception], ...] = (self.kernels.OutOfMemory,)
        self.lists: tuple[Any, Any] | None = None

    def rounding(self, dimension: int) -> float | None:
        return rounding_of_floats(dimension)

    def bytes_per_row(self, dimension: int) -> int:
        return 4 * dimension

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        return self.kernels.upload(vectors, self.device)

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        if self.lists is None:
            self.lists = tuple(
                self.kernels.DeviceLists.of(part.similarity, part.position, self.device)
                for part in lists
            )
        self.kernels.merge_block(rows, s, columns, t, *self.lists)

    def flush(self, lists: tuple[Lists, Lists]) -> None:
        for part, there in zip(lists, self.lists or (), strict=False):
            part.similarity[:], part.position[:] = there.numpy()
            part.least[:] = part.similarity[:, -1]


def cuda_kernels() -> Any:
    """The kernels for GPUs; DependencyError without torch."""
    try:
        return importlib.import_module("miner.kernels.fused_cuda")
    except ImportError as error:
        raise DependencyError(
            f'torch is not usable ({error}); run: pip install "bitext-miner[gpu]"'
        ) from None


def rounding_of_floats(dimension: int) -> float:
    """The most by which a float32 product of two unit vectors may be off, with room to spare."""
    return 4 * dimension * 2.0**-24


def strips(size: int, number: int) -> list[tuple[int, int]]:
    """``size`` cut into at most ``number`` parts of nearly one length, none of them empty."""
    number = max(1, min(number, size))
    edges = [size * part // number for part in range(number + 1)]
    return list(zip(edges, edges[1:], strict=False))


def cuts(threads: int) -> int:
    """Strips of either side: a few more than threads let one go on where another is late."""
    return 1 if threads == 1 else threads + max(1, threads // 2)


def crosswise(
    rows: int,
    columns: int,
    threads: int,
    work: Callable[[tuple[int, int], tuple[int, int]], None],
) -> None:
    """Call ``work(strip of rows, strip of columns)`` for all of a matrix, on several threads.

    No two calls at a time share a row or a column, so that both lists can be changed in place.
    """
    number = cuts(threads)
    waiting = {
        (part, other): None for part in strips(rows, number) for other in strips(columns, number)
    }
    busy: set[tuple[str, tuple[int, int]]] = set()
    change = threading.Condition()
    failed = False

    def worker() -> None:
        nonlocal failed
        while True:
            with change:
                while True:
                    if failed or not waiting:
                        return
                    job = next(
                        (
                            (part, other)
                            for part, other in waiting
                            if ("row", part) not in busy and ("column", other) not in busy
                        ),
                        None,
                    )
                    if job is not None:
                        break
                    change.wait()
                del waiting[job]
                busy.update({("row", job[0]), ("column", job[1])})
            try:
                work(*job)
            except BaseException:
                failed = True
                raise
            finally:
                with change:
                    busy.difference_update({("row", job[0]), ("column", job[1])})
                    change.notify_all()

    if threads == 1:
        worker()
        return
    with ThreadPoolExecutor(threads) as pool:
        for future in [pool.submit(worker) for _ in range(threads)]:
            future.result()
