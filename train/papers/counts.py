"""Counts of very many distinct items in bounded memory, and entropies."""

import math

import numpy as np

# Number of hashes buffered before they are counted.
_WAITING = 1 << 21


class Counts:
    """Counts of items, passed as 64-bit hashes, for their entropy.

    The entropy of up to ``limit`` distinct items (>= 1) is exact. Beyond that it is estimated,
    without bias, from a sample: items whose hash begins with a 1 are dropped and the others get
    twice the weight; then items whose next bit is 1; and so on. The most frequent items, up to a
    quarter of the limit, are never dropped and keep their weight. Takes 20 bytes an item, and as
    much again while items are added.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._hash = np.zeros(0, dtype=np.uint64)  # ascending
        self._count = np.zeros(0, dtype=np.int64)
        # Number of distinct items that each hash represents.
        self._weight = np.zeros(0, dtype=np.float32)
        self._bits = 0  # leading bits of a sampled hash that must be 0
        self._total = 0
        self._waiting: list[np.ndarray] = []
        self._waits = 0

    @property
    def share(self) -> float:
        """Share of the rare items that are in the sample: 1 if all are."""
        self._flush()
        return 0.5**self._bits

    def add(self, hashes: np.ndarray) -> None:
        """Count one occurrence of each of ``hashes (n,) uint64``."""
        self._waiting.append(hashes)
        self._waits += len(hashes)
        if self._waits >= _WAITING:
            self._flush()

    def entropy(self) -> float | None:
        """Return the entropy of all added items in bits; None without items."""
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
        positions = np.searchsorted(self._hash, hashes)
        known = np.zeros(len(hashes), dtype=bool)
        inside = positions < len(self._hash)
        known[inside] = self._hash[positions[inside]] == hashes[inside]
        self._count[positions[known]] += count[known]
        new = ~known & self._kept(hashes)
        self._hash = np.insert(self._hash, positions[new], hashes[new])
        self._count = np.insert(self._count, positions[new], count[new])
        self._weight = np.insert(self._weight, positions[new], np.float32(1 << self._bits))
        while len(self._hash) > self.limit:
            self._drop()

    def _drop(self) -> None:
        """Drop the items whose next bit is 1, but for the frequent ones."""
        self._bits += 1
        rank = max(1, self.limit // 4)
        frequent = self._count > np.partition(self._count, -rank)[-rank]
        # Items that are no longer frequent get the weight of the other sampled items.
        self._weight[~frequent] = 1 << self._bits
        stays = frequent | self._kept(self._hash)
        self._hash, self._count = self._hash[stays], self._count[stays]
        self._weight = self._weight[stays]

    def _kept(self, hashes: np.ndarray) -> np.ndarray:
        if not self._bits:
            return np.ones(len(hashes), dtype=bool)
        return hashes >> np.uint64(64 - self._bits) == 0


def entropy(count: np.ndarray, weight: np.ndarray | float = 1.0, total: int | None = None) -> float:
    """Return the entropy in bits of items that occur ``count (k,)`` times each, all >= 1.

    ``total`` is the number of occurrences, by default their sum; ``weight (k,)`` is the number of
    distinct items that each represents.
    """
    total = int(count.sum()) if total is None else total
    return max(0.0, math.log2(total) - float(np.sum(weight * count * np.log2(count))) / total)
