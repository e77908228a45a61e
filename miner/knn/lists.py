"""Running candidate lists: the best similarities and positions that each row has met so far."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lists:
    """Candidate lists of n rows: ``similarity (n, w) float32`` and ``position (n, w) int32``.

    Each list is sorted by similarity descending, then by position ascending; empty places hold -inf
    and -1. ``least (n,) float32`` is the last similarity of each list.
    """

    similarity: np.ndarray
    position: np.ndarray
    least: np.ndarray

    @classmethod
    def empty(cls, size: int, width: int) -> "Lists":
        """Return ``size`` empty lists of ``width`` places."""
        return cls(
            np.full((size, width), -np.inf, dtype=np.float32),
            np.full((size, width), -1, dtype=np.int32),
            np.full(size, -np.inf, dtype=np.float32),
        )

    @classmethod
    def closed(cls, size: int) -> "Lists":
        """Return lists that no candidate enters, since no similarity reaches infinity."""
        least = np.full(size, np.inf, dtype=np.float32)
        return cls(np.empty((1, 1), np.float32), np.empty((1, 1), np.int32), least)

    @property
    def width(self) -> int:
        return self.position.shape[1]

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three arrays, in the order that the kernels take them."""
        return self.similarity, self.position, self.least

    def merged(
        self, start: int, similarity: np.ndarray, position: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lists from row ``start`` merged with new candidates, without storing them.

        ``similarity (b, c)`` and ``position (b, c)`` are the candidates of b rows. Returns
        similarities and positions, both ``(b, w)``.
        """
        part = slice(start, start + len(similarity))
        values = np.concatenate([self.similarity[part], similarity], axis=1)  # (b, w + c)
        places = np.concatenate([self.position[part], position], axis=1)
        order = np.lexsort((places, -values), axis=1)[:, : self.width]
        return np.take_along_axis(values, order, axis=1), np.take_along_axis(places, order, axis=1)

    def put(self, start: int, similarity: np.ndarray, position: np.ndarray) -> None:
        """Replace the lists from row ``start`` by ``(b, w)`` arrays. Allocates nothing."""
        part = slice(start, start + len(similarity))
        self.similarity[part] = similarity
        self.position[part] = position
        self.least[part] = similarity[:, -1]

    def merge(self, start: int, similarity: np.ndarray, position: np.ndarray) -> None:
        """Merge new candidates of the rows from ``start``. The order of merges does not matter."""
        self.put(start, *self.merged(start, similarity, position))
