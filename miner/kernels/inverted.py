"""Inverted index: the sentences that hold each token, and their retrieval by a query's tokens.

The score of a sentence j for a query with weights q is ``inverse[j] * sum of q[y] * idf[y]**2``
over the tokens y that both have, where ``inverse[j]`` is one over the length of j's vector of idf.
Sums run in the order of the query's tokens, so a score depends on nothing but its pair.
"""

import numpy as np

from miner.kernels.loops import njit

# Bits of a float32 below those that choose its bucket, and the number of buckets of positive ones.
SHIFT = 16
BUCKETS = 1 << (31 - SHIFT)


def count_holders(
    values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, size: int
) -> np.ndarray:
    """Count the lists ``rows (n,)`` of a ragged array that hold each value: ``(size,) int64``."""
    count = np.zeros(size, np.int64)
    _count_holders(values, offsets, rows, count)
    return count


@njit(nogil=True, error_model="numpy")
def _count_holders(values, offsets, rows, count):
    last = np.full(len(count), -1, np.int64)
    for place in range(len(rows)):
        for i in range(offsets[rows[place]], offsets[rows[place] + 1]):
            value = values[i]
            if last[value] != place:
                last[value] = place
                count[value] += 1


@njit(nogil=True, error_model="numpy")
def invert(values, offsets, rows, starts, out):
    """Write to ``out[starts[v]:starts[v + 1]]`` the places in ``rows`` of lists that hold v.

    They ascend. A value whose span is empty is left out; any other span has the size that
    :func:`count_holders` counts.
    """
    end = starts[:-1].copy()
    for place in range(len(rows)):
        for i in range(offsets[rows[place]], offsets[rows[place] + 1]):
            v = values[i]
            if end[v] < starts[v + 1] and (end[v] == starts[v] or out[end[v] - 1] != place):
                out[end[v]] = place
                end[v] += 1


@njit(nogil=True, error_model="numpy")
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


@njit(nogil=True, error_model="numpy")
def collect(ids, first, last, q, lexicon, own, probable, idf, holders, weight, asked, seen, terms):
    """Collect the tokens that the query ``ids[first:last]`` asks for; returns their number.

    ``weight``, ``asked`` and ``seen (V,)`` are scratch, whose entries count if they were written
    for query ``q``. ``terms int64`` receives the number of holders of each token, times V, plus the
    token: sorted, they are the rarest first.
    """
    size, count = len(idf), 0
    to, pieces, probability = lexicon
    for i in range(first, last):
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
                terms[count] = holders[y] * size + y
                count += 1
            weight[y] += share
    return count


@njit(nogil=True, error_model="numpy")
def keep_best(sums, touched, buckets, value, place, out, scores):
    """Write the positions with the highest scores to ``out (w,)``; clears the sums.

    ``sums (m, 2) float32`` holds a sum and a positive factor for each position; their product is
    its score. The best of the positions ``touched (t,)`` are written, by score descending, then
    position, and -1 in empty places; ``scores (w,) float32`` receives the scores, and -inf there. A
    score in a lower bucket (the upper half of its bits) than the w best so far is dropped at once;
    the few others are sorted. ``buckets (BUCKETS,)`` is zero before and after; ``value float32``
    and ``place int32`` are scratch for t items.
    """
    width, held, kept = len(out), 0, 0
    bits = value.view(np.int32)
    bucket, least = 0, np.float32(0.0)
    for j in touched:
        value[held] = sums[j, 0] * sums[j, 1]
        sums[j, 0] = 0.0
        if value[held] < least:
            continue
        place[held] = j
        buckets[bits[held] >> SHIFT] += 1
        held += 1
        kept += 1
        if kept < width:
            continue
        if bucket == 0:  # for the first time: the lowest bucket is found
            bucket = bits[0]
            for i in range(held):
                bucket = min(bucket, bits[i])
            bucket >>= SHIFT
        while kept - buckets[bucket] >= width:
            kept -= buckets[bucket]
            bucket += 1
        # ``held`` is free, and as long as a float32.
        bits[held] = bucket << SHIFT
        least = value[held]
    keys = np.empty(held, np.int64)
    count = 0
    for i in range(held):
        buckets[bits[i] >> SHIFT] = 0
        if value[i] >= least:
            # Sorts by score descending, then by position.
            keys[count] = (-np.int64(bits[i]) << 32) + place[i]
            count += 1
    out[:] = -1
    scores[:] = -np.inf
    score_bits = scores.view(np.int32)
    order = np.sort(keys[:count])
    for i in range(min(count, width)):
        out[i] = order[i] & 0xFFFFFFFF
        score_bits[i] = -(order[i] >> 32)


@njit(nogil=True, error_model="numpy")
def retrieve(
    ids, offsets, rows, lexicon, own, probable, idf, holders, starts, postings, inverse, budget,
    out, scores,
):  # fmt: skip
    """Find the sentences with the highest scores for each query, by rare tokens first.

    The queries are the lists ``rows (q,)`` of ``ids`` and ``offsets``. Each distinct token x asks
    for itself with weight ``own``, and for its translations y by ``lexicon (offsets, pieces,
    probability)`` with weight p(y | x), if that is at least ``probable``. Tokens are taken from the
    rarest on, until their holders would exceed ``budget``.

    ``idf (V,) float32`` is 0 for tokens without postings, ``holders (V,) int64`` counts the
    sentences of the whole corpus with each of the others; the postings may be a part of it.
    ``starts (V + 1,) int64`` and ``postings int32`` are from :func:`invert`, ``inverse (m,)
    float32`` from :func:`inverse_lengths`. ``out (q, w) int32`` and ``scores (q, w) float32`` are
    as in :func:`keep_best`.
    """
    size = len(idf)
    weight = np.zeros(size, np.float32)
    asked = np.full(size, -1, np.int64)
    seen = np.full(size, -1, np.int64)
    terms = np.empty(size, np.int64)
    # A sum and its factor share a cache line: most of the time goes into reading them.
    sums = np.zeros((len(inverse), 2), np.float32)
    for j in range(len(inverse)):
        sums[j, 1] = inverse[j]
    # One place more than may be written: the next one is written before it is known to be new.
    most = min(budget, len(inverse)) + 1
    touched = np.empty(most, np.int32)
    buckets = np.zeros(BUCKETS, np.int32)
    value, place = np.empty(most, np.float32), np.empty(most, np.int32)
    for q in range(len(rows)):
        first, last = offsets[rows[q]], offsets[rows[q] + 1]
        count = collect(
            ids, first, last, q, lexicon, own, probable, idf, holders, weight, asked, seen, terms
        )
        left, found = budget, 0
        for term in np.sort(terms[:count]):
            y = term % size
            left -= holders[y]
            if left < 0:
                break
            share = weight[y] * idf[y] * idf[y]
            for i in range(starts[y], starts[y + 1]):
                j = postings[i]
                old = sums[j, 0]
                touched[found] = j
                found += old == 0.0  # without a branch, which would often be predicted wrongly
                sums[j, 0] = old + share
        keep_best(sums, touched[:found], buckets, value, place, out[q], scores[q])
