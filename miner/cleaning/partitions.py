"""Comparison of all pairs of a text in parts: the best pair of each key, by hash partitions.

Each piece of the text emits its best pair for each key, so that a repeated text fills no partition.
A partition finds the best over all pieces, and answers each piece in its order.
"""

from collections.abc import Iterator, Sequence

import numpy as np

# Best pair of a key in a piece.
ENTRY = np.dtype([("key", "<u8"), ("rank", "<f8"), ("row", "<i8")])
# Pair with its rank score, row and target tokens.
RANKED = np.dtype([("rank", "<f8"), ("row", "<i8"), ("words", "<u4")])
# Pairs merged at a time: of all pieces together, and at least of each piece.
MERGED, LEAST = 1 << 19, 1 << 10


def entries(keys: np.ndarray, rank: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the best pair of each key: entries ``(e,)`` of ENTRY, by key.

    ``keys (m,) uint64``, ``rank (m,) float64``, higher is better, ``rows (m,) int64``; the first
    row wins a tie.
    """
    order = np.lexsort((rows, -rank))
    _, first = np.unique(keys[order], return_index=True)
    best = order[first]
    found = np.empty(len(best), dtype=ENTRY)
    found["key"], found["rank"], found["row"] = keys[best], rank[best], rows[best]
    return found


def best_rows(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the row of the best pair of each entry's key, for one partition over all pieces.

    ``parts`` are the entries of each piece. Returns rows ``(e,) int64`` in their order.
    """
    joined = np.concatenate([np.empty(0, dtype=ENTRY), *parts])
    order = np.lexsort((joined["row"], -joined["rank"]))
    rows = joined["row"][order]
    _, first, place = np.unique(joined["key"][order], return_index=True, return_inverse=True)
    best = np.empty(len(joined), dtype=np.int64)
    best[order] = rows[first[place]]
    return best


def answers(keys: np.ndarray, own: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the row of the best pair of each key, ``(m,) int64``.

    ``own``: the :func:`entries` of these keys, ``best (e,)``: the answer to each entry.
    """
    order = np.argsort(own["key"])
    return np.asarray(best[order][np.searchsorted(own["key"][order], keys)])


def ranked(rank: np.ndarray, rows: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs ``(m,)`` of RANKED, best first, and the sorting order."""
    order = np.lexsort((rows, -rank))
    found = np.empty(len(order), dtype=RANKED)
    found["rank"], found["row"], found["words"] = rank[order], rows[order], words[order]
    return found, order


def merged(runs: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray, list[slice]]]:
    """Merge sorted pairs of all pieces, a part at a time, so that memory stays bounded.

    ``runs`` are arrays of :func:`ranked`. Yields the pairs of a part, best first, the rank of each
    in the part ``(p,)``, piece by piece, and the slice of each run in the part.
    """
    heads = [0] * len(runs)
    size = max(LEAST, MERGED // max(1, len(runs)))
    while any(head < len(run) for head, run in zip(heads, runs, strict=True)):
        blocks = [run[head : head + size] for head, run in zip(heads, runs, strict=True)]
        # All pairs after a block of a run follow the block's last pair, unless it ends the run.
        ends = [
            (-float(block["rank"][-1]), int(block["row"][-1]))
            for block, head, run in zip(blocks, heads, runs, strict=True)
            if head + len(block) < len(run)
        ]
        taken = [_up_to(block, min(ends)) if ends else len(block) for block in blocks]
        part = np.concatenate([b[:count] for b, count in zip(blocks, taken, strict=True)])
        order = np.lexsort((part["row"], -part["rank"]))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        spans = [slice(head, head + count) for head, count in zip(heads, taken, strict=True)]
        heads = [span.stop for span in spans]
        yield part[order], place, spans


def _up_to(block: np.ndarray, end: tuple[float, int]) -> int:
    """Count the pairs of a block that do not follow ``end``, a negated rank and a row."""
    rank = -block["rank"]
    low, high = np.searchsorted(rank, end[0], "left"), np.searchsorted(rank, end[0], "right")
    return int(low + np.searchsorted(block["row"][low:high], end[1], "right"))
