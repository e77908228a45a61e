"""Threads, memory and speed of this machine. Libraries are imported on demand."""

import math
import mmap
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miner.errors import ResourceError, reason
from miner.limits import address_space_left, cpu_quota, memory_left

if TYPE_CHECKING:
    import numpy as np


# Maximum threads per core: hundreds on two cores only wait for each other.
PER_CORE = 4
# Minimum bytes of memory for a search.
LEAST_MEMORY = 64 << 20
# Linux's account of its memory, and the fields of what is free and of all of it, in KiB.
_MEMINFO, _AVAILABLE = Path("/proc/meminfo"), ("MemAvailable", "MemTotal")


def thread_count(threads: int | None = None) -> int:
    """Return ``threads``, by default the number of cores that this process may use.

    It is the number of cores in its affinity mask, or the CPU quota of its control groups, rounded
    up, if that is less. There are at most ``PER_CORE`` threads for each.
    """
    cores = _usable_cores()
    return cores if threads is None else min(max(1, threads), PER_CORE * cores)


@cache
def _usable_cores() -> int:
    """Cores of this process, cached because compiled loops ask at each call."""
    return max(1, math.ceil(min(_cores(), cpu_quota())))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def keep_libraries_to_quota() -> None:
    """Limit the threads that BLAS and OpenMP start to the CPU quota, unless the user set them.

    They count the cores of the affinity mask when they load, so this call must come first.
    """
    if cpu_quota() < _cores():
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, str(_usable_cores()))


@cache
def blas() -> Any:
    """Return threadpoolctl's controller of numpy's BLAS, cached because it takes 2 ms to find."""
    import numpy  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def memory_budget(text: str | int | None = None) -> int:
    """Return the bytes that a search may use; by default half of the free memory.

    ``text`` is a size as for :func:`parse_size`. Raises ValueError for a text that is not a size,
    ResourceError for a size below 64 MiB, or if the free memory is unknown.
    """
    if text is None:
        return free_memory() // 2
    size = parse_size(text) if isinstance(text, str) else int(text)
    if size < LEAST_MEMORY:
        raise ResourceError(f"--memory {text}: too little to search in; give at least 64M")
    return size


def free_memory() -> int:
    """Return the bytes available to this process: free memory of the machine, within its limits.

    Limits are set by control groups, as for containers, and by ``ulimit``. Raises ResourceError if
    the system does not report them.
    """
    return int(min(machine_memory()[0], memory_left()[0], address_space_left()))


def machine_memory() -> tuple[int, int]:
    """Return the free and the total memory of this machine in bytes.

    Raises ResourceError if the system does not report them.
    """
    with suppress(OSError, ValueError, KeyError):  # importing psutil takes longer than most else
        fields = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        available, total = (int(fields[name].split()[0]) << 10 for name in _AVAILABLE)
        return min(available, total), total
    import psutil

    try:
        memory = psutil.virtual_memory()
        return memory.available, memory.total
    except (OSError, RuntimeError, ValueError, KeyError) as error:  # no /proc, or a hidden one
        with suppress(OSError, ValueError, AttributeError):
            page = os.sysconf("SC_PAGE_SIZE")
            return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page
        raise ResourceError(
            f"the free memory of this machine is not known ({reason(error)}); mount /proc, or "
            "give --memory where a command has it"
        ) from None


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
    """Reset the count of :func:`peak_memory`, if the system supports it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(process: int | str = "self") -> int:
    """Return the peak resident memory of a process in bytes; 0 if unknown."""
    with suppress(OSError, IndexError, ValueError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0
