"""One side of a search."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Side:
    """What takes part in a search: the ``rows (m,) int64``, ascending, of ``vectors (n, d)``.

    ``ann`` is a FAISS index over those rows, or None for an exact search.
    """

    vectors: np.ndarray
    rows: np.ndarray
    ann: Any = None

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, start: int, end: int) -> np.ndarray:
        """Vectors of the rows at positions ``start`` to ``end``: ``(b, d)``, as they are stored."""
        return np.asarray(self.vectors[self.rows[start:end]])

    def floats(self, start: int, end: int) -> np.ndarray:
        """The same as float32."""
        return self.block(start, end).astype(np.float32, copy=False)

    def sample(self, size: int) -> np.ndarray:
        """At most ``size`` positions, ``(s,) int64``, evenly spread."""
        return np.linspace(0, len(self) - 1, min(size, len(self))).astype(np.int64)
