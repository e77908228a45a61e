"""Running candidate lists: the best similarities and positions of each row so far."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lists:
    """Candidate lists of n rows: ``similarity (n, w) float32`` and ``position (n, w) int32``.

    Each list is sorted by similarity descending, then by position ascending; empty slots hold -inf
    and -1. ``least (n,) float32`` is the last similarity of each list.
    """

    similarity: np.ndarray
    position: np.ndarray
    least: np.ndarray

    @classmethod
    def empty(cls, size: int, width: int) -> "Lists":
        """Return ``size`` empty lists of ``width`` slots."""
        return cls(
            np.full((size, width), -np.inf, dtype=np.float32),
            np.full((size, width), -1, dtype=np.int32),
            np.full(size, -np.inf, dtype=np.float32),
        )

    @classmethod
    def closed(cls, size: int) -> "Lists":
        """Return lists that no candidate enters, because no similarity reaches infinity."""
        least = np.full(size, np.inf, dtype=np.float32)
        return cls(np.empty((1, 1), np.float32), np.empty((1, 1), np.int32), least)

    @property
    def width(self) -> int:
        return self.position.shape[1]

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays, in the order that the kernels take them."""
        return self.similarity, self.position, self.least

    @property
    def bytes(self) -> int:
        """Size of the three arrays."""
        return sum(array.nbytes for array in self.arrays)

    def merge(self, start: int, similarity: np.ndarray, position: np.ndarray) -> None:
        """Merge candidates ``(b, c)`` of the rows from ``start``; -1 marks an empty slot.

        The order of merges does not matter, and merging a candidate again changes nothing.
        """
        from miner.kernels.blocks import merge_lists

        places = position.astype(np.int32, copy=False)
        merge_lists(*map(np.ascontiguousarray, (similarity, places)), start, *self.arrays)
