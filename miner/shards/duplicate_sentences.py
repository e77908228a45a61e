"""Duplicates among the sentences of a side, by partitions of the hashes of their plain forms.

The results are those of :func:`miner.index.store.first_rows` and of
:meth:`miner.index.store.Store.distinct`. All repeats of a sentence are in one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from miner.text.words import plain_form

# A sentence of a shard: its hash, its row in the shard, and whether its vector is not zero.
HASHED = np.dtype([("hash", "<u8"), ("row", "<i4"), ("known", "?")])
# A sentence of a partition: the same, with its row in the corpus.
ROW = np.dtype([("hash", "<u8"), ("row", "<i8"), ("known", "?")])
# Rows that are written at a time.
BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Duplicates:
    """Duplicates of a partition, all ascending: ``row`` repeats an earlier one, ``first``.

    ``dropped`` rows take no part in a search: their vectors are zero, or those of earlier rows.
    """

    row: np.ndarray
    first: np.ndarray
    dropped: np.ndarray
    count: np.ndarray

    @property
    def distinct(self) -> int:
        """Number of rows that take part in a search."""
        return int(self.count) - len(self.dropped)


def hashed(hashes: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the sentences of a shard by hash, ``(n,)`` of HASHED."""
    order = np.argsort(hashes, kind="stable")
    found = np.empty(len(order), dtype=HASHED)
    found["hash"], found["row"], found["known"] = hashes[order], order, known[order]
    return found


def partition_of(
    shards: Sequence[np.ndarray], firsts: Sequence[int], partition: int, partitions: int
) -> np.ndarray:
    """Return the sentences of all shards whose hashes are in a partition, ``(m,)`` of ROW.

    ``firsts`` are the rows of the corpus at which the shards begin.
    """
    parts = [np.empty(0, dtype=ROW)]
    for shard, first in zip(shards, firsts, strict=True):
        low, high = (
            len(shard) if edge == 1 << 64 else int(np.searchsorted(shard["hash"], np.uint64(edge)))
            for edge in ((part << 64) // partitions for part in (partition, partition + 1))
        )
        own = shard[low:high]
        part = np.empty(len(own), dtype=ROW)
        part["hash"], part["row"], part["known"] = own["hash"], own["row"], own["known"]
        part["row"] += first
        parts.append(part)
    return np.concatenate(parts)


def duplicates_of(rows: np.ndarray, sentence: Callable[[int], str]) -> Duplicates:
    """Find the duplicates among rows ``(m,)`` of ROW; ``sentence`` returns the text of one.

    Sentences of equal hashes whose plain forms differ from that of the first are no duplicates.
    """
    ordered = rows[np.lexsort((rows["row"], rows["hash"]))]
    row, hashes = ordered["row"], ordered["hash"]
    begins = np.append(True, hashes[1:] != hashes[:-1])[: len(row)]
    first = row[np.maximum.accumulate(np.where(begins, np.arange(len(row)), 0))]
    for i in np.flatnonzero(~begins).tolist():
        if plain_form(sentence(int(row[i]))) != plain_form(sentence(int(first[i]))):
            first[i] = row[i]
    known = np.flatnonzero(ordered["known"])
    groups, chosen = np.unique(first[known], return_index=True)  # rows ascend in a group
    dropped = np.ones(len(row), dtype=bool)
    dropped[known[chosen]] = False
    repeats = np.flatnonzero(first != row)
    repeats = repeats[np.argsort(row[repeats])]
    return Duplicates(row[repeats], first[repeats], np.sort(row[dropped]), np.array(len(row)))


def write_first(first: np.ndarray, row: Sequence[np.ndarray], firsts: Sequence[np.ndarray]) -> None:
    """Write the first row with the plain form of each row, ``(n,)``, by those of all partitions."""
    for start in range(0, len(first), BLOCK):
        end = min(start + BLOCK, len(first))
        block = np.arange(start, end)
        for rows, of in zip(row, firsts, strict=True):
            low, high = np.searchsorted(rows, (start, end))
            block[rows[low:high] - start] = of[low:high]
        first[start:end] = block


def write_distinct(distinct: np.ndarray, dropped: Sequence[np.ndarray]) -> None:
    """Write the rows that take part in a search, ``(m,)``: all but those of ``dropped``."""
    done, total = 0, len(distinct) + sum(map(len, dropped))
    for start in range(0, total, BLOCK):
        end = min(start + BLOCK, total)
        stays = np.ones(end - start, dtype=bool)
        for gone in dropped:
            low, high = np.searchsorted(gone, (start, end))
            stays[gone[low:high] - start] = False
        chosen = start + np.flatnonzero(stays)
        distinct[done : done + len(chosen)] = chosen
        done += len(chosen)
