"""Expectation maximisation for translation probabilities: IBM Model 1 (Brown et al. 1993, eq. 9).

Sentences are sets of pieces, flat: ``ids (t,) int32`` in ascending order for each sentence, with
``(n + 1,) int64`` offsets. The table is sparse: given piece ``x``, the pieces
``columns[rows[x]:rows[x + 1]]``, ascending, have ``probability`` of being what it is translated by.
"""

import numba
import numpy as np


def model1_reference(
    left: list[list[int]], right: list[list[int]], size: int, frequency: np.ndarray, iterations: int
) -> np.ndarray:
    """The table ``(size, size)`` after some iterations, dense and in plain numpy."""
    table = np.zeros((size, size))
    for a, b in zip(left, right, strict=True):
        table[np.ix_(a, b)] = 1.0
    table /= np.maximum(table.sum(axis=1, keepdims=True), 1)
    for _ in range(iterations):
        counts = np.zeros_like(table)
        for a, b in zip(left, right, strict=True):
            block = table[np.ix_(a, b)]
            counts[np.ix_(a, b)] += block / (frequency[b] + block.sum(axis=0))
        table = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-30)
    return table


@numba.njit(cache=True, nogil=True)
def distinct(ids, offsets):
    """Every sentence as a set: ids ascending and without repeats, and their offsets."""
    out, bounds = np.empty_like(ids), np.zeros_like(offsets)
    count = 0
    for i in range(len(offsets) - 1):
        for piece in np.unique(ids[offsets[i] : offsets[i + 1]]):
            out[count] = piece
            count += 1
        bounds[i + 1] = count
    return out[:count].copy(), bounds


@numba.njit(cache=True, nogil=True)
def occurrences(ids, offsets, size):
    """The sentences that hold each piece: ``starts (size + 1,)`` and ``where (t,) int32``."""
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


@numba.njit(parallel=True, cache=True)
def partners(starts, where, ids, offsets, least, rows, columns, lanes):
    """Pieces that stand opposite each piece in ``least`` pairs or more.

    With an empty ``columns`` only counts: returns how many each piece has, ``(size,) int64``. Else
    writes them to ``columns`` from ``rows[piece]``, ascending.
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


@numba.njit(parallel=True, cache=True)
def expectation(left, left_offsets, right, right_offsets, rows, columns, probability, empty, out):
    """``out[p]``: probability of the right side's piece ``right[p]`` given its left sentence.

    That is ``empty[piece]``, for being translated from nothing, plus the table's entries.
    """
    for i in numba.prange(len(left_offsets) - 1):
        first, last = right_offsets[i], right_offsets[i + 1]
        for p in range(first, last):
            out[p] = empty[right[p]]
        for x in left[left_offsets[i] : left_offsets[i + 1]]:
            # Both are ascending: what was found bounds where the next can be.
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


@numba.njit(parallel=True, cache=True)
def maximisation(starts, where, right, right_offsets, rows, columns, probability, expected, lanes):
    """The table's next probabilities, ``(m,) float32``; every row sums to 1 or is all zeros."""
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
