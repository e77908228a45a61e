"""Search engines on GPUs: blocks are in device memory, rounded to float16.

:class:`TorchEngine` computes one product for both directions, :class:`FaissGpuEngine` searches
twice; :mod:`miner.knn.gpu_check` measures which is faster. With several GPUs each has a shard of
the columns. As after int8, exact scores rank the candidates, and rows left in doubt by the rounding
are searched again in float32.
"""

import getpass
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from miner.device import gpu_errors, gpu_ids, import_torch, torch_gpus
from miner.index import faiss
from miner.knn.engines import ErrorBound, float32_bound
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet

try:
    import fcntl
except ImportError:  # Windows, where processes do not wait
    fcntl = None  # type: ignore[assignment]

# Share of the free device memory that a search uses, and the bytes assumed to be free if neither
# nvidia-smi nor torch reports it.
SHARE, ASSUMED = 0.8, 2 << 30
# Maximum rows of a block, and bytes of device memory per similarity while the best are selected:
# the float16 product, its copy in topk, and the order.
LARGEST, CELL = 1 << 22, 8
# Bytes of the page-locked buffer through which vectors are copied.
STAGE = 64 << 20
# Bound on the error of rounding to float16: 2^-11 for each of the two vectors and for the product,
# all of at most unit length, and a margin for double rounding.
HALF = 2.0**-9


def half_bound(queries: np.ndarray) -> float:
    """Return a bound on the error of products of unit vectors in float16, summed in float32."""
    return HALF + float32_bound(queries)


