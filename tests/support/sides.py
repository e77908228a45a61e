"""Vector sets for searches, lists by definition, and a search by each engine."""

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings

from miner.knn.knn_search import nearest_both
from miner.knn.neighbors import Neighbors
from miner.knn.settings import SearchSettings
from miner.knn.vector_set import VectorSet
from miner.progress import silent

PLENTY = 1 << 32
QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
# Engines whose lists equal the definition exactly; the int8 engine's may not.
EXACT = ("float32", "faiss")
ALL = (*EXACT, "int8")


def coarse(generator: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return ``(n, d) float16`` of few values, length at most 1: many ties and duplicates."""
    return (generator.integers(-2, 3, size=(n, d)) / (2 * d)).astype(np.float16)


def units(generator: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Return random unit vectors, ``(n, d) float16``."""
    return units_of(generator.normal(size=(n, d)))


def units_of(vectors: np.ndarray) -> np.ndarray:
    """Normalise the rows of ``vectors (n, d)``; returns float16."""
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def side(vectors: np.ndarray, keep: np.ndarray | None = None, ann: Any = None) -> VectorSet:
    """Return the nonzero rows of ``vectors``, those where ``keep (n,) bool`` if given."""
    chosen = vectors.any(axis=1) if keep is None else keep & vectors.any(axis=1)
    return VectorSet(vectors, np.flatnonzero(chosen), ann)


def brute(queries: VectorSet, base: VectorSet, k: int) -> Neighbors:
    """Return the lists by definition: selected rows by similarity descending, then row."""
    similarity = np.full((len(queries.vectors), k), -np.inf, dtype=np.float32)
    row = np.full((len(queries.vectors), k), -1, dtype=np.int64)
    wide = base.vectors.astype(np.float64)
    for query in queries.rows:
        exact = (wide[base.rows] @ queries.vectors[query].astype(np.float64)).astype(np.float32)
        best = sorted(range(len(exact)), key=lambda i: (-exact[i], base.rows[i]))[:k]
        similarity[query, : len(best)] = exact[best]
        row[query, : len(best)] = base.rows[best]
    return Neighbors(similarity, row)


def same(actual: tuple[Neighbors, Neighbors], expected: tuple[Neighbors, Neighbors]) -> None:
    """Assert that both directions are equal, bit for bit."""
    for found, wanted in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(found.row, wanted.row)
        np.testing.assert_array_equal(found.similarity, wanted.similarity)
        assert found.similarity.dtype == np.float32 and found.row.dtype == np.int64


def searching(k: int, **settings: Any) -> SearchSettings:
    """Return settings with plenty of memory and two CPU threads by default."""
    return SearchSettings(**{"k": k, "memory": PLENTY, "threads": 2, "device": "cpu"} | settings)


def nearest(
    kind: str,
    source: VectorSet,
    target: VectorSet,
    k: int,
    **settings: Any,
) -> tuple[Neighbors, Neighbors]:
    """Search with the engine ``kind`` of `ALL`."""
    report = settings.pop("report", silent)
    engine, exact = ("faiss" if kind == "faiss" else "fused"), kind == "float32"
    wishes = searching(k, engine=engine, exact=exact, **settings)
    return nearest_both(source, target, wishes, report)


def check(kind: str, source: VectorSet, target: VectorSet, k: int, **settings: Any) -> None:
    """Assert that a search returns the lists of the definition."""
    expected = brute(source, target, k), brute(target, source, k)
    same(nearest(kind, source, target, k, **settings), expected)


def realistic(generator: np.random.Generator, n: int, m: int, d: int) -> list[np.ndarray]:
    """Return two sides like a model's vectors: clusters of topics, with translations."""
    centre = generator.normal(size=(max(1, n // 20), d)) * np.linspace(1.5, 0.2, d)
    topic = centre[generator.integers(len(centre), size=max(n, m))]
    sentence = topic + generator.normal(size=topic.shape)
    return [units_of(sentence[:size] + 0.4 * generator.normal(size=(size, d))) for size in (n, m)]
