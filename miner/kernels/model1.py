"""Expectation maximisation of translation probabilities: IBM Model 1 (Brown et al. 1993, eq. 9).

Sentences are sets of token ids, flat: ``ids (t,) int32``, ascending in each sentence, with offsets
``(n + 1,) int64``. The table is sparse: ``columns[rows[x]:rows[x + 1]]``, ascending, are the
translations of token ``x``, with the same slice of ``probability (m,) float32``.
"""

import numba
import numpy as np

from miner.kernels.cache import njit


@njit(nogil=True)
def distinct(ids, offsets):
    """Sort the ids of every sentence and remove repeats; returns ids and offsets."""
    out, bounds = np.empty_like(ids), np.zeros_like(offsets)
    count = 0
    for i in range(len(offsets) - 1):
        for piece in np.unique(ids[offsets[i] : offsets[i + 1]]):
            out[count] = piece
            count += 1
        bounds[i + 1] = count
    return out[:count].copy(), bounds


@njit(nogil=True)
def occurrences(ids, offsets, size):
    """Invert a corpus: token x occurs in the sentences ``where[starts[x]:starts[x + 1]]``.

    Returns ``starts (size + 1,) int64`` and ``where (t,) int32``.
    """
    starts = np.zeros(size + 1, dtype=np.int64)
    for piece in ids:
        starts[piece + 1] += 1
    starts = np.cumsum(starts)
    place, where = starts[:-1].copy(), np.empty(len(ids), dtype=np.int32)
    for i in range(len(offsets) - 1):
        for piece in ids[offsets[i] : offsets[i + 1]]:
            where[place[piece]] = i
            place[piece] += 1
    return starts, where


@njit(parallel=True, nogil=True)
def partners(starts, where, ids, offsets, least, rows, columns, lanes):
    """Find the tokens that occur opposite each token in at least ``least`` pairs.

    Returns their number for each token, ``(size,) int64``. If ``columns`` is not empty, they are
    written there from ``rows[token]``, ascending. ``lanes`` splits the tokens among threads.
    """
    size = len(starts) - 1
    sizes = np.zeros(size, dtype=np.int64)
    for lane in numba.prange(lanes):
        count = np.zeros(size, dtype=np.int32)
        seen = np.empty(size, dtype=np.int32)
        for piece in range(lane, size, lanes):
            found = 0
            for at in range(starts[piece], starts[piece + 1]):
                i = where[at]
                for other in ids[offsets[i] : offsets[i + 1]]:
                    if count[other] == 0:
                        seen[found] = other
                        found += 1
                    count[other] += 1
            kept = 0
            for other in np.sort(seen[:found]):
                if count[other] >= least:
                    if len(columns):
                        columns[rows[piece] + kept] = other
                    kept += 1
                count[other] = 0
            sizes[piece] = kept
    return sizes


@njit(parallel=True, nogil=True)
def expectation(left, left_offsets, right, right_offsets, rows, columns, probability, empty, out):
    """Write the probability of each token ``right[p]`` given its left sentence to ``out[p]``.

    It is the sum of ``empty[token]``, for a translation of the empty word, and the table entries.
    """
    for i in numba.prange(len(left_offsets) - 1):
        first, last = right_offsets[i], right_offsets[i + 1]
        for p in range(first, last):
            out[p] = empty[right[p]]
        for x in left[left_offsets[i] : left_offsets[i + 1]]:
            # Both are ascending: the last hit bounds the next search.
            low, end = rows[x], rows[x + 1]
            for p in range(first, last):
                high = end
                while low < high:
                    middle = (low + high) >> 1
                    if columns[middle] < right[p]:
                        low = middle + 1
                    else:
                        high = middle
                if low < end and columns[low] == right[p]:
                    out[p] += probability[low]


@njit(parallel=True, nogil=True)
def maximisation(starts, where, right, right_offsets, rows, columns, probability, expected, lanes):
    """Return the next probabilities of the table, ``(m,) float32``.

    Every row sums to 1 or is all zeros. ``expected`` is the output of :func:`expectation`.
    """
    size = len(starts) - 1
    new = np.zeros_like(probability)
    for lane in numba.prange(lanes):
        entry_of = np.full(size, -1, dtype=np.int64)
        for piece in range(lane, size, lanes):
            first, last = rows[piece], rows[piece + 1]
            for entry in range(first, last):
                entry_of[columns[entry]] = entry
            counts = np.zeros(last - first)
            for at in range(starts[piece], starts[piece + 1]):
                i = where[at]
                for p in range(right_offsets[i], right_offsets[i + 1]):
                    entry = entry_of[right[p]]
                    if entry >= 0:
                        counts[entry - first] += probability[entry] / expected[p]
            total = max(counts.sum(), 1e-30)
            for entry in range(first, last):
                new[entry] = counts[entry - first] / total
                entry_of[columns[entry]] = -1
    return new
