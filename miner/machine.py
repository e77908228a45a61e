"""Threads, memory and speed of this machine. Libraries load when they are needed."""

import mmap
import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miner.errors import ResourceError

if TYPE_CHECKING:
    import numpy as np


def thread_count(threads: int | None = None) -> int:
    """Return ``threads``, by default the number of cores in the affinity mask of this process."""
    if threads is not None:
        return max(1, threads)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@cache
def blas() -> Any:
    """Return threadpoolctl's controller of numpy's BLAS, which takes 2 ms to find."""
    import numpy  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def memory_budget(text: str | int | None = None) -> int:
    """Return the memory that a search may use, in bytes; by default half of the free memory.

    ``text`` is a size as for :func:`parse_size`. Raises ValueError for a text that is not a size,
    ResourceError for a size below 64 MiB.
    """
    if text is None:
        import psutil

        return psutil.virtual_memory().available // 2
    size = parse_size(text) if isinstance(text, str) else int(text)
    if size < 64 << 20:
        raise ResourceError(f"--memory {text}: too little to search in; give at least 64M")
    return size


def parse_size(text: str) -> int:
    """Parse ``1024``, ``512M``, ``8G``, ``8GB`` or ``8GiB`` to bytes. Units are powers of 1024."""
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    shift = units.get(number[-1:], 0)
    value = float(number[:-1] if shift else number)
    if not 0 < value < float("inf"):
        raise ValueError(f"not a size: {text!r}")
    return int(value * (1 << shift))


def release_pages(array: "np.ndarray") -> None:
    """Drop the resident pages of an array that maps a file; they are read again when needed."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def reset_peak() -> None:
    """Let :func:`peak_memory` count from now on, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(process: int | str = "self") -> int:
    """Return the largest resident memory of a process so far, in bytes; 0 if unknown."""
    with suppress(OSError, IndexError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def matrix_peak() -> float:
    """Measure float32 matrix products on all cores, in some 50 ms: operations per second."""
    import numpy as np

    matrix = np.ones((1024, 1024), dtype=np.float32)
    best = 0.0
    for _ in range(4):
        begun = time.perf_counter()
        matrix @ matrix
        best = max(best, 2 * 1024**3 / (time.perf_counter() - begun))
    return best
