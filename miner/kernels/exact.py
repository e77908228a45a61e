"""Exact cosines of chosen pairs, and an exact top-k scan. They decide the result of every search.

The product of two float16 values is exact in float64, and the sum of a few hundred of them rounds
to the same float32 in any order. So the similarity of a pair does not depend on the direction of
the search, the block size, the thread count or the device.
"""

import numba
import numpy as np

from miner.kernels.cache import njit
from miner.kernels.half import widen

# Queries searched in one pass over the base: their vectors stay in the cache.
TOGETHER = 16


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _dot(a, b):
    total = 0.0
    for j in range(len(a)):
        total += np.float64(widen(a[j])) * np.float64(widen(b[j]))
    return np.float32(total)


@njit(parallel=True, error_model="numpy")
def rescore(queries, base, rows, out):
    """Compute ``out[i, j] = queries[i] · base[rows[i, j]]``; -inf where ``rows`` is -1.

    ``queries (n, d)`` and ``base (m, d)`` are float32, or :func:`miner.kernels.half.bits` of
    float16. ``rows (n, c) int64`` is in [-1, m), ``out (n, c) float32``.
    """
    for i in numba.prange(rows.shape[0]):
        for j in range(rows.shape[1]):
            out[i, j] = _dot(queries[i], base[rows[i, j]]) if rows[i, j] >= 0 else -np.inf


@njit(parallel=True, error_model="numpy")
def rescore_pairs(queries, base, query, row, out):
    """Compute ``out[i] = queries[query[i]] · base[row[i]]``, as :func:`rescore` does.

    ``query (p,)`` and ``row (p,)`` are integers, ``out (p,) float32``.
    """
    for i in numba.prange(len(query)):
        out[i] = _dot(queries[query[i]], base[row[i]])


@numba.njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _rough(a, b):
    total = np.float32(0.0)
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@njit(parallel=True, error_model="numpy")
def scan(queries, base, start, similarity, row):
    """Merge the rows ``base (m, d) float32``, the first of them row ``start``, into top-k lists.

    ``queries (n, d) float32``. The lists ``similarity (n, k) float32`` and ``row (n, k) int64`` are
    sorted by similarity descending, then row; empty places are -inf and -1. Blocks must come in
    ascending order, so that the lower row of a tie is listed first. The exact product is computed
    only where the float32 product and its rounding reach the list.
    """
    n, d = queries.shape
    k = similarity.shape[1]
    longest = 0.0
    for b in range(base.shape[0]):
        longest = max(longest, np.sqrt(np.float64(_dot(base[b], base[b]))))
    for chunk in numba.prange((n + TOGETHER - 1) // TOGETHER):
        first, last = chunk * TOGETHER, min(n, (chunk + 1) * TOGETHER)
        # Bound on the error of the float32 product, four times too large.
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
