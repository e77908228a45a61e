"""Exact cosines of chosen pairs, and an exact top-k scan. They decide the result of every search.

The product of two float16 values is exact in float64, and the sum of a few hundred of them rounds
to the same float32 in any order. So the similarity of a pair does not depend on the direction of
the search, the block size, the thread count or the device.
"""

import numpy as np

from miner.kernels.half import bits, widen
from miner.kernels.loops import njit
from miner.parallel import in_ranges

# Pairs that a thread takes at a time.
CHUNK = 1 << 14
# Queries searched in one pass over the base: their vectors stay in the cache.
TOGETHER = 16


@njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _dot(a, b):
    total = 0.0
    for j in range(len(a)):
        total += np.float64(widen(a[j])) * np.float64(widen(b[j]))
    return np.float32(total)


def rescore(
    queries: np.ndarray,
    base: np.ndarray,
    rows: np.ndarray,
    out: np.ndarray,
    query: np.ndarray | None = None,
) -> None:
    """Compute ``out[i, j] = queries[i] · base[rows[i, j]]``; -inf where ``rows`` is -1.

    ``queries (q, d)`` and ``base (m, d)`` are float32 or float16. ``rows (n, c) int64`` is in
    [-1, m), ``out (n, c) float32``. ``query (n,)`` are rows of ``queries`` to take, by default all.
    """
    queries, base = bits(queries), bits(base)
    query = np.arange(len(rows)) if query is None else query
    in_ranges(
        lambda first, last: _rescore(queries, base, query, rows, first, last, out),
        len(rows),
        max(1, CHUNK // max(1, rows.shape[1])),
    )


@njit(nogil=True, error_model="numpy")
def _rescore(queries, base, query, rows, first, last, out):
    for i in range(first, last):
        for j in range(rows.shape[1]):
            row = rows[i, j]
            out[i, j] = _dot(queries[query[i]], base[row]) if row >= 0 else -np.inf


@njit(fastmath={"reassoc", "contract"}, error_model="numpy")
def _rough(a, b):
    total = np.float32(0.0)
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


def scan(
    queries: np.ndarray, base: np.ndarray, start: int, similarity: np.ndarray, row: np.ndarray
) -> None:
    """Merge the rows ``base (m, d) float32``, the first of them row ``start``, into top-k lists.

    ``queries (n, d) float32``. The lists ``similarity (n, k) float32`` and ``row (n, k) int64`` are
    sorted by similarity descending, then row; empty places are -inf and -1. Blocks must come in
    ascending order, so that the lower row of a tie is listed first. The exact product is computed
    only where the float32 product and its rounding reach the list.
    """
    own, others = (
        np.sqrt(np.einsum("nd,nd->n", side, side, dtype=np.float64)) for side in (queries, base)
    )
    # Bound on the error of the float32 product, four times too large.
    rounding = 4.0 * queries.shape[1] * 2.0**-24 * own * others.max(initial=0.0)
    in_ranges(
        lambda first, last: _scan(queries, base, rounding, start, similarity, row, first, last),
        len(queries),
        TOGETHER,
    )


@njit(nogil=True, error_model="numpy")
def _scan(queries, base, rounding, start, similarity, row, begin, end):
    k = similarity.shape[1]
    for first in range(begin, end, TOGETHER):
        for b in range(base.shape[0]):
            for i in range(first, min(end, first + TOGETHER)):
                least = similarity[i, k - 1]
                if _rough(queries[i], base[b]) + rounding[i] <= least:
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
