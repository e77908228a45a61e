"""Expectation maximisation of translation probabilities: IBM Model 1 (Brown et al. 1993, eq. 9).

Sentences are sets of token ids: ``ids (t,) int32``, ascending in each sentence, with offsets ``(n +
1,) int64``. The table is a ragged array of the translations of each token: ``rows``, ``columns``,
ascending, and ``probability (m,) float32``.
"""

import numpy as np

from miner.kernels.loops import njit
from miner.ragged import offsets_of

ITERATIONS = 5
# Token ids of sentences, and their offsets. Rows, columns and probabilities of a table.
Flat = tuple[np.ndarray, np.ndarray]
Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


def learn(
    left: Flat, right: Flat, size: int, together: int, unlikely: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Learn p(right | left) of ``size`` token ids from the flat sentences of both sides.

    Tokens that occur together in fewer than ``together`` pairs have no entry; entries below
    ``unlikely`` are dropped after each iteration but the first. Returns rows, columns and
    probabilities of the table, and the number of sentences of ``left`` with each token.
    """
    left, right = distinct(*left), distinct(*right)
    starts, where = occurrences(*left, size)
    none = np.empty(0, dtype=np.int32)
    rows, sizes = np.zeros(size + 1, dtype=np.int64), np.empty(size, dtype=np.int64)
    partners(starts, where, *right, together, rows, none, sizes)
    rows = offsets_of(sizes)
    columns = np.empty(rows[-1], dtype=np.int32)
    partners(starts, where, *right, together, rows, columns, sizes)
    probability = np.repeat(1 / np.maximum(np.diff(rows), 1), np.diff(rows)).astype(np.float32)
    opposite = np.bincount(right[0], minlength=size) + 0.5
    empty = (opposite / (opposite.sum() + 1)).astype(np.float32)
    expected = np.empty(len(right[0]), dtype=np.float32)
    for iteration in range(ITERATIONS):
        expectation(*left, *right, rows, columns, probability, empty, expected)
        following = np.zeros_like(probability)
        maximisation(starts, where, *right, rows, columns, probability, expected, following)
        probability = following
        if iteration > 0 and unlikely > 0:
            rows, columns, probability = select(rows, columns, probability, probability >= unlikely)
    return rows, columns, probability, np.diff(starts)


def select(
    rows: np.ndarray, columns: np.ndarray, probability: np.ndarray, keep: np.ndarray
) -> Entries:
    """Select entries of a table by a mask, ``keep (m,) bool``."""
    return offsets_of(keep)[rows], columns[keep], probability[keep]


def distinct(ids: np.ndarray, offsets: np.ndarray) -> Flat:
    """Sort the ids of every sentence and remove repeats; returns ids and offsets."""
    out, bounds = np.empty_like(ids), np.zeros_like(offsets)
    _distinct(ids, offsets, out, bounds)
    return out[: bounds[-1]].copy(), bounds


@njit(nogil=True)
def _distinct(ids, offsets, out, bounds):
    count = 0
    for i in range(len(offsets) - 1):
        for piece in np.sort(ids[offsets[i] : offsets[i + 1]]):
            if count == bounds[i] or out[count - 1] != piece:
                out[count] = piece
                count += 1
        bounds[i + 1] = count


def occurrences(ids: np.ndarray, offsets: np.ndarray, size: int) -> Flat:
    """Invert a corpus: token x occurs in the sentences ``where[starts[x]:starts[x + 1]]``.

    Returns ``starts (size + 1,) int64`` and ``where (t,) int32``, ascending for each token.
    """
    starts = offsets_of(np.bincount(ids, minlength=size))
    where = np.empty(len(ids), dtype=np.int32)
    _occurrences(ids, offsets, starts[:-1].copy(), where)
    return starts, where


@njit(nogil=True)
def _occurrences(ids, offsets, place, where):
    for i in range(len(offsets) - 1):
        for piece in ids[offsets[i] : offsets[i + 1]]:
            where[place[piece]] = i
            place[piece] += 1


@njit(lanes=True)
def partners(lane, lanes, starts, where, ids, offsets, least, rows, columns, sizes):
    """Find the tokens that occur opposite each token in at least ``least`` pairs.

    ``sizes (size,) int64`` gets their number for each token. If ``columns`` is not empty, they are
    written there from ``rows[token]``, ascending.
    """
    size = len(starts) - 1
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


@njit(lanes=True)
def expectation(
    lane, lanes, left, left_offsets, right, right_offsets, rows, columns, probability, empty, out
):  # fmt: skip
    """Write P(``right[p]``), given its left sentence or ``empty``, to ``out[p]``."""
    for i in range(lane, len(left_offsets) - 1, lanes):
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


@njit(lanes=True)
def maximisation(
    lane, lanes, starts, where, right, right_offsets, rows, columns, probability, expected, new
):  # fmt: skip
    """Write the next probabilities of the table to ``new``; a row sums to 1 or is all zeros."""
    size = len(starts) - 1
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
