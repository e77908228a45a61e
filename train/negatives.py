"""Which sentences may stand against a pair, and which of them do (P17, P18, P19).

Not a negative of pair ``i`` is the partner itself, any copy of it or of the sentence, and the
partner of any copy: Tatoeba gives one English sentence several German translations, and none of
them is wrong. In short, two pairs that share a sentence, on whichever side, are *related*, and no
sentence of the one stands against one of the other.

``*_text (n,) int64`` number the distinct sentences, of both sides by one count, so that a sentence
that stands in both columns (several language pairs in one training) is known.
"""

import numpy as np

from miner.kernels.exact import rescore
from miner.knn.engines import choose_engine
from miner.knn.lists import Lists
from miner.machine import thread_count

# The nearest that are looked at: the pair itself, copies, and what rounding may put in front.
KEPT = 8
# Up to so many sentences to choose from, all are looked at; no search takes less.
FEW = 256
# Sentences that are drawn at random before all are looked at for one that is allowed.
DRAWS = 8
# Candidates that are in memory at a time, where all are looked at; 32 MB of them.
MOST = 1 << 22


def forbidden_pairs(query_text: np.ndarray, candidate_text: np.ndarray) -> np.ndarray:
    """Queries and candidates of related pairs, but for query ``i`` and candidate ``i``.

    ``query_text (b, 2) int64`` are the text numbers of the pairs whose sentences are the queries,
    ``candidate_text (c, 2) int64`` those of the pairs that the candidates come from; candidate
    ``i`` is taken to be the true one of query ``i``. Returns ``(p, 2) int64``, by query, then by
    candidate: what :mod:`train.losses` calls forbidden. A join of sorted numbers, which takes time
    and memory by what it finds.
    """
    c = len(candidate_text)
    order = np.argsort(candidate_text, axis=None, kind="stable")
    number = candidate_text.ravel()[order]
    first, last = (np.searchsorted(number, query_text.ravel(), side) for side in ("left", "right"))
    count = last - first
    row = np.repeat(np.arange(query_text.size) // 2, count)
    # Runs of places in the order, each from its `first`.
    place = np.arange(len(row)) + np.repeat(first - (np.cumsum(count) - count), count)
    found = np.unique(row * c + order[place] // 2)  # two pairs may share both sentences
    pairs = np.stack(np.divmod(found, max(c, 1)), axis=1)
    return pairs[pairs[:, 0] != pairs[:, 1]]


def forbidden_pairs_reference(query_text: np.ndarray, candidate_text: np.ndarray) -> np.ndarray:
    """The same, one pair at a time."""
    found = [
        (i, j)
        for i, query in enumerate(query_text.tolist())
        for j, candidate in enumerate(candidate_text.tolist())
        if i != j and set(query) & set(candidate)
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def choose_negatives(
    source: np.ndarray | None,
    target: np.ndarray | None,
    source_text: np.ndarray,
    target_text: np.ndarray,
    mode: str,
    either: bool,
    generator: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """A negative of every source and of every target: ``for_source, for_target (n,) int64``.

    Sentences are counted over both columns: 0 to n - 1 are the sources, n to 2n - 1 the targets; -1
    is none. A sentence's negative is of the opposite column, or where ``either`` (two columns of
    one language, P18) any sentence of both, of pairs that are not related to its own.

    ``mode`` (P18): ``max`` takes the nearest by cosine, of equals the lower row; ``rand`` any, each
    with the same probability; ``mix`` one or the other for both sentences of a pair, by a coin.
    ``source, target (n, d) float32`` are unit rows, pairs by row; ``rand`` needs none.
    """
    text = np.stack([source_text, target_text])
    if mode == "rand":
        return _drawn(text, either, generator)
    assert source is not None and target is not None, f"{mode} goes by vectors"
    nearest = _nearest(source, target, text, either)
    if mode == "max":
        return nearest
    drawn = _drawn(text, either, generator)
    coin = generator.random(len(source)) < 0.5
    return np.where(coin, nearest[0], drawn[0]), np.where(coin, nearest[1], drawn[1])


def allowed_reference(source_text: np.ndarray, target_text: np.ndarray, either: bool) -> np.ndarray:
    """Which sentence may stand against which: ``(2n, 2n) bool``, one pair of them at a time."""
    n = len(source_text)
    texts = [set(pair) for pair in zip(source_text.tolist(), target_text.tolist(), strict=True)]
    allowed = np.zeros((2 * n, 2 * n), dtype=bool)
    for a, b in np.ndindex(allowed.shape):
        allowed[a, b] = not texts[a % n] & texts[b % n] and (either or a // n != b // n)
    return allowed


def nearest_reference(
    source: np.ndarray,
    target: np.ndarray,
    source_text: np.ndarray,
    target_text: np.ndarray,
    either: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`choose_negatives` takes for ``max``, by the whole matrix in double precision."""
    n = len(source)
    if n == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    both = np.concatenate([source, target]).astype(np.float64)
    similarity = (both @ both.T).astype(np.float32)
    similarity[~allowed_reference(source_text, target_text, either)] = -np.inf
    best = np.where(np.isfinite(similarity.max(axis=1)), similarity.argmax(axis=1), -1)
    return best[:n], best[n:]


def _related(text: np.ndarray, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether pairs ``rows`` and ``others``, of one shape or broadcast to it, share a sentence."""
    s, t = text  # (2, n)
    found = (s[rows] == s[others]) | (t[rows] == t[others])
    return found | (s[rows] == t[others]) | (t[rows] == s[others])


def _nearest(
    source: np.ndarray, target: np.ndarray, text: np.ndarray, either: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest negatives, counted over both columns.

    The engine that mines finds the few nearest in one pass; among these the exact cosine decides.
    """
    n = len(source)
    if either:
        both = np.concatenate([source, target])
        best = _best(both, both, _near(both, both)[0], text)
        return best[:n], best[n:]
    near = _near(source, target)
    for_source = _best(source, target, near[0], text)
    return np.where(for_source < 0, -1, for_source + n), _best(target, source, near[1], text)


def _near(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The few nearest columns of each row, and vice versa: ``(n, w) int32``.

    None (w is 0) of a few, all of which may as well be looked at.
    """
    n = len(rows)
    width = KEPT if n > FEW else 0
    lists = Lists.empty(n, width), Lists.empty(n, width)
    if width:
        engine = choose_engine("fused", "cpu", False, thread_count())
        prepared = engine.prepare(rows, columns=False), engine.prepare(columns, columns=True)
        engine.merge(prepared[0], 0, prepared[1], 0, lists)
    return lists[0].position, lists[1].position


def _best(
    queries: np.ndarray, base: np.ndarray, candidates: np.ndarray, text: np.ndarray
) -> np.ndarray:
    """The nearest of each row's ``candidates (q, w)`` that is a negative; of all, if none is.

    Sentence ``i`` of ``queries (q, d)``, and of ``base (m, d)``, belongs to pair ``i % n``.
    """
    everything = np.arange(len(base))
    candidates = np.sort(candidates.astype(np.int64), axis=1)
    best = _exact(queries, base, np.arange(len(queries)), candidates, text)
    left = np.flatnonzero(best < 0)
    height = max(1, MOST // max(1, len(base)))
    for start in range(0, len(left), height):
        part = left[start : start + height]
        candidates = np.tile(everything, (len(part), 1))
        best[part] = _exact(queries[part], base, part, candidates, text)
    return best


def _exact(
    queries: np.ndarray,
    base: np.ndarray,
    rows: np.ndarray,
    candidates: np.ndarray,
    text: np.ndarray,
) -> np.ndarray:
    """For the queries, which are sentences ``rows (q,)``, the nearest of their candidates, or -1.

    ``candidates (q, w) int64`` ascend in each row; -1 is none.
    """
    if candidates.size == 0:
        return np.full(len(rows), -1)
    n = text.shape[1]
    bad = (candidates < 0) | _related(text, rows[:, None] % n, candidates % n)
    candidates = np.where(bad, -1, candidates)
    similarity = np.empty(candidates.shape, dtype=np.float32)
    rescore(queries, base, candidates, similarity)
    # Of equals the first. Where none is allowed, all are -1.
    return np.take_along_axis(candidates, similarity.argmax(axis=1)[:, None], axis=1)[:, 0]


def _drawn(
    text: np.ndarray, either: bool, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Random negatives, counted over both columns: of several draws the first that is allowed.

    Where none of them is, one of all that are.
    """
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
    # Draws from the opposite column are rows of it, from 0.
    return (for_source if either else np.where(for_source < 0, -1, for_source + n)), for_target
