"""Choice of negatives: the sentences that a pair must beat (P17, P18, P19).

Two pairs that share a sentence, on either side, are *related*: Tatoeba gives one English sentence
several German translations, and none of them is wrong. Sentences of related pairs are never
negatives of each other.

``*_text (n,) int64`` are text ids, of both sides by one count, so that a sentence in both columns
(several language pairs in one training) is known.
"""

import numpy as np

from miner.kernels.exact import rescore
from miner.knn.engines import choose_engine
from miner.knn.lists import Lists
from miner.machine import thread_count

# Nearest sentences to compare exactly: the partner, duplicates, and sentences that rounding may
# promote.
KEPT = 8
# Number of sentences up to which all are compared, which is faster than a search.
FEW = 256
# Random draws per sentence; if none is allowed, all allowed sentences are listed.
DRAWS = 8
# Maximum candidates in memory when all are compared; 32 MB.
MOST = 1 << 22


def forbidden_pairs(query_text: np.ndarray, candidate_text: np.ndarray) -> np.ndarray:
    """Find queries and candidates of related pairs: ``(p, 2) int64``, by query, then candidate.

    ``query_text (b, 2)`` and ``candidate_text (c, 2) int64`` are the text ids of their pairs.
    Candidate ``i`` is the true one of query ``i`` and is not in the result.
    """
    c = len(candidate_text)
    order = np.argsort(candidate_text, axis=None, kind="stable")
    number = candidate_text.ravel()[order]
    first, last = (np.searchsorted(number, query_text.ravel(), side) for side in ("left", "right"))
    count = last - first
    row = np.repeat(np.arange(query_text.size) // 2, count)
    # Runs of positions in the order, each from its `first`.
    positions = np.arange(len(row)) + np.repeat(first - (np.cumsum(count) - count), count)
    keys = np.unique(row * c + order[positions] // 2)  # two pairs may share both sentences
    pairs = np.stack(np.divmod(keys, max(c, 1)), axis=1)
    return pairs[pairs[:, 0] != pairs[:, 1]]


def choose_negatives(
    source: np.ndarray | None,
    target: np.ndarray | None,
    source_text: np.ndarray,
    target_text: np.ndarray,
    mode: str,
    either: bool,
    generator: np.random.Generator,
    below: float = 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Choose a negative of each source and of each target: ``for_source, for_target (n,) int64``.

    Rows count both columns, sources first; -1 is none. A negative is from the opposite column, or
    with ``either`` (two columns of one language, P18) from both, and never from a related pair.

    ``mode``: ``max`` takes the nearest by cosine, the lower row of equals; ``rand`` a random
    sentence; ``mix`` one of both, drawn for each pair with equal probability. ``source, target (n,
    d) float32`` are unit rows, pairs by row; ``rand`` needs none. A nearest
    negative has a cosine of at most ``below`` (P18, arXiv, footnote 4).
    """
    text = np.stack([source_text, target_text])
    if mode == "rand":
        return _drawn(text, either, generator)
    assert source is not None and target is not None, f"{mode} goes by vectors"
    nearest = _nearest(source, target, text, either, below)
    if mode == "max":
        return nearest
    drawn = _drawn(text, either, generator)
    coin = generator.random(len(source)) < 0.5
    return np.where(coin, nearest[0], drawn[0]), np.where(coin, nearest[1], drawn[1])


def _related(text: np.ndarray, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return True where the pairs ``rows`` and ``others``, broadcast together, share a sentence."""
    s, t = text  # (2, n)
    shared = (s[rows] == s[others]) | (t[rows] == t[others])
    return shared | (s[rows] == t[others]) | (t[rows] == s[others])


def _nearest(
    source: np.ndarray, target: np.ndarray, text: np.ndarray, either: bool, below: float
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest negatives: search a few candidates, then choose by exact cosine."""
    n = len(source)
    if either:
        both = np.concatenate([source, target])
        best = _best(both, both, _near(both, both)[0], text, below)
        return best[:n], best[n:]
    near = _near(source, target)
    for_source = _best(source, target, near[0], text, below)
    return np.where(for_source < 0, -1, for_source + n), _best(target, source, near[1], text, below)


def _near(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Search the nearest columns of each row, and vice versa: ``(n, w) int32``, w = 0 for few."""
    n = len(rows)
    width = KEPT if n > FEW else 0
    lists = Lists.empty(n, width), Lists.empty(n, width)
    if width:
        engine = choose_engine("fused", False, thread_count())
        prepared = engine.prepare(rows, columns=False), engine.prepare(columns, columns=True)
        engine.merge(prepared[0], 0, prepared[1], 0, lists)
    return lists[0].position, lists[1].position


def _best(
    queries: np.ndarray,
    base: np.ndarray,
    candidates: np.ndarray,
    text: np.ndarray,
    below: float,
) -> np.ndarray:
    """Find the nearest allowed one of each row's ``candidates (q, w)``, or else of all sentences.

    Sentence ``i`` of ``queries (q, d)``, and of ``base (m, d)``, belongs to pair ``i % n``.
    """
    candidates = np.sort(candidates.astype(np.int64), axis=1)
    best = _exact(queries, base, np.arange(len(queries)), candidates, text, below)
    left = np.flatnonzero(best < 0)
    height = max(1, MOST // max(1, len(base)))
    for start in range(0, len(left), height):
        part = left[start : start + height]
        candidates = np.tile(np.arange(len(base)), (len(part), 1))
        best[part] = _exact(queries[part], base, part, candidates, text, below)
    return best


def _exact(
    queries: np.ndarray,
    base: np.ndarray,
    rows: np.ndarray,
    candidates: np.ndarray,
    text: np.ndarray,
    below: float,
) -> np.ndarray:
    """Find the nearest allowed candidate of each query, sentence ``rows (q,)``; -1 without any.

    ``candidates (q, w) int64`` ascend in each row; -1 marks an empty slot.
    """
    if candidates.size == 0:
        return np.full(len(rows), -1)
    n = text.shape[1]
    bad = (candidates < 0) | _related(text, rows[:, None] % n, candidates % n)
    candidates = np.where(bad, -1, candidates)
    similarity = np.empty(candidates.shape, dtype=np.float32)
    rescore(queries, base, candidates, similarity)
    if below < 1:  # rounding may put a cosine above 1
        near = similarity > below
        candidates, similarity[near] = np.where(near, -1, candidates), -np.inf
    # argmax takes the first of equal values. If no candidate is allowed, all are -1.
    return np.take_along_axis(candidates, similarity.argmax(axis=1)[:, None], axis=1)[:, 0]


def _drawn(
    text: np.ndarray, either: bool, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a random negative for each sentence, again if the draw is not allowed."""
    n = text.shape[1]
    rows = np.arange(2 * n) % max(n, 1)
    draws = generator.integers(0, max(2 * n if either else n, 1), (2 * n, DRAWS))
    good = ~_related(text, rows[:, None], draws % max(n, 1))
    chosen = np.where(good.any(axis=1), draws[np.arange(2 * n), good.argmax(axis=1)], -1)
    everything = np.arange(n)
    for i in np.flatnonzero(chosen < 0).tolist():
        allowed = np.flatnonzero(~_related(text, rows[i], everything))
        if either:
            allowed = np.concatenate([allowed, allowed + n])
        if len(allowed):
            chosen[i] = generator.choice(allowed)
    for_source, for_target = chosen[:n], chosen[n:]
    # Draws from the opposite column are rows of that column, from 0.
    return (for_source if either else np.where(for_source < 0, -1, for_source + n)), for_target
