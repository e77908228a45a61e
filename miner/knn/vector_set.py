"""Vectors that take part in a search, as one of its sides."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from miner.errors import ResourceError
from miner.machine import release_pages

MOST = np.iinfo(np.int32).max
# Vectors read at a time from scattered positions of a file.
AT_ONCE = 1024


@dataclass(frozen=True)
class VectorSet:
    """Selected rows of a matrix of unit vectors.

    ``rows (m,) int64``, ascending, select from ``vectors (n, d)``, float16 or float32. A position
    is an index into ``rows``, and an int32 in candidate lists. ``ann`` is a FAISS index of the
    selected rows, or None for an exact search. Raises :class:`~miner.errors.ResourceError` for more
    rows than an int32 counts.
    """

    vectors: np.ndarray
    rows: np.ndarray
    ann: Any = None

    def __post_init__(self) -> None:
        if len(self.rows) > MOST:
            raise ResourceError(
                f"a search compares at most {MOST:,} sentences of a side, not {len(self.rows):,}; "
                "split the corpus"
            )

    def __len__(self) -> int:
        """Number of selected rows, m."""
        return len(self.rows)

    def block(self, start: int, end: int) -> np.ndarray:
        """Return the vectors at positions ``start`` to ``end``, ``(b, d)``, in their stored
        type.
        """
        vectors = np.asarray(self.vectors[self.rows[start:end]])
        release_pages(self.vectors)
        return vectors

    def float32_block(self, start: int, end: int) -> np.ndarray:
        """Return the vectors at positions ``start`` to ``end`` as ``(b, d) float32``."""
        return self.block(start, end).astype(np.float32, copy=False)

    def take(self, positions: np.ndarray) -> np.ndarray:
        """Return the vectors at ``positions (s,)``, ``(s, d)``, in their stored type.

        The system maps several pages around scattered positions: pages are dropped after every
        ``AT_ONCE`` vectors.
        """
        vectors = np.empty((len(positions), self.vectors.shape[1]), self.vectors.dtype)
        for start in range(0, len(positions), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            vectors[part] = self.vectors[self.rows[positions[part]]]
            release_pages(self.vectors)
        return vectors

    def sample(self, size: int) -> np.ndarray:
        """Return at most ``size`` evenly spaced positions, ``(s,) int64``."""
        return np.linspace(0, len(self) - 1, min(size, len(self))).astype(np.int64)


def random_sides(size: int = 2048, dimension: int = 256) -> tuple[VectorSet, VectorSet]:
    """Return two sides of random unit vectors, float32, on which to try an engine."""
    vectors = np.random.default_rng(1).normal(size=(2, size, dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    return VectorSet(vectors[0], np.arange(size)), VectorSet(vectors[1], np.arange(size))
