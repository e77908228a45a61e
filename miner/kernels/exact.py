"""Exact cosines of chosen pairs, and an exact top-k scan: the final step of every search.

The product of two float16 values is exact in float64, and the sum of a few hundred of them rounds
to the same float32 in any order. So the similarity of a pair does not depend on the direction of
the search, the block size, the thread count or the device.
"""

import numpy as np

from miner.kernels.library import kernel
from miner.parallel import in_ranges

# Pairs that a thread takes at a time.
CHUNK = 1 << 14
# Queries per pass over the base: their vectors stay in the cache.
TOGETHER = 16

_rescore = kernel(
    "rescore(queries: u2|f4[q, d], base: u2|f4[m, d], query: i8[n], rows: i8[n, c], first: int, "
    "last: int, &out: f4[n, c])"
)
_scan = kernel(
    "scan(queries: f4[n, d], base: f4[m, d], rounding: f8[n], start: int, &similarity: f4[n, k], "
    "&row: i8[n, k], begin: int, end: int)"
)


def bits(vectors: np.ndarray) -> np.ndarray:
    """Return the array that kernels read: uint16 bits of float16, float32 otherwise."""
    if vectors.dtype == np.float16:
        return vectors.view(np.uint16)
    return vectors.astype(np.float32, copy=False)


def rescore(
    queries: np.ndarray,
    base: np.ndarray,
    rows: np.ndarray,
    out: np.ndarray,
    query: np.ndarray | None = None,
) -> None:
    """Compute ``out[i, j] = queries[i] · base[rows[i, j]]``; -inf where ``rows`` is -1.

    ``queries (q, d)`` and ``base (m, d)`` are float32 or float16. ``rows (n, c) int64`` is in [-1,
    m), ``out (n, c) float32``. ``query (n,)`` selects rows of ``queries``, by default all.
    """
    queries, base = bits(queries), bits(base)
    query = np.arange(len(rows)) if query is None else query
    in_ranges(
        lambda first, last: _rescore(queries, base, query, rows, first, last, out),
        len(rows),
        max(1, CHUNK // max(1, rows.shape[1])),
    )


def scan(
    queries: np.ndarray, base: np.ndarray, start: int, similarity: np.ndarray, row: np.ndarray
) -> None:
    """Merge the rows ``base (m, d) float32``, numbered from ``start``, into top-k lists.

    ``queries (n, d) float32``. The lists ``similarity (n, k) float32`` and ``row (n, k) int64`` are
    sorted by similarity descending, then row; empty slots are -inf and -1. Blocks must come in
    ascending order, so that the lower row of a tie is listed first. The exact product is computed
    only if the float32 product, with its rounding error, reaches the list.
    """
    query_norms, base_norms = (
        np.sqrt(np.einsum("nd,nd->n", side, side, dtype=np.float64)) for side in (queries, base)
    )
    # Bound on the error of the float32 product, with a safety factor of four.
    rounding = 4.0 * queries.shape[1] * 2.0**-24 * query_norms * base_norms.max(initial=0.0)
    in_ranges(
        lambda first, last: _scan(queries, base, rounding, start, similarity, row, first, last),
        len(queries),
        TOGETHER,
    )
