"""Exact cosines of chosen pairs, and an exact top-k scan: the arbiters of every search.

A product of two float16 values is exact in float64, and the sum of a few hundred of them rounds
to the same float32 in whatever order it is taken. So a similarity is one number, whichever side
the search came from and whatever the block size, the thread count or the device.
"""

import numba
import numpy as np

from miner.kernels.half import widen

# Queries that one pass over the base serves; their vectors stay in the cache.
TOGETHER = 16


def rescore_reference(queries: np.ndarray, base: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What :func:`rescore` computes, in plain numpy."""
    out = np.full(rows.shape, -np.inf, dtype=np.float32)
    for i, j in zip(*np.nonzero(rows >= 0), strict=True):
        out[i, j] = queries[i].astype(np.float64) @ base[rows[i, j]].astype(np.float64)
    return out


def scan_reference(queries: np.ndarray, base: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`scan` computes from empty lists, in plain numpy."""
    exact = (queries.astype(np.float64) @ base.astype(np.float64).T).astype(np.float32)
    row = np.argsort(-exact, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(exact, row, axis=1), row


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _dot(a, b):
    total = 0.0
    for j in range(len(a)):
        total += np.float64(widen(a[j])) * np.float64(widen(b[j]))
    return np.float32(total)


@numba.njit(parallel=True, cache=True, error_model="numpy")
def rescore(queries, base, rows, out):
    """``out[i, j] = queries[i] · base[rows[i, j]]``; -inf where ``rows`` is -1.

    ``queries (n, d)`` and ``base (m, d)``, float32 or :func:`miner.kernels.half.bits` of float16;
    ``rows (n, c) int64`` < m.
    """
    for i in numba.prange(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i, j] = _dot(queries[i], base[rows[i, j]]) if rows[i, j] >= 0 else -np.inf


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _rough(a, b):
    total = np.float32(0.0)
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@numba.njit(parallel=True, cache=True, error_model="numpy")
def scan(queries, base, start, similarity, row):
    """Merge the block ``base``, whose first row is ``start``, into running exact top-k lists.

    ``similarity (n, k) float32`` and ``row (n, k) int64`` are sorted by (similarity descending,
    row ascending) and change in place; empty places are -inf and -1. Blocks must come in
    ascending order: a tie then goes to the lower row by standing first. A float32 product tells
    whether the exact one is needed; queries go by the dozen, so that ``base`` is read less often.
    """
    n, d = queries.shape
    k = similarity.shape[1]
    longest = 0.0
    for b in range(base.shape[0]):
        longest = max(longest, np.sqrt(np.float64(_dot(base[b], base[b]))))
    for chunk in numba.prange((n + TOGETHER - 1) // TOGETHER):
        first, last = chunk * TOGETHER, min(n, (chunk + 1) * TOGETHER)
        # What float32 may get wrong, with room to spare.
        rounding = np.empty(last - first)
        for i in range(first, last):
            length = np.sqrt(np.float64(_dot(queries[i], queries[i])))
            rounding[i - first] = 4.0 * d * 2.0**-24 * length * longest
        for b in range(base.shape[0]):
            for i in range(first, last):
                least = similarity[i, k - 1]
                if _rough(queries[i], base[b]) + rounding[i - first] <= least:
                    continue
                value = _dot(queries[i], base[b])
                if value > least:
                    place = k - 1
                    while place > 0 and value > similarity[i, place - 1]:
                        similarity[i, place] = similarity[i, place - 1]
                        row[i, place] = row[i, place - 1]
                        place -= 1
                    similarity[i, place] = value
                    row[i, place] = start + b
