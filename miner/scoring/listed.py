"""The places that some sources have in the neighbour lists of all targets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miner.knn.neighbors import Neighbors


@dataclass(frozen=True, eq=False)
class Listed:
    """Places of n sources in the lists of all targets, without the lists.

    ``target (l,) int64``, ``place (l,) int16`` and ``similarity (l,) float32`` are sorted by
    source, then by target and place; those of source ``i`` are from ``starts[i]`` to
    ``starts[i + 1]``. Of each target, ``nearest (m, 2) float32`` has the similarities of the first
    two places of its list, 0 for none, and ``mean (m,) float32`` the mean of all, which has
    ``width`` places.
    """

    starts: np.ndarray
    target: np.ndarray
    place: np.ndarray
    similarity: np.ndarray
    nearest: np.ndarray
    mean: np.ndarray
    width: int

    def __len__(self) -> int:
        """The number of targets, m."""
        return len(self.mean)


def two_nearest(neighbors: Neighbors | Listed, row: np.ndarray) -> np.ndarray:
    """Return the similarities of the two nearest of each sentence, ``(m, 2) float32``; 0: none."""
    if isinstance(neighbors, Listed):
        return np.asarray(neighbors.nearest[row])
    found = np.zeros((len(row), 2), dtype=np.float32)
    width = min(2, neighbors.row.shape[1])
    exists = neighbors.row[row, :width] >= 0
    found[:, :width] = np.where(exists, neighbors.similarity[row, :width], 0)
    return found


def width(neighbors: Neighbors | Listed) -> int:
    """Return the number of places of a list."""
    return neighbors.width if isinstance(neighbors, Listed) else neighbors.row.shape[1]
