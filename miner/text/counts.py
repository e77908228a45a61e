"""How often very many kinds of things occur, in bounded memory; and entropies."""

from __future__ import annotations

import math

import numpy as np

# Hashes that wait to be counted together.
_WAITING = 1 << 21


class Counts:
    """Counts of things that come as hashes of 64 bits, for their entropy.

    Up to ``limit`` kinds (>= 1) are counted, and the entropy is exact. When there are more, those
    whose hash begins with a 1 are dropped for good, and each of the others stands for two; with
    more still, those whose next bit is 1; and so on. The most frequent kinds, up to a quarter of
    the limit, are never dropped and stand for what they stood for. So the estimate is unbiased,
    and close, since a rare kind has little part in the entropy.

    It takes 20 bytes a kind, and as much again for a moment while things are added.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._hash = np.zeros(0, dtype=np.uint64)  # ascending
        self._count = np.zeros(0, dtype=np.int64)
        self._weight = np.zeros(0, dtype=np.float32)  # how many kinds each stands for
        self._bits = 0  # leading bits of the hash that must be 0
        self._total = 0
        self._waiting: list[np.ndarray] = []
        self._waits = 0

    @property
    def share(self) -> float:
        """The share of rare kinds that are counted: 1 where all are."""
        self._flush()
        return 0.5**self._bits

    def add(self, hashes: np.ndarray) -> None:
        """Count each of ``hashes (n,) uint64`` once more."""
        self._waiting.append(hashes)
        self._waits += len(hashes)
        if self._waits >= _WAITING:
            self._flush()

    def entropy(self) -> float | None:
        """That of a thing drawn from all that were added, in bits; None where none were."""
        self._flush()
        if not self._total:
            return None
        return entropy(self._count, self._weight, self._total)

    def _flush(self) -> None:
        if not self._waits:
            return
        hashes, count = np.unique(np.concatenate(self._waiting), return_counts=True)
        self._waiting, self._waits = [], 0
        self._total += int(count.sum())
        place = np.searchsorted(self._hash, hashes)
        known = np.zeros(len(hashes), dtype=bool)
        inside = place < len(self._hash)
        known[inside] = self._hash[place[inside]] == hashes[inside]
        self._count[place[known]] += count[known]
        new = ~known & self._kept(hashes)
        self._hash = np.insert(self._hash, place[new], hashes[new])
        self._count = np.insert(self._count, place[new], count[new])
        self._weight = np.insert(self._weight, place[new], np.float32(1 << self._bits))
        while len(self._hash) > self.limit:
            self._drop()

    def _drop(self) -> None:
        """Drop those of the kinds that are not frequent whose next bit is 1."""
        self._bits += 1
        rank = max(1, self.limit // 4)
        frequent = self._count > np.partition(self._count, -rank)[-rank]
        # One that is frequent no more stands for as many as all that passed so many bits.
        self._weight[~frequent] = 1 << self._bits
        stays = frequent | self._kept(self._hash)
        self._hash, self._count = self._hash[stays], self._count[stays]
        self._weight = self._weight[stays]

    def _kept(self, hashes: np.ndarray) -> np.ndarray:
        if not self._bits:
            return np.ones(len(hashes), dtype=bool)
        return hashes >> np.uint64(64 - self._bits) == 0


def entropy(count: np.ndarray, weight: np.ndarray | float = 1.0, total: int | None = None) -> float:
    """Bits of a thing drawn from ``total`` [the sum], kind i of which occurs ``count (k,)`` times.

    ``weight``: how many kinds like it each of them stands for. All counts are at least 1.
    """
    total = int(count.sum()) if total is None else total
    return max(0.0, math.log2(total) - float(np.sum(weight * count * np.log2(count))) / total)


def hash_of(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """A hash of 64 bits of whole numbers, or of rows of several: ``(n,) uint64``.

    The steps of the generator SplitMix64 (Steele et al. 2014), one for each column.
    """
    value = np.zeros(len(first), dtype=np.uint64)
    for column in (first, *others):
        value = value + column.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        value = value ^ (value >> np.uint64(31))
    return value
