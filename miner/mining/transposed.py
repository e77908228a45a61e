"""Lists and logits that parts of one side write for parts of the other, which read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miner.arrays import Columns
from miner.knn.neighbors import Neighbors
from miner.ragged import offsets_of

# A source's place in the list of a target. Rows count from the first of their shards.
LISTED = np.dtype([("source", "<i4"), ("target", "<i4"), ("place", "<i2"), ("similarity", "<f4")])
# A candidate's logit, for the shard of its target.
RIVAL = np.dtype([("target", "<i4"), ("logit", "<f8")])


def located(row: np.ndarray, firsts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the part of each row ``(m,)``, and the row from the first of its part."""
    edges = np.asarray(firsts, dtype=np.int64)
    part = np.searchsorted(edges, row, side="right") - 1
    return part, row - edges[part]


def parted(shard: np.ndarray, shards: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the order ``(m,)`` that sorts items by shard, and where each shard begins."""
    order = np.argsort(shard.astype(np.min_scalar_type(shards)), kind="stable")
    return order, offsets_of(np.bincount(shard, minlength=shards))


def listed_parts(found: Neighbors, firsts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the places in the lists of a part of the targets, by part of their sources.

    ``firsts (p,)`` are the rows at which the parts of the sources begin. Also returned is where
    the places of each part begin, ``(p + 1,)``.
    """
    target, place = np.nonzero(found.row >= 0)
    source = found.row[target, place]
    shard, source = located(source, firsts)
    order, starts = parted(shard, len(firsts))
    parts = np.empty(len(order), dtype=LISTED)
    parts["source"] = source[order]
    parts["target"], parts["place"] = target[order], place[order]
    parts["similarity"] = found.similarity[target, place][order]
    return parts, starts


@dataclass(frozen=True, eq=False)
class TransposedLists(Columns):
    """Lists of targets as seen by the sources of a part: their targets, places there, similarities.

    Sources count from the first of the part.
    """

    source: np.ndarray
    target: np.ndarray
    place: np.ndarray
    similarity: np.ndarray

    @classmethod
    def of_parts(cls, parts: Sequence[tuple[np.ndarray, int]]) -> TransposedLists:
        """Join parts of LISTED, each with the first row of its shard of targets."""
        found = np.concatenate([np.empty(0, dtype=LISTED), *(part for part, _ in parts)])
        first = np.repeat([first for _, first in parts], [len(part) for part, _ in parts])
        target = found["target"].astype(np.int64) + first.astype(np.int64)
        source = found["source"].astype(np.int64)
        return cls(source, target, found["place"].copy(), found["similarity"].copy())

    @classmethod
    def of(
        cls, similarity: np.ndarray, row: np.ndarray, span: tuple[int, int], first: int = 0
    ) -> TransposedLists:
        """Find the sources of a span in the lists of targets, which count from ``first``."""
        target, place = np.nonzero((row >= span[0]) & (row < span[1]))
        source = row[target, place] - span[0]
        return cls(source, target + first, place.astype(np.int16), similarity[target, place])

    def by_source(self, sources: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return where each source begins, and targets, places and similarities by source."""
        order = np.argsort(self.source, kind="stable")
        starts = offsets_of(np.bincount(self.source, minlength=sources))
        return starts, self.target[order], self.place[order], self.similarity[order]


def rival_parts(
    target: np.ndarray, logit: np.ndarray, firsts: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logits of candidates by part of their targets, and where each part begins.

    ``firsts`` are the rows at which the parts begin. Decoys, which follow the targets, are in the
    last part.
    """
    shard, target = located(target, firsts)
    order, starts = parted(shard, len(firsts))
    parts = np.empty(len(order), dtype=RIVAL)
    parts["target"] = target[order]
    parts["logit"] = logit[order]
    return parts, starts
