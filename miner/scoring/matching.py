"""Selection of pairs among scored candidates: retrieval, and one-to-one matching.

After Artetxe & Schwenk 2019, section 3 (:mod:`miner.scoring.margin`). Ties are broken by row, so
the result does not depend on the order of candidates.
"""

from __future__ import annotations

from array import array
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miner.option_values import RETRIEVALS, canonical
from miner.scoring.margin import DTYPES, Candidates, refuse_nan, run_starts

# Pairs converted to Python objects at a time in a one-to-one matching.
PART = 1 << 18


def retrieve(pairs: Candidates, retrieval: str = "max") -> Candidates:
    """Choose among candidates by one of the four strategies of A19, section 3.

    - ``forward``: the best-scoring target in each source's own list; ties go to the lower row
    - ``backward``: the best-scoring source in each target's own list; ties go to the lower row
    - ``intersection``: the pairs that are both
    - ``max``: the pairs that are either, then one-to-one by :func:`match_one_to_one`

    ``intersection`` and ``max`` use each sentence at most once; ``forward`` may repeat a
    target, ``backward`` a source.

    Returns a subset of ``pairs`` sorted by (score descending, source_row, target_row), the same
    for any order of ``pairs``. Raises ``ValueError`` for an unknown retrieval.
    """
    chosen = Retrieval(int(pairs.target_row.max(initial=-1)) + 1, retrieval)
    chosen.add(pairs)
    return chosen.result()


class Retrieval:
    """:func:`retrieve` on blocks of candidates whose sources ascend from block to block."""

    def __init__(self, n_target: int, retrieval: str = "max"):
        self.retrieval = canonical(retrieval, RETRIEVALS)
        self._forward: list[Candidates] = []
        # Best pair of each target so far; -1 without a source.
        self._best = Candidates.zeros(n_target)
        self._best.source_row[:] = -1

    def add(self, block: Candidates) -> None:
        """Add a block."""
        self.add_best(*best_pairs(block))

    def add_best(self, forward: Candidates, backward: Candidates) -> None:
        """Add :func:`best_pairs` of a block."""
        self._forward.append(forward)
        row, best = backward.target_row, self._best
        # For equal scores the lower source, which came first, is kept.
        better = (best.source_row[row] < 0) | (backward.score > best.score[row])
        for field in fields(best):
            getattr(best, field.name)[row[better]] = getattr(backward, field.name)[better]

    def result(self) -> Candidates:
        """Return :func:`retrieve`'s result for all candidates. No block can be added after it."""
        parts = [self._best.take(self._best.source_row >= 0)]
        del self._best
        if self.retrieval != "backward":
            # Backward pairs come last. To save memory, parts are freed when they are joined.
            parts = [*self._forward, *parts] if self.retrieval != "forward" else self._forward
        self._forward = []
        columns: list[Any] = [
            [getattr(part, field.name) for part in parts] for field in fields(Candidates)
        ]
        del parts
        for number, column in enumerate(columns):
            columns[number] = np.concatenate(column or [np.empty(0, DTYPES[number])])
            del column
        chosen = Candidates(*columns)
        del columns
        if self.retrieval in ("intersection", "max"):
            key = (chosen.source_row << 32) + chosen.target_row
            order = np.argsort(key, kind="stable")
            key = key[order]
            first = run_starts(key)
            if self.retrieval == "intersection":  # the first of two equal pairs
                first[:-1] &= ~first[1:]
                first[-1:] = False
            chosen = chosen.take(order[first])
            del key, order, first
        arrange = match_one_to_one if self.retrieval == "max" else _order
        return chosen.take(arrange(chosen.score, chosen.source_row, chosen.target_row))


def best_pairs(block: Candidates) -> tuple[Candidates, Candidates]:
    """Return the best target of each source in its list, and the best source of each target."""
    source, target, score = block.source_row, block.target_row, block.score
    return (
        block.take(_best_each(block.forward_rank > 0, source, target, score)),
        block.take(_best_each(block.backward_rank > 0, target, source, score)),
    )


def match_one_to_one(
    score: NDArray[np.floating], source_row: NDArray[np.int64], target_row: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Greedy one-to-one matching: the last step of A19's ``max`` retrieval.

    Visits pairs ``(m,)`` by (score descending, source_row, target_row) and keeps those whose
    sentences are both free. Returns the kept positions, int64, in the order visited. Raises
    ``ValueError`` when the lengths differ or a score is NaN.
    """
    if not len(score) == len(source_row) == len(target_row):
        raise ValueError("scores and rows to match differ in length")
    refuse_nan(score)
    order = _order(score, source_row, target_row)
    # Consecutive numbers keep the arrays of used sentences small, however far the rows spread.
    sources, source = np.unique(source_row, return_inverse=True)
    targets, target = np.unique(target_row, return_inverse=True)
    source_taken, target_taken = bytearray(len(sources)), bytearray(len(targets))
    kept = array("q")
    # Plain lists and bytearrays, because indexing numpy arrays one by one is several times slower.
    # In parts, because an integer of a list takes several times the memory of one in an array.
    for start in range(0, len(order), PART):
        part = order[start : start + PART]
        visits = zip(part.tolist(), source[part].tolist(), target[part].tolist(), strict=True)
        for position, s, t in visits:
            if not (source_taken[s] or target_taken[t]):
                source_taken[s] = target_taken[t] = 1
                kept.append(position)
    return np.array(kept, dtype=np.int64)


def _best_each(
    listed: NDArray[np.bool_],
    query_row: NDArray[np.int64],
    answer_row: NDArray[np.int64],
    score: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return a (m,) mask of the best listed pair of each query; ties go to the lower answer."""
    mask = np.zeros(len(listed), dtype=np.bool_)
    position = np.nonzero(listed)[0]
    if not len(position):
        return mask
    position = position[np.argsort(query_row[position], kind="stable")]
    begins, scores = run_starts(query_row[position]), score[position]
    best = np.maximum.reduceat(scores, np.flatnonzero(begins))
    # Few rows remain for the full sort: the best, and ties with them.
    position = position[scores == best[np.cumsum(begins) - 1]]
    position = position[np.lexsort((answer_row[position], query_row[position]))]
    mask[position[run_starts(query_row[position])]] = True
    return mask


def _order(
    score: NDArray[np.floating], source_row: NDArray[np.int64], target_row: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sort positions by (score descending, source_row ascending, target_row ascending)."""
    return np.lexsort((target_row, source_row, -score)).astype(np.int64, copy=False)
