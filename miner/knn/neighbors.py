"""Nearest neighbours of every sentence: the result of a search in one direction."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MAX_K = int(np.iinfo(np.int16).max)  # ranks are stored as int16
# Lists checked at a time.
_BLOCK = 1 << 15


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The k nearest neighbours of each sentence in the other corpus, best first.

    ``similarity (n, k) float32`` holds cosines, ignored where ``row`` is -1. ``row (n, k) int64``
    holds rows of the other corpus, each at most once in a list; -1 marks an empty slot.

    Raises ValueError for shapes that differ or are not two-dimensional, a row below -1, k above
    32767, and for a neighbour with a similarity that is NaN or infinite.
    """

    similarity: NDArray[np.float32]
    row: NDArray[np.int64]

    def __post_init__(self) -> None:
        similarity = np.asarray(self.similarity, dtype=np.float32)
        row = np.asarray(self.row)
        if row.size and row.dtype.kind not in "iu":
            raise ValueError(f"neighbour rows must be integers, not {row.dtype}")
        row = row.astype(np.int64, copy=False)
        if similarity.ndim != 2 or similarity.shape != row.shape:
            raise ValueError(
                "neighbour similarities and rows must be two (n, k) arrays of one shape, "
                f"not {similarity.shape} and {row.shape}"
            )
        if row.shape[1] > _MAX_K:
            raise ValueError(f"at most {_MAX_K} neighbours are supported, not {row.shape[1]}")
        if row.size and row.min() < -1:
            raise ValueError(f"a neighbour row is {row.min()}: only -1 means none")
        for start in range(0, len(row), _BLOCK):
            part = slice(start, start + _BLOCK)
            if not np.isfinite(similarity[part][row[part] >= 0]).all():
                raise ValueError("a neighbour's similarity is NaN or infinite")
        object.__setattr__(self, "similarity", similarity)
        object.__setattr__(self, "row", row)

    def __len__(self) -> int:
        """Number of sentences, n."""
        return self.row.shape[0]
