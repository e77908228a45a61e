"""Check of GPU engines against the CPU, and choice of the fastest.

CUDA faults abort a process, so each engine first searches in a child process: a sample of both
sides, whose results must equal the CPU's except for rounding, then a larger block for timing. If no
engine passes, a warning says why and the CPU searches.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from miner.child import ChildError, call
from miner.device import gpu_ids, torch_gpus, warn_no_gpu
from miner.errors import DependencyError, MinerError, reason
from miner.index import faiss
from miner.knn.gpu_engines import FaissGpuEngine, GpuEngine, TorchEngine, half_bound
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet

ENGINES: dict[str, type[GpuEngine]] = {"torch": TorchEngine, "faiss": FaissGpuEngine}
# Rows and columns of the sample, length of its lists, and queries of a compressed index.
ROWS, COLUMNS, WIDTH, QUERIES = 96, 640, 8, 64
# Rows and columns of the timed block; timed runs, after a warm-up run; timeout of the child process
# in seconds.
TIMED, RUNS, PATIENCE = 16_384, 3, 180.0
# Tolerance of similarities, and share of a compressed index's similarities that must be within it:
# it rounds vectors, and may visit another cell at a tie.
TOLERANCE, AGREEING = 1e-3, 0.98


@dataclass(frozen=True)
class Trial:
    """Trial of an engine on a GPU: pairs of vectors compared per second, or its ``fault``."""

    engine: str
    pairs: float = 0.0
    fault: str = ""


def choose_gpu_engine(
    device: str, engine: str, threads: int, sides: tuple[VectorSet, VectorSet], places: int
) -> GpuEngine | None:
    """Return the fastest engine with right answers; warn and return None without one.

    ``engine`` may be ``faiss`` to try FAISS only. ``places`` is the length of the lists.
    """
    trials = [
        Trial(name, fault=f"lists of more than {faiss.MOST_ON_GPU:,}")
        if name == "faiss" and places > faiss.MOST_ON_GPU
        else try_engine(name, device, threads, sides)
        for name in usable_engines(device)
        if engine != "faiss" or name == "faiss"
    ]
    right = [trial for trial in trials if not trial.fault]
    if not right:
        faults = (f"{trial.engine}: {trial.fault}" for trial in trials)
        warn_no_gpu("the search", "; ".join(faults) or "no library for it is installed")
        return None
    best = max(right, key=lambda trial: trial.pairs)
    return ENGINES[best.engine](device, threads)


def usable_engines(device: str) -> list[str]:
    """Return the engines whose library is installed and sees the GPUs of ``device``."""
    engines = []
    for name, count in (("torch", torch_gpus), ("faiss", faiss.gpu_count)):
        try:
            gpus = count()
        except DependencyError:
            continue
        chosen = gpu_ids(device, gpus)
        if chosen and chosen[-1] < gpus:
            engines.append(name)
    return engines


def try_engine(engine: str, device: str, threads: int, sides: tuple[VectorSet, VectorSet]) -> Trial:
    """Search a sample of both sides in a child process, and compare it with the CPU's answer."""
    rows, columns = (
        side.take(side.sample(size)) for side, size in zip(sides, (ROWS, COLUMNS), strict=True)
    )
    if not len(rows) or not len(columns):
        return Trial(engine)
    with TemporaryDirectory() as directory:
        np.savez(f"{directory}/sample.npz", rows=rows, columns=columns)
        try:
            seconds = call(
                "miner.knn.gpu_check:search_in_child",
                PATIENCE,
                engine=engine,
                gpus=ENGINES[engine](device, threads).gpus,
                threads=threads,
                place=directory,
                timed=TIMED,
            )
            with np.load(f"{directory}/lists.npz") as file:
                fault = _difference(rows, columns, [dict(file)[name] for name in ("ahead", "back")])
        except ChildError as error:
            return Trial(engine, fault=str(error))
    return Trial(engine, fault=fault) if fault else Trial(engine, TIMED**2 / seconds)


def search_in_child(engine: str, gpus: list[int], threads: int, place: str, timed: int) -> float:
    """Search the sample in ``place``, write its lists there, and return the seconds per block."""
    with np.load(Path(place, "sample.npz")) as file:
        rows, columns = file["rows"], file["columns"]
    gpu_engine = ENGINES[engine]("cuda", threads, gpus)
    with gpu_engine.opened(rows.shape[1]):
        ahead, back = _lists(gpu_engine, rows, columns)
        np.savez(Path(place, "lists.npz"), ahead=ahead.position, back=back.position)
        block = np.random.default_rng(1).normal(size=(timed, rows.shape[1])).astype(np.float32)
        block /= np.linalg.norm(block, axis=1, keepdims=True)
        times = []
        for _ in range(1 + RUNS):
            began = time.perf_counter()
            _lists(gpu_engine, block, block)
            times.append(time.perf_counter() - began)
    return min(times[1:])


def _lists(engine: GpuEngine, rows: np.ndarray, columns: np.ndarray) -> tuple[Lists, Lists]:
    lists = (
        Lists.empty(len(rows), min(WIDTH, len(columns))),
        Lists.empty(len(columns), min(WIDTH, len(rows))),
    )
    prepared = engine.prepare(rows, columns=False), engine.prepare(columns, columns=True)
    engine.merge(prepared[0], 0, prepared[1], 0, lists)
    return lists


def _difference(rows: np.ndarray, columns: np.ndarray, lists: list[np.ndarray]) -> str:
    """Describe the first difference between lists of positions; "" if there is none."""
    exact = rows.astype(np.float64) @ columns.astype(np.float64).T  # (rows, columns)
    bound = half_bound(rows)
    for positions, matrix in zip(lists, (exact, exact.T), strict=True):
        if positions.min() < 0 or positions.max() >= matrix.shape[1]:
            return "it finds rows that are not there"
        if (np.diff(np.sort(positions, axis=1), axis=1) == 0).any():
            return "it finds a row twice"
        wanted = -np.sort(-matrix, axis=1)[:, : positions.shape[1]]
        listed = np.take_along_axis(matrix, positions.astype(np.int64), axis=1)
        if (wanted - -np.sort(-listed, axis=1)).max() > 2 * bound:
            return "it misses neighbours"
    return ""


def compressed_on_gpu(index: Any, queries: np.ndarray, width: int, gpus: list[int]) -> Any:
    """Return a compressed index on GPUs, if it answers a few queries as on the CPU.

    None, without a warning, for a kind that FAISS lacks on GPUs; with a warning if the check fails.
    """
    try:
        copy = faiss.to_gpus(index, gpus)
        on_gpu, wanted = copy.search(queries, width)[0], index.search(queries, width)[0]
    except NotImplementedError:
        return None
    except (MemoryError, RuntimeError, MinerError) as error:
        warn_no_gpu("the search", reason(error))
        return None
    # Missing neighbours have the lowest float32 value on both devices.
    same = np.isclose(np.sort(on_gpu, axis=1), np.sort(wanted, axis=1), rtol=0, atol=TOLERANCE)
    if same.mean() < AGREEING:
        warn_no_gpu("the search", "its similarities differ from the CPU's")
        return None
    return copy
