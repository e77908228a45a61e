"""Which sentences may stand against a pair, and the hardest of them (P18, P19).

Negatives come from the opposite language only. Not a negative of pair ``i`` is the partner itself,
any copy of it, and the partner of any copy of the sentence: Tatoeba gives one English sentence
several German translations, and none of them is wrong.
"""

import numpy as np

# Rows of one block of the similarity matrix: bounds the memory, not the result.
BLOCK = 2048


def related(source_text: np.ndarray, target_text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions ``(i, j)``, each ``(m,) int64``, of pairs that share a sentence; i = j included.

    ``*_text (n,) int64`` number the distinct sentences of each side. The relation is symmetric.
    """
    rows, columns = [np.arange(len(source_text))], [np.arange(len(source_text))]
    for text in (source_text, target_text):
        order = np.argsort(text, kind="stable")
        _, starts, counts = np.unique(text[order], return_index=True, return_counts=True)
        for i in np.flatnonzero(counts > 1):
            copies = order[starts[i] : starts[i] + counts[i]]
            rows.append(np.repeat(copies, len(copies)))
            columns.append(np.tile(copies, len(copies)))
    return np.concatenate(rows), np.concatenate(columns)


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
    i, j = related(source_text, target_text)
    order = np.argsort(i, kind="stable")
    i, j = i[order], j[order]
    target_negative = np.full(n, -1, dtype=np.int64)
    source_negative = np.full(n, -1, dtype=np.int64)
    best = np.full(n, -np.inf, dtype=np.float32)  # of source_negative so far
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        similarity = source[start:end] @ target.T  # (block, n)
        low, high = np.searchsorted(i, (start, end))
        similarity[i[low:high] - start, j[low:high]] = -np.inf

        nearest = similarity.argmax(axis=1)
        found = similarity[np.arange(end - start), nearest] > -np.inf
        target_negative[start:end][found] = nearest[found]

        nearest = similarity.argmax(axis=0)
        value = similarity[nearest, np.arange(n)]
        better = value > best
        best[better] = value[better]
        source_negative[better] = nearest[better] + start
    return target_negative, source_negative
