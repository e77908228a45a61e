"""Inverted index: the sentences that hold each token, and their retrieval by a query's tokens.

The score of a sentence j for a query with weights q is ``inverse[j] * sum of q[y] * idf[y]**2``
over the tokens y that both have, with ``inverse[j]`` one over the length of j's vector of idf: the
query's dot product with the unit vector of the sentence. Postings hold no weights, and sums are
formed in the order of the query's tokens: a score does not depend on anything but its pair.
"""

import numba
import numpy as np

from miner.kernels.fused import put


@numba.njit(nogil=True, cache=True, error_model="numpy")
def count_holders(values, offsets, rows, size):
    """Count the lists that hold each value: ``(size,) int64``.

    The lists are ``values[offsets[row]:offsets[row + 1]]`` of ``rows (n,)``.
    """
    count = np.zeros(size, np.int64)
    last = np.full(size, -1, np.int64)
    for place in range(len(rows)):
        for i in range(offsets[rows[place]], offsets[rows[place] + 1]):
            value = values[i]
            if last[value] != place:
                last[value] = place
                count[value] += 1
    return count


@numba.njit(nogil=True, cache=True, error_model="numpy")
def invert(values, offsets, rows, starts, out):
    """Write to ``out[starts[v]:starts[v + 1]]`` the places in ``rows`` of lists that hold v.

    Places ascend, each once. A value whose span of ``starts`` is empty is left out; any other span
    has the size that :func:`count_holders` counts.
    """
    end = starts[:-1].copy()
    for place in range(len(rows)):
        for i in range(offsets[rows[place]], offsets[rows[place] + 1]):
            v = values[i]
            if end[v] < starts[v + 1] and (end[v] == starts[v] or out[end[v] - 1] != place):
                out[end[v]] = place
                end[v] += 1


@numba.njit(nogil=True, cache=True, error_model="numpy")
def inverse_lengths(values, offsets, rows, idf, out):
    """Compute one over the length of the idf vector of each list; 0 for a list without weight.

    ``idf (V,) float32`` is 0 for values that are left out. ``out (n,) float32``.
    """
    last = np.full(len(idf), -1, np.int64)
    for place in range(len(rows)):
        total = 0.0
        for i in range(offsets[rows[place]], offsets[rows[place] + 1]):
            v = values[i]
            if last[v] != place:
                last[v] = place
                total += np.float64(idf[v]) * np.float64(idf[v])
        out[place] = np.float32(1.0 / np.sqrt(total)) if total > 0.0 else np.float32(0.0)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def retrieve(
    ids, offsets, rows, lexicon, own, probable, idf, starts, postings, inverse, budget,
    similarity, position, least,
):  # fmt: skip
    """Find the sentences with the highest scores for each query, by rare tokens first.

    The queries are the lists ``ids[offsets[row]:offsets[row + 1]]`` of ``rows (q,)``. Each distinct
    token x asks for itself with weight ``own``, and for its translations y with weight p(y | x), if
    that is at least ``probable``. ``lexicon`` is ``(offsets, pieces, probability)``. The tokens
    that are asked for are taken from the rarest on, until their postings would exceed ``budget``.

    ``idf (V,) float32`` is 0 for tokens without postings; ``starts (V + 1,) int64`` and
    ``postings int32`` are those of :func:`invert`, ``inverse (m,) float32`` of
    :func:`inverse_lengths`. ``similarity (q, w) float32``, ``position (q, w) int32`` and ``least
    (q,) float32`` are empty lists, to be filled: by score descending, then position.
    """
    size = len(idf)
    to, pieces, probability = lexicon
    weight = np.zeros(size, np.float32)
    asked = np.full(size, -1, np.int64)
    seen = np.full(size, -1, np.int64)
    terms = np.empty(size, np.int64)
    total = np.zeros(len(inverse), np.float32)
    touched = np.empty(len(inverse), np.int32)
    for q in range(len(rows)):
        count = 0
        for i in range(offsets[rows[q]], offsets[rows[q] + 1]):
            x = ids[i]
            if seen[x] == q:
                continue
            seen[x] = q
            for j in range(to[x] - 1, to[x + 1]):
                y = x if j < to[x] else pieces[j]
                share = own if j < to[x] else probability[j]
                if idf[y] == 0.0 or (j >= to[x] and share < probable):
                    continue
                if asked[y] != q:
                    asked[y] = q
                    weight[y] = 0.0
                    # Sorts by the number of postings, then by token.
                    terms[count] = (starts[y + 1] - starts[y]) * size + y
                    count += 1
                weight[y] += share
        left, found = budget, 0
        for term in np.sort(terms[:count]):
            y = term % size
            left -= starts[y + 1] - starts[y]
            if left < 0:
                break
            share = weight[y] * idf[y] * idf[y]
            for i in range(starts[y], starts[y + 1]):
                j = postings[i]
                if total[j] == 0.0:
                    touched[found] = j
                    found += 1
                total[j] += share
        for i in range(found):
            j = touched[i]
            value = total[j] * inverse[j]
            total[j] = 0.0
            if value >= least[q]:
                put(similarity, position, least, q, value, j)
