"""Check of a GPU before it is trusted: a small block that the CPU answers too.

If the answers differ beyond rounding, or the GPU fails, one warning says so and the CPU searches.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from miner.errors import MinerError, reason
from miner.knn.engines import Engine, float32_bound
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet

# Rows and columns of the block, and queries of a compressed index.
ROWS, COLUMNS, QUERIES = 96, 640, 64
WIDTH = 8
# A compressed index rounds vectors in its own way, and may look into another cell at a tie: the
# similarities that must agree within TOLERANCE.
TOLERANCE, AGREEING = 1e-3, 0.98


def gpu_agrees(make: Callable[[], Engine], source: VectorSet, target: VectorSet) -> bool:
    """Search a sample of both sides with a new engine; warns and returns False if it is wrong."""
    try:
        fault = _block_differs(make(), source, target)
    except (MinerError, KeyboardInterrupt):
        raise
    except Exception as error:  # the driver or the library
        fault = reason(error)
    if fault:
        _warn(fault)
    return not fault


def index_agrees(on_gpu: Any, on_cpu: Any, queries: np.ndarray, width: int) -> bool:
    """Search a compressed index on both devices; warns and returns False if they differ."""
    try:
        found, wanted = on_gpu.search(queries, width)[0], on_cpu.search(queries, width)[0]
    except RuntimeError as error:
        _warn(reason(error))
        return False
    # Missing neighbours have the lowest float32 on both devices.
    same = np.isclose(np.sort(found, axis=1), np.sort(wanted, axis=1), rtol=0, atol=TOLERANCE)
    if same.mean() < AGREEING:
        _warn("its similarities differ from the CPU's")
        return False
    return True


def _block_differs(engine: Engine, source: VectorSet, target: VectorSet) -> str:
    """Return the words for the first error of ``engine`` on a small block, or an empty string."""
    rows, columns = (
        side.take(side.sample(size)) for side, size in ((source, ROWS), (target, COLUMNS))
    )
    if not len(rows) or not len(columns):
        return ""
    lists = (
        Lists.empty(len(rows), min(WIDTH, len(columns))),
        Lists.empty(len(columns), min(WIDTH, len(rows))),
    )
    prepared = engine.prepare(rows, columns=False), engine.prepare(columns, columns=True)
    engine.merge(prepared[0], 0, prepared[1], 0, lists)
    exact = rows.astype(np.float64) @ columns.astype(np.float64).T  # (rows, columns)
    bound = float32_bound(rows)
    for part, matrix in zip(lists, (exact, exact.T), strict=True):
        place = part.position.astype(np.int64)
        if place.min() < 0 or place.max() >= matrix.shape[1]:
            return "it finds rows that are not there"
        if (np.diff(np.sort(place, axis=1), axis=1) == 0).any():
            return "it finds a row twice"
        wanted = -np.sort(-matrix, axis=1)[:, : part.width]
        found = np.take_along_axis(matrix, place, axis=1)
        if not np.abs(part.similarity - found).max() <= bound:  # or not a number
            return "its similarities differ from the CPU's"
        if (wanted - -np.sort(-found, axis=1)).max() > 2 * bound:
            return "it misses neighbours"
    return ""


def _warn(reason: str) -> None:
    warnings.warn(
        f"the GPU is not used for the search: {reason}; the CPU searches",
        RuntimeWarning,
        stacklevel=3,
    )
