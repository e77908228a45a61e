"""Which sentences may stand against a pair, and the hardest of them (P18, P19).

Negatives come from the opposite side only. Not a negative of pair ``i`` is the partner itself, any
copy of it, and the partner of any copy of the sentence: Tatoeba gives one English sentence several
German translations, and none of them is wrong.
"""

from collections.abc import Iterator

import numpy as np

from miner.kernels.embed import column_best

# Rows of one block of the similarity matrix: bounds the memory, not the result.
BLOCK = 2048


def related(source_text: np.ndarray, target_text: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Pairs that share a sentence with another: ``(row, rows)``, itself among the rows.

    ``*_text (n,) int64`` number the distinct sentences, of both sides by one count, so that a
    sentence that stands in both columns (several language pairs in one training) is known. A row
    comes up to twice, for its source and for its target. Not one list of all pairs of rows: ten
    thousand copies of a sentence would make a hundred million.
    """
    n = len(source_text)
    text = np.concatenate([source_text, target_text])
    order = np.argsort(text, kind="stable")
    _, starts, counts = np.unique(text[order], return_index=True, return_counts=True)
    for start, count in zip(starts[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True):
        rows = np.unique(order[start : start + count] % n)
        if len(rows) > 1:
            for row in rows.tolist():
                yield row, rows


def hardest(
    source: np.ndarray, target: np.ndarray, source_text: np.ndarray, target_text: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The most similar sentence of the opposite language that is a negative of each pair.

    ``source, target (n, d) float32`` unit rows, pairs by row. Returns ``target_negative`` (for
    source ``i`` the row of a target) and ``source_negative`` (for target ``i`` the row of a
    source), each ``(n,) int64``, -1 where there is none. Ties go to the lower row. One pass over
    blocks of the similarity matrix gives both directions.
    """
    n = len(source)
    forbidden: list[list[np.ndarray]] = [[] for _ in range(n)]
    for row, rows in related(source_text, target_text):
        forbidden[row].append(rows)
    target_negative = np.full(n, -1, dtype=np.int64)
    source_negative = np.full(n, -1, dtype=np.int64)
    best = np.full(n, -np.inf, dtype=np.float32)  # of source_negative so far
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        similarity = source[start:end] @ target.T  # (block, n)
        # The relation is symmetric, so that one mask serves both directions.
        similarity[np.arange(end - start), np.arange(start, end)] = -np.inf
        for row in range(start, end):
            for rows in forbidden[row]:
                similarity[row - start, rows] = -np.inf

        nearest = similarity.argmax(axis=1)
        found = similarity[np.arange(end - start), nearest] > -np.inf
        target_negative[start:end][found] = nearest[found]

        column_best(similarity, start, best, source_negative)
    return target_negative, source_negative
