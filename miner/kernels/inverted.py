"""Inverted index: the sentences that hold each token, and their retrieval by a query's tokens.

The score of a sentence j for a query with weights q is ``inverse[j] * sum of q[y] * idf[y]**2``
over the common tokens y; ``inverse[j]`` is the reciprocal length of j's vector of idf. Sums run in
the order of the query's tokens, so a score depends on nothing but its pair.
"""

import numpy as np

from miner.kernels.library import kernel

_count_holders = kernel(
    "count_holders(values: i4[t], offsets: i8[m+1], rows: i8[n], &count: i8[V]) -> memory"
)
# Writes to ``out[starts[v]:starts[v + 1]]`` the indices in ``rows`` of lists that hold v,
# ascending. A value with an empty span is skipped; any other span has the size that
# :func:`count_holders` counts.
invert = kernel(
    "invert(values: i4[t], offsets: i8[m+1], rows: i8[n], starts: i8[V+1], &out: i4[p]) -> memory"
)
# Computes the reciprocal length of each list's idf vector; 0 for a list without weight. ``idf`` is
# 0 for values that are ignored.
inverse_lengths = kernel(
    "inverse_lengths(values: i4[t], offsets: i8[m+1], rows: i8[n], idf: f4[V], &out: f4[n]) "
    "-> memory"
)
_retrieve = kernel(
    "retrieve(ids: i4[t], offsets: i8[n+1], rows: i8[q], to: i8[V+1], pieces: i4[e], "
    "probability: f4[e], own: float, probable: float, idf: f4[V], holders: i8[V], "
    "starts: i8[V+1], postings: i4[p], inverse: f4[m], budget: int, &out: i4[q, w], "
    "&scores: f4[q, w]) -> memory"
)


def count_holders(
    values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, size: int
) -> np.ndarray:
    """Count the lists ``rows (n,)`` of a ragged array that hold each value: ``(size,) int64``."""
    count = np.zeros(size, np.int64)
    _count_holders(values, offsets, rows, count)
    return count


def retrieve(
    ids, offsets, rows, lexicon, same, probable, idf, holders, starts, postings, inverse, budget,
    out, scores,
):  # fmt: skip
    """Find the sentences with the highest scores for each query, by rare tokens first.

    The queries are the lists ``rows (q,)`` of ``ids`` and ``offsets``. Each distinct token x
    queries itself with weight ``same``, and its translations y in ``lexicon (offsets, pieces,
    probability)`` with weight p(y | x), if that is at least ``probable``. Tokens are used from the
    rarest on, until the number of sentences with them would exceed ``budget``.

    ``idf (V,) float32`` is 0 for tokens without postings, ``holders (V,) int64`` counts the
    sentences of the whole corpus with each token; the postings may cover a part of it. ``starts (V
    + 1,) int64`` and ``postings int32`` are from :func:`invert`, ``inverse (m,) float32`` from
    :func:`inverse_lengths`. The best positions are written to ``out (q, w) int32``, by score
    descending, then position, with -1 in empty slots; ``scores (q, w) float32`` receives the
    scores, with -inf there.
    """
    _retrieve(
        ids, offsets, rows, *lexicon, same, probable, idf, holders, starts, postings, inverse,
        budget, out, scores,
    )  # fmt: skip