class GpuEngine:
    """Base of both engines. ``device`` is ``cuda``, all GPUs, or ``cuda:N``.

    ``gpus``: their numbers, if already known.
    """

    name = ""
    slack = 12
    # Bytes per row and dimension of a prepared block.
    width = 2

    def __init__(self, device: str, threads: int, gpus: list[int] | None = None):
        self.device, self.threads, self._gpus = device, threads, gpus
        self.products = ASSUMED // 4

    @property
    def gpus(self) -> list[int]:
        """Numbers of the GPUs; counted on first use, which may be on another machine."""
        if self._gpus is None:
            self._gpus = gpu_ids(self.device, self._count())
        return self._gpus

    def _count(self) -> int:
        """Count the GPUs that the library sees."""
        raise NotImplementedError

    def error_bound(self, base: VectorSet) -> ErrorBound:
        return half_bound

    def bytes_per_row(self, dimension: int) -> int:
        return self.width * dimension

    @contextmanager
    def opened(self, dimension: int) -> Iterator[tuple[int, int]]:
        """Hold the GPUs during the block: processes that share them take turns.

        Yields the maximum rows of a block, and the bytes of blocks that may be held: a quarter of
        the planned memory is for a block of columns, a quarter for products, the rest for rows.
        """
        with gpu_turn():
            free = int(SHARE * min(map(free_memory, self.gpus)))
            rows = max(1, free // 4 // self.bytes_per_row(dimension))
            self.products = free // 4
            try:
                yield min(LARGEST, rows), free // 2
            finally:
                self.release()

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        raise NotImplementedError

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        raise NotImplementedError

    def release(self) -> None:
        """Release the cached device memory."""


class FaissGpuEngine(GpuEngine):
    """FAISS's exhaustive search, once for each direction."""

    name = "faiss"
    width = 4  # host copies, the queries of the other direction; the index takes half

    def _count(self) -> int:
        return faiss.gpu_count()

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        floats = np.ascontiguousarray(vectors, np.float32)
        return floats, faiss.flat_on_gpus(floats, self.gpus)

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        # Both directions are searched before either is stored, as by FaissEngine.
        results = [
            _searched(queries, index, candidates.width)
            for (queries, _), (_, index), candidates in (
                (rows, columns, lists[0]),
                (columns, rows, lists[1]),
            )
        ]
        lists[0].merge(s, results[0][0], results[0][1] + t)
        lists[1].merge(t, results[1][0], results[1][1] + s)


def _searched(queries: np.ndarray, index: Any, width: int) -> tuple[np.ndarray, np.ndarray]:
    with gpu_errors():
        similarity, position = index.search(queries, min(width, index.ntotal))
    return np.ascontiguousarray(similarity), position.astype(np.int32)


class TorchEngine(GpuEngine):
    """Engine with one float16 product for both directions, and topk along its rows and columns."""

    name = "torch"

    def _count(self) -> int:
        return torch_gpus()

    @property
    def places(self) -> list[str]:
        """Names of the devices in torch."""
        return [f"cuda:{gpu}" for gpu in self.gpus]

    def release(self) -> None:
        import_torch().cuda.empty_cache()

    def prepare(self, vectors: np.ndarray, *, columns: bool) -> Any:
        """Copy a block to the devices: columns in shards, rows whole. Returns a tensor for each
        device.
        """
        places, half = self.places, np.ascontiguousarray(vectors, np.float16)
        parts = np.array_split(half, len(places)) if columns else [half] * len(places)
        return [_copied(part, device) for part, device in zip(parts, places, strict=True)]

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        # All shards are computed before any is stored: after MemoryError the block is repeated in
        # parts, whose similarities may be rounded differently.
        with gpu_errors(), import_torch().inference_mode():
            shards = [
                self._topk(left, right, lists[0].width, lists[1].width)
                for left, right in zip(rows, columns, strict=True)
                if len(right)
            ]  # launched on all devices before waiting for any result
            on_cpu = [tuple(part.cpu().numpy() for part in shard) for shard in shards]
        first = t
        for ahead, column, back, row in on_cpu:
            lists[0].merge(s, ahead.astype(np.float32), column + first)
            lists[1].merge(first, back.astype(np.float32), row + s)
            first += len(back)

    def _topk(self, left: Any, right: Any, ahead: int, back: int) -> tuple[Any, Any, Any, Any]:
        """Return the best similarities and positions of each row, then of each column.

        ``left (n, d)`` and ``right (m, d)`` are float16: ``(n, w)``, ``(n, w)``, ``(m, v)``, ``(m,
        v)``.
        """
        torch = import_torch()
        tile = max(1, min(len(left), self.products // (CELL * len(right))))
        of_rows: list[tuple[Any, Any]] = []
        best = best_rows = None
        for start in range(0, len(left), tile):
            product = left[start : start + tile] @ right.T  # (tile, m)
            values, columns = product.topk(min(ahead, len(right)), dim=1)
            of_rows.append((values, columns.int()))
            values, rows = product.topk(min(back, len(product)), dim=0)
            rows = rows.int() + start
            if best is not None:
                values, rows = torch.cat([best, values]), torch.cat([best_rows, rows])
                values, order = values.topk(min(back, len(values)), dim=0)
                rows = rows.gather(0, order)
            best, best_rows = values, rows
        assert best is not None and best_rows is not None
        values, columns = (torch.cat(parts) for parts in zip(*of_rows, strict=True))
        return values, columns, best.T, best_rows.T


def _copied(vectors: np.ndarray, place: str) -> Any:
    """Copy ``(n, d) float16`` to a device, through page-locked memory where it is a GPU."""
    torch = import_torch()
    with gpu_errors():
        # Sums in float16 would exceed the error bound.
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
        out = torch.empty(vectors.shape, dtype=torch.float16, device=place)
        step = max(1, STAGE // max(1, 2 * vectors.shape[1]))
        for start in range(0, len(vectors), step):
            part = torch.from_numpy(vectors[start : start + step])
            if out.is_cuda:
                part = part.pin_memory()
            out[start : start + step].copy_(part, non_blocking=True)
    return out


def free_memory(gpu: int) -> int:
    """Return the free memory of a GPU in bytes, from nvidia-smi, or from torch if it is loaded."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    try:
        name = visible.split(",")[gpu] if visible else str(gpu)
        query = ["nvidia-smi", f"--id={name}", "--query-gpu=memory.free", "--format=csv,noheader"]
        said = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True).stdout
        return int(said.split()[0]) << 20  # "79000 MiB"
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        pass
    try:
        return int(sys.modules["torch"].cuda.mem_get_info(gpu)[0])
    except (KeyError, RuntimeError, AssertionError):  # torch without CUDA
        return ASSUMED


@contextmanager
def gpu_turn() -> Iterator[None]:
    """Hold the GPUs of this machine during the block: other processes of this user wait.

    The system frees the lock of a process that dies.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "all")
    name = hashlib.sha256(f"{getpass.getuser()} {visible}".encode()).hexdigest()[:16]
    with open(Path(tempfile.gettempdir(), f"bitext-miner-gpu-{name}.lock"), "ab") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
