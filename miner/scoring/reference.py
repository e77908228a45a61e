"""Margins of pairs against the neighbours of their sentences in a reference bitext."""

from collections.abc import Sequence

import numpy as np

from miner.knn.knn_search import nearest_both
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.scoring.margin import margin_score
from miner.scoring.quality import cosines

Texts = tuple[Sequence[str], Sequence[str]]
Vectors = tuple[np.ndarray, np.ndarray]


class Reference:
    """A bitext to compare pairs with (Artetxe & Schwenk 2019, section 3).

    texts, vectors: both sides, unit rows ``(n, d) float32``. The ``k`` neighbours of a sentence are
    the nearest distinct sentences of the other side, without its partner in the pair. The reference
    is fixed, so a margin does not depend on the batch.
    """

    def __init__(self, texts: Texts, vectors: Vectors, k: int):
        self.k = k
        self.row: list[dict[str, int]] = []
        self.sides: list[VectorSet] = []
        for side, rows in zip(texts, vectors, strict=True):
            first: dict[str, int] = {}
            for row, text in enumerate(side):
                first.setdefault(text, row)
            distinct = rows[list(first.values())]
            self.row.append({text: row for row, text in enumerate(first)})
            self.sides.append(VectorSet(distinct, np.flatnonzero(distinct.any(axis=1))))

    def margins(self, texts: Texts, vectors: Vectors, margin: str = "ratio") -> np.ndarray:
        """Return the margins ``(n,) float64`` of n pairs, by ``ratio`` or ``distance``."""
        cosine = cosines(*vectors)
        # Neighbours of a source are targets, and vice versa.
        near = [self._mean(vectors[side], texts[1 - side], 1 - side) for side in (0, 1)]
        return margin_score(cosine, near[0], near[1], margin)

    def _mean(self, vectors: np.ndarray, partners: Sequence[str], other: int) -> np.ndarray:
        """Return the mean similarity of each vector to its k nearest on the ``other`` side."""
        base = self.sides[other]
        queries = VectorSet(vectors, np.flatnonzero(vectors.any(axis=1)))
        out = np.zeros(len(vectors))
        if not len(base) or not len(queries):
            return out
        settings = SearchSettings(k=self.k + 1, exact=True, device="cpu", threads=1)
        lists, _ = nearest_both(queries, base, settings)
        partner_rows = np.array([self.row[other].get(text, -1) for text in partners])
        counts = (lists.row >= 0) & (lists.row != partner_rows[:, None])
        counts &= np.cumsum(counts, axis=1) <= self.k
        similarity = np.where(counts, lists.similarity, 0.0)
        return similarity.sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
