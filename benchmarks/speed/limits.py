"""Measure the peak rates of the machine, which limit the other measurements.

- Products of square matrices by torch, float32 and int8 (if torch has it), in operations a second:
  a multiplication with its addition counts as two.
- Copying 512 MiB in slices on all threads; bytes read and bytes written both count.
- Gathering random rows of 512 float32 (2 KiB) from a table that no cache holds (512 MiB), and from
  one with as many rows as the model that ships (66 MiB; those of the model are a quarter).

Best of a few runs in each round, median of the rounds.
"""

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.speed.process import Job, run

RUNS, ENOUGH = 5, 3.0
SIZE = 4096
ROW, TABLE, MODEL = 512, 262_144, 34_000
GATHERED = 400_000


def best(work: Callable[[], object]) -> float:
    """Return the seconds of the fastest of a few runs; fewer runs if they take long."""
    work()
    times: list[float] = []
    while len(times) < RUNS and sum(times) < ENOUGH:
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def job(threads: int) -> dict[str, Any]:
    """Measure all limits once."""
    import torch

    torch.set_num_threads(threads)
    generator = np.random.default_rng(1)
    left, right = (torch.rand(SIZE, SIZE) for _ in range(2))
    found = {"float32 products, GFLOP/s": 2 * SIZE**3 / best(lambda: left @ right) / 1e9}
    # The second factor is stored by columns, as in a search.
    size = SIZE // 2  # without fast code for the processor this takes seconds
    whole = [torch.randint(-127, 128, (size, size), dtype=torch.int8) for _ in range(2)]
    try:
        seconds = best(lambda: torch._int_mm(whole[0], whole[1].T))
        found["int8 products, GOP/s"] = 2 * size**3 / seconds / 1e9
    except RuntimeError as error:
        print(f"no int8 products: {error}", file=sys.stderr)

    table = generator.random((TABLE, ROW), dtype=np.float32)
    copy = np.zeros_like(table)
    with ThreadPoolExecutor(threads) as pool:

        def each(work: Callable[[int], object]) -> Callable[[], object]:
            return lambda: list(pool.map(work, range(threads)))

        parts = np.array_split(np.arange(TABLE), threads)
        slices = [slice(int(part[0]), int(part[-1]) + 1) for part in parts]
        seconds = best(each(lambda i: np.copyto(copy[slices[i]], table[slices[i]])))
        found["copying, GB/s"] = 2 * table.nbytes / seconds / 1e9
        rooms = [np.empty((1000, ROW), dtype=np.float32) for _ in range(threads)]
        for name, height in (("random rows, GB/s", TABLE), ("model's rows, GB/s", MODEL)):
            rows = generator.integers(0, height, (threads, GATHERED // threads // 1000, 1000))

            def gather(i: int, rows: np.ndarray = rows) -> None:
                for chosen in rows[i]:
                    np.take(table, chosen, axis=0, out=rooms[i], mode="clip")

            found[name] = rows.size * ROW * 4 / best(each(gather)) / 1e9
    return found


def measure(rounds: int, threads: int) -> dict[str, Any]:
    found = [run(Job("limits", "limits:job", {"threads": threads}), threads) for _ in range(rounds)]
    for one in found:
        if "failed" in one or "missing" in one:
            return one
    return {name: float(f"{statistics.median(r[name] for r in found):.4g}") for name in found[0]}
