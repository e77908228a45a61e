"""What this machine has: threads, memory, speed."""

import os
import time

from miner.errors import ResourceError


def thread_count(threads: int | None = None) -> int:
    """``threads``, or as many as this process may use (its affinity mask counts)."""
    if threads is not None:
        return max(1, threads)
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def memory_budget(text: str | int | None = None) -> int:
    """Bytes that a search may use: ``512M``, ``8G`` and the like; by default half of what is free.

    Raises ValueError for a text that is not a size, ResourceError for one below 64 MiB.
    """
    if text is None:
        import psutil

        return psutil.virtual_memory().available // 2
    size = parse_size(text) if isinstance(text, str) else int(text)
    if size < 64 << 20:
        raise ResourceError(f"--memory {text}: too little to search in; give at least 64M")
    return size


def parse_size(text: str) -> int:
    """``1024``, ``512M``, ``8G``, ``8GB`` or ``8GiB`` to bytes (units are powers of 1024)."""
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    shift = units.get(number[-1:], 0)
    value = float(number[:-1] if shift else number)
    if not 0 < value < float("inf"):
        raise ValueError(f"not a size: {text!r}")
    return int(value * (1 << shift))


def matrix_peak() -> float:
    """Operations a second of a float32 matrix product, measured in some 50 ms on all cores."""
    import numpy as np

    matrix = np.ones((1024, 1024), dtype=np.float32)
    best = 0.0
    for _ in range(4):
        begun = time.perf_counter()
        matrix @ matrix
        best = max(best, 2 * 1024**3 / (time.perf_counter() - begun))
    return best
