"""miner.scoring.reference against margins by definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sides import QUICK

from miner.scoring.margin import RATIO_FLOOR
from miner.scoring.reference import Reference

Texts = tuple[list[str], list[str]]
Vectors = tuple[np.ndarray, np.ndarray]


def margin_reference(
    texts: Texts, vectors: Vectors, base: Texts, base_vectors: Vectors, k: int, margin: str
) -> np.ndarray:
    """Pair by pair: the k nearest distinct sentences of the other side, the partner aside."""
    out = []
    for pair in range(len(texts[0])):
        means = []
        for side in (0, 1):
            other, vector = 1 - side, vectors[side][pair].astype(np.float64)
            distinct = {}
            for text, row in zip(base[other], base_vectors[other], strict=True):
                if row.any() and text != texts[other][pair]:
                    distinct.setdefault(text, float(row.astype(np.float64) @ vector))
            near = sorted(distinct.values(), reverse=True)[:k] if vector.any() else []
            means.append(sum(near) / len(near) if near else 0.0)
        cosine = vectors[0][pair].astype(np.float64) @ vectors[1][pair].astype(np.float64)
        mean = (means[0] + means[1]) / 2
        out.append(cosine - mean if margin == "distance" else cosine / max(mean, RATIO_FLOOR))
    return np.array(out)


def drawn(generator: np.random.Generator, n: int) -> tuple[Texts, Vectors]:
    """Sentences with copies among them, each with one vector, some of which are zero."""
    table = np.random.default_rng(0).normal(size=(2, 12, 6))
    table /= np.linalg.norm(table, axis=2, keepdims=True)
    table[:, :2] = 0
    rows = generator.integers(12, size=(2, n))
    texts = tuple([f"{side} {row}" for row in rows[side]] for side in (0, 1))
    vectors = tuple(table[side, rows[side]].astype(np.float32) for side in (0, 1))
    return texts, vectors  # type: ignore[return-value]


@given(st.integers(0, 2**32), st.integers(1, 15), st.integers(1, 25), st.integers(1, 15))
@QUICK
def test_margins_are_those_of_the_definition(seed: int, n: int, m: int, k: int) -> None:
    generator = np.random.default_rng(seed)
    texts, vectors = drawn(generator, n)
    base, base_vectors = drawn(generator, m)
    reference = Reference(base, base_vectors, k)
    for margin in ("ratio", "distance"):
        found = reference.margins(texts, vectors, margin)
        expected = margin_reference(texts, vectors, base, base_vectors, k, margin)
        assert found.dtype == np.float64 and found.shape == (n,)
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_pair_alone_has_no_neighbours() -> None:
    one = np.ones((1, 1), dtype=np.float32)
    reference = Reference((["a"], ["b"]), (one, one), 4)
    assert reference.margins((["a"], ["b"]), (one, one)) == pytest.approx([1 / RATIO_FLOOR])
    assert reference.margins((["c"], ["d"]), (one, one)) == pytest.approx([1.0])
    assert len(reference.margins(([], []), (one[:0], one[:0]))) == 0
