"""Filters `duplicates` and `near_duplicates`: of pairs that are alike, keep the best-scoring one.

They compare the pairs kept by the filters before them, so their result depends on theirs.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from miner.filters.filter_types import (
    Batch,
    Comparison,
    Context,
    Rivals,
)
from miner.scoring.matching import match_one_to_one
from miner.text import near_copies
from miner.text.near_copies import HASHES, encoded, key, shingles, told

# Compared texts: the columns of `keys`.
TEXTS = ("pair", "source", "target")


def keys(batch: Batch, exact: bool) -> np.ndarray:
    """Hashes of the pair, the source and the target ``(n, 3) uint64``; equal texts, equal keys."""
    out = np.empty((len(batch), 3), dtype=np.uint64)
    sides = (batch.source, batch.target) if exact else batch.sides
    for row, pair in enumerate(zip(*sides, strict=True)):
        source, target = (encoded(text if exact else told(text)) for text in pair)
        # The length distinguishes "a", "bc" from "ab", "c".
        texts = (b"%d " % len(source) + source + target, source, target)
        for column, text in enumerate(texts):
            out[row, column] = key(text)
    return out


def duplicates_of_either(keys: np.ndarray, score: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return for each pair the row of the kept duplicate, -1 for a pair that is kept: ``(m,)
    int64``.

    A pair is removed if its source or its target is in a better pair that is kept. keys: ``(m, 2)
    uint64``, of source and target. score: ``(m,)``, higher is better; the first row wins a tie.
    rows: ``(m,) int64``, ascending.
    """
    # Ranks instead of scores, because hashes must not decide between equal ones.
    worth = np.empty(len(rows))
    worth[np.lexsort((rows, -score))] = -np.arange(len(rows))
    sides = [np.unique(column, return_inverse=True)[1] for column in keys.T]
    kept = np.zeros(len(rows), dtype=bool)
    kept[match_one_to_one(worth, *sides)] = True
    out = np.full(len(rows), -1, dtype=np.int64)
    for group in reversed(sides):  # a duplicate by source is reported before one by target
        best = np.full(group.max(initial=-1) + 1, -1, dtype=np.int64)
        best[group[kept]] = rows[kept]
        repeated = ~kept & (best[group] >= 0)
        out[repeated] = best[group][repeated]
    return out


class Duplicates(Comparison):
    """Comparison by hashes of the texts, plain or exact."""

    def __init__(self, settings: Mapping[str, Any], context: Context):
        self.of, self.exact = settings["of"], settings["exact"]
        self.field = ("exact key" if self.exact else "key", "<u8", 3)
        # With "either", the decision on a pair depends on a chain of other pairs.
        self.by = "all" if self.of == "either" else "best"

    def sketch(self, batch: Batch) -> np.ndarray:
        return keys(batch, self.exact)

    def keys(self, sketches: np.ndarray) -> np.ndarray:
        if self.of == "either":
            return sketches[:, 1:]
        column = TEXTS.index(self.of)
        return sketches[:, column : column + 1]

    def scores(self, rivals: Rivals) -> np.ndarray:
        if self.of == "either":
            return duplicates_of_either(rivals.keys, rivals.rank, rivals.rows)
        best = rivals.best[:, 0]
        return np.where(best == rivals.rows, -1, best)


def signatures(batch: Batch) -> np.ndarray:
    """MinHash signatures of the shingles of both sides: ``(n, HASHES) uint32``."""
    sets = [
        [*shingles("s" + told(source)), *shingles("t" + told(target))]
        for source, target in zip(*batch.sides, strict=True)
    ]
    return near_copies.signatures(sets)


class NearDuplicates(Comparison):
    """Comparison by MinHash signatures."""

    field = ("signature", "<u4", HASHES)

    def sketch(self, batch: Batch) -> np.ndarray:
        return signatures(batch)

    def keys(self, sketches: np.ndarray) -> np.ndarray:
        return near_copies.band_keys(sketches)

    def scores(self, rivals: Rivals) -> np.ndarray:
        """Return the similarity of each pair to a better one, or 0.

        It is the greatest estimated share of common shingles (Jaccard) with the best pair of a
        band, even if that pair is removed for a still better one. Bands with colliding keys, one in
        billions, are compared in full like any others.
        """
        alike = np.zeros(len(rivals.rows))
        for column in rivals.best.T:
            later = np.flatnonzero(column != rivals.rows)
            for part in range(0, len(later), 1 << 16):
                rows = later[part : part + (1 << 16)]
                same = (rivals.sketches[rows] == rivals.sketches_of(column[rows])).mean(axis=1)
                alike[rows] = np.maximum(alike[rows], same)
        return alike


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "duplicates": {"build": Duplicates},
    "near_duplicates": {"build": lambda settings, context: NearDuplicates()},
}
