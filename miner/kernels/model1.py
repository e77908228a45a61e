"""Expectation maximisation of translation probabilities: IBM Model 1 (Brown et al. 1993, eq. 9).

Sentences are sets of token ids: ``ids (t,) int32``, ascending in each sentence, with offsets ``(n +
1,) int64``. The table is a ragged array of the translations of each token: ``rows``, ``columns``,
ascending, and ``probability (m,) float32``.
"""

import numpy as np

from miner.kernels.library import kernel
from miner.parallel import in_lanes
from miner.ragged import offsets_of

ITERATIONS = 5
# Token ids of sentences, and their offsets. Rows, columns and probabilities of a table.
Flat = tuple[np.ndarray, np.ndarray]
Entries = tuple[np.ndarray, np.ndarray, np.ndarray]

_distinct = kernel(
    "distinct(ids: i4[t], offsets: i8[n+1], &out: i4[t], &scratch: i4[s], &bounds: i8[n+1])"
)
_occurrences = kernel("occurrences(ids: i4[t], offsets: i8[n+1], &place: i8[size], &where: i4[t])")
# Finds the tokens that occur opposite each token in at least ``least`` pairs. ``sizes`` gets their
# number for each token. They are written to ``columns`` from ``rows[token]`` on, ascending, unless
# it is empty.
partners = in_lanes(
    kernel(
        "partners(lane: int, lanes: int, starts: i8[size+1], where: i4[t], ids: i4[u], "
        "offsets: i8[n+1], least: int, rows: i8[size+1], &columns: i4[c], &sizes: i8[size]) "
        "-> memory"
    )
)
# Writes P(``right[p]``), given its left sentence or ``empty``, to ``out[p]``.
expectation = in_lanes(
    kernel(
        "expectation(lane: int, lanes: int, left: i4[t], left_offsets: i8[n+1], right: i4[u], "
        "right_offsets: i8[n+1], rows: i8[size+1], columns: i4[m], probability: f4[m], "
        "empty: f4[size], &out: f4[u])"
    )
)
# Writes the next probabilities of the table to ``new``; a row sums to 1 or is all zeros.
maximisation = in_lanes(
    kernel(
        "maximisation(lane: int, lanes: int, starts: i8[size+1], where: i4[t], right: i4[u], "
        "right_offsets: i8[n+1], rows: i8[size+1], columns: i4[m], probability: f4[m], "
        "expected: f4[u], &new: f4[m]) -> memory"
    )
)


def learn(
    left: Flat, right: Flat, size: int, together: int, unlikely: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Learn p(right | left) of ``size`` token ids from the flat sentences of both sides.

    Token pairs that occur in fewer than ``together`` sentence pairs have no entry; entries below
    ``unlikely`` are dropped after each iteration except the first. Returns rows, columns and
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
    """Select entries of a table with a mask, ``keep (m,) bool``."""
    return offsets_of(keep)[rows], columns[keep], probability[keep]


def distinct(ids: np.ndarray, offsets: np.ndarray) -> Flat:
    """Sort the ids of every sentence and remove repeats; returns ids and offsets."""
    out, bounds = np.empty_like(ids), np.zeros_like(offsets)
    _distinct(ids, offsets, out, np.empty(np.diff(offsets).max(initial=0), np.int32), bounds)
    return out[: bounds[-1]].copy(), bounds


def occurrences(ids: np.ndarray, offsets: np.ndarray, size: int) -> Flat:
    """Invert a corpus: token x occurs in the sentences ``where[starts[x]:starts[x + 1]]``.

    Returns ``starts (size + 1,) int64`` and ``where (t,) int32``, ascending for each token.
    """
    starts = offsets_of(np.bincount(ids, minlength=size))
    where = np.empty(len(ids), dtype=np.int32)
    _occurrences(ids, offsets, starts[:-1].copy(), where)
    return starts, where
