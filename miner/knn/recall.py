"""Exact search as the reference, and a check on a sample that int8 suffices."""

import numpy as np

from miner.knn.engines import Int8Engine
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet
from miner.machine import blas

# Queries and rows of the other side in the check, and share of neighbours that the int8 engine may
# miss there.
PROBE_QUERIES, PROBE_BASE = 512, 4096
TOLERATED_MISSES = 0.0002


def scan(queries: np.ndarray, base: VectorSet, k: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Search all of ``base`` exactly, without an engine, ``block`` rows at a time.

    ``queries (n, d) float32``. Returns similarities ``(n, k) float32`` and positions
    ``(n, k) int64``, best first, padded with -inf and -1.
    """
    from miner.kernels import exact

    similarity = np.full((len(queries), k), -np.inf, dtype=np.float32)
    position = np.full((len(queries), k), -1, dtype=np.int64)
    for start in range(0, len(base), block):
        exact.scan(queries, base.float32_block(start, start + block), start, similarity, position)
    return similarity, position


def int8_suffices(source: VectorSet, target: VectorSet, k: int) -> bool:
    """Check on a sample that the int8 engine finds the k nearest of both sides.

    It does if all components have a similar size, as in a trained model. It fails if a few
    components are huge in all vectors: rounding to int8 erases the others.
    """
    # More BLAS threads would wait longer than these products take.
    with blas().limit(limits=1):
        return _suffices(source, target, k) and _suffices(target, source, k)


def _suffices(queries: VectorSet, base: VectorSet, k: int) -> bool:
    """Check one direction of the search."""
    probes, probed = (
        side.take(side.sample(size))
        for side, size in ((queries, PROBE_QUERIES), (base, PROBE_BASE))
    )
    width = min(k, len(probed))
    if not len(probes) or not width:
        return True
    lists = (
        Lists.empty(len(probes), min(k + Int8Engine.slack, len(probed))),
        Lists.empty(len(probed), 1),
    )
    engine = Int8Engine(1)
    rows, columns = engine.prepare(probes, columns=False), engine.prepare(probed, columns=True)
    engine.merge(rows, 0, columns, 0, lists)
    wide = probed.astype(np.float32)
    missed = 0
    for start in range(0, len(probes), 32):
        cosine = probes[start : start + 32].astype(np.float32) @ wide.T  # (32, probed)
        # A miss is more similar than the k-th, beyond the rounding of float32, but not listed.
        near = cosine > np.partition(cosine, -width, axis=1)[:, -width, None] + 1e-5
        positions = lists[0].position[start : start + 32].astype(np.int64)
        np.put_along_axis(near, positions, False, axis=1)
        missed += int(near.sum())
    return missed <= TOLERATED_MISSES * len(probes) * width
