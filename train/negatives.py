"""Which sentences may stand against a pair, and the hardest of them (P18, P19).

Negatives come from the opposite side only. Not a negative of pair ``i`` is the partner itself, any
copy of it, and the partner of any copy of the sentence: Tatoeba gives one English sentence several
German translations, and none of them is wrong.
"""

from collections.abc import Iterator

import numpy as np

from miner.engines import Lists, choose
from miner.kernels.exact import rescore
from miner.machine import thread_count

# The nearest that are looked at: the pair itself, copies, and what rounding may put in front.
KEPT = 8


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


def hardest_reference(
    source: np.ndarray, target: np.ndarray, source_text: np.ndarray, target_text: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`hardest` finds, by the whole matrix in double precision."""
    similarity = (source.astype(np.float64) @ target.T.astype(np.float64)).astype(np.float32)
    np.fill_diagonal(similarity, -np.inf)
    for row, rows in related(source_text, target_text):
        similarity[row, rows] = -np.inf
    best = similarity.argmax(axis=1), similarity.argmax(axis=0)
    some = np.isfinite(similarity.max(axis=1)), np.isfinite(similarity.max(axis=0))
    return np.where(some[0], best[0], -1), np.where(some[1], best[1], -1)


def hardest(
    source: np.ndarray, target: np.ndarray, source_text: np.ndarray, target_text: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The most similar sentence of the opposite language that is a negative of each pair.

    ``source, target (n, d) float32`` unit rows, pairs by row. Returns ``target_negative`` (for
    source ``i`` the row of a target) and ``source_negative`` (for target ``i`` the row of a
    source), each ``(n,) int64``, -1 where there is none. Ties go to the lower row.

    The engine that mines finds the few nearest in both directions in one pass; among these the
    exact cosine decides.
    """
    n = len(source)
    lists = Lists.empty(n, min(n, KEPT)), Lists.empty(n, min(n, KEPT))
    engine = choose("fused", "cpu", False, thread_count())
    rows, columns = (
        engine.prepare(side, columns=second) for side, second in ((source, False), (target, True))
    )
    if n:
        engine.merge(rows, 0, columns, 0, lists)
    forbidden: dict[int, list[np.ndarray]] = {}
    for row, others in related(source_text, target_text):
        forbidden.setdefault(row, []).append(others)
    # The relation is symmetric: one table serves both directions.
    return (
        _best(source, target, lists[0].position, forbidden),
        _best(target, source, lists[1].position, forbidden),
    )


def _best(
    queries: np.ndarray,
    base: np.ndarray,
    candidates: np.ndarray,
    forbidden: dict[int, list[np.ndarray]],
) -> np.ndarray:
    """The nearest of each row's ``candidates (n, w)`` that is a negative; of all, if none is."""
    n = len(queries)
    candidates = np.where(candidates == np.arange(n)[:, None], -1, candidates).astype(np.int64)
    for row, parts in forbidden.items():
        candidates[row, np.isin(candidates[row], np.concatenate(parts))] = -1
    similarity = np.empty(candidates.shape, dtype=np.float32)
    rescore(queries, base, candidates, similarity)
    # By similarity, of equals the lower row.
    order = np.lexsort((candidates, -similarity), axis=1)[:, :1]
    best = np.take_along_axis(candidates, order, axis=1)[:, 0]
    for row in np.flatnonzero(best < 0).tolist():
        exact = np.empty((1, n), dtype=np.float32)
        rescore(queries[row : row + 1], base, np.arange(n)[None, :], exact)
        exact[0, row] = -np.inf
        for part in forbidden.get(row, ()):
            exact[0, part] = -np.inf
        if np.isfinite(exact.max()):
            best[row] = exact.argmax()
    return best
