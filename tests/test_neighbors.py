"""miner.neighbors and its kernels: the exact lists, whatever the engine, blocks and threads do."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from miner import backend, neighbors
from miner.errors import ResourceError
from miner.kernels.exact import rescore, rescore_reference, scan, scan_reference
from miner.margin import Neighbors
from miner.neighbors import Side, nearest_both

PLENTY = 1 << 32
QUICK = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def coarse(generator: np.random.Generator, n: int, d: int) -> np.ndarray:
    """``(n, d) float16`` of few values, at most unit length: exact ties and copies abound."""
    return (generator.integers(-2, 3, size=(n, d)) / (2 * d)).astype(np.float16)


def units(generator: np.random.Generator, n: int, d: int) -> np.ndarray:
    vectors = generator.normal(size=(n, d))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def side(vectors: np.ndarray, keep: np.ndarray | None = None, ann: Any = None) -> Side:
    chosen = vectors.any(axis=1) if keep is None else keep & vectors.any(axis=1)
    return Side(vectors, np.flatnonzero(chosen), ann)


def brute(queries: Side, base: Side, k: int) -> Neighbors:
    """The lists by definition: by similarity descending, then row; only rows that take part."""
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
    for found, wanted in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(found.row, wanted.row)
        np.testing.assert_array_equal(found.similarity, wanted.similarity)
        assert found.similarity.dtype == np.float32 and found.row.dtype == np.int64


# What promises the lists of the definition.
EXACT = ("floats", "faiss", "cuda")


def nearest(
    kind: str, source: Side, target: Side, k: int, **settings: Any
) -> tuple[Neighbors, Neighbors]:
    """A search by bytes, floats, faiss, or what serves a GPU, on the CPU."""
    wishes = {"memory": PLENTY, "threads": 2} | settings
    if kind == "faiss":
        return nearest_both(source, target, k, engine="faiss", **wishes)
    if kind != "cuda":
        return nearest_both(source, target, k, exact=kind == "floats", **wishes)
    pytest.importorskip("torch", reason="a search on a GPU is done with torch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "choose", lambda *rest: engines.Cuda("cpu"))
        return nearest_both(source, target, k, **wishes)


def check(kind: str, source: Side, target: Side, k: int, **settings: Any) -> None:
    expected = brute(source, target, k), brute(target, source, k)
    same(nearest(kind, source, target, k, **settings), expected)


# --- kernels ------------------------------------------------------------------------------------


@QUICK
@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(0, 8), st.integers(1, 40))
def test_rescore_is_its_reference(seed: int, ties: bool, n: int, d: int) -> None:
    generator = np.random.default_rng(seed)
    make = coarse if ties else units
    queries, base = (make(generator, m, d).astype(np.float32) for m in (n, 9))
    base[3] = 0
    rows = generator.integers(-1, len(base), size=(n, generator.integers(0, 7)))
    out = np.full(rows.shape, np.nan, dtype=np.float32)
    rescore(queries, base, rows, out)
    np.testing.assert_array_equal(out, rescore_reference(queries, base, rows))
    np.testing.assert_array_equal(np.isneginf(out), rows == -1)


@QUICK
@given(
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.integers(0, 6),
    st.integers(0, 20),
    st.integers(1, 25),
    st.integers(1, 20),
)
def test_scan_in_blocks_is_its_reference(
    seed: int, ties: bool, n: int, m: int, k: int, block: int
) -> None:
    """k above m leaves places empty; a tie goes to the lower row, across blocks too."""
    generator = np.random.default_rng(seed)
    make = coarse if ties else units
    queries, base = (make(generator, size, 5).astype(np.float32) for size in (n, m))
    if m > 4:
        base[1] = 0
        base[4] = base[2]
    similarity = np.full((n, k), -np.inf, dtype=np.float32)
    row = np.full((n, k), -1, dtype=np.int64)
    for start in range(0, m, block):
        scan(queries, base[start : start + block], start, similarity, row)
    wanted, place = scan_reference(queries, base, k)
    np.testing.assert_array_equal(similarity[:, :m], wanted)
    np.testing.assert_array_equal(row[:, :m], place)
    assert (row[:, m:] == -1).all() and np.isneginf(similarity[:, m:]).all()


def test_a_similarity_is_one_number_from_both_sides() -> None:
    generator = np.random.default_rng(1)
    left, right = (units(generator, 50, 300).astype(np.float32) for _ in range(2))
    rows = np.tile(np.arange(50), (50, 1))
    one, other = np.empty((2, 50, 50), dtype=np.float32)
    rescore(left, right, rows, one)
    rescore(right, left, rows, other)
    np.testing.assert_array_equal(one, other.T)
    similarity = np.full((50, 50), -np.inf, dtype=np.float32)
    row = np.full((50, 50), -1)
    scan(left, right, 0, similarity, row)
    np.testing.assert_array_equal(np.take_along_axis(one, row, axis=1), similarity)


# --- exact search -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EXACT)
@QUICK
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(1, 4),
    st.integers(1, 35),
    st.sampled_from([1, 3, 8, 256, 16_384]),
    st.integers(1, 3),
)
def test_lists_are_those_of_brute_force(
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    seed: int,
    n: int,
    m: int,
    d: int,
    k: int,
    block: int,
    threads: int,
) -> None:
    """Ties, copies, zero rows, rows left out, k above n, empty sides, every block size."""
    monkeypatch.setattr(neighbors, "BLOCK", block)
    generator = np.random.default_rng(seed)
    source = side(coarse(generator, n, d), generator.random(n) < 0.8)
    target = side(coarse(generator, m, d), generator.random(m) < 0.8)
    check(kind, source, target, k, threads=threads)


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize("block", [60, 256, 16_384])
@pytest.mark.parametrize("threads", [1, 2])
def test_lists_of_random_vectors(
    kind: str, block: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbors, "BLOCK", block)
    generator = np.random.default_rng(3)
    source, target = units(generator, 300, 48), units(generator, 410, 48)
    source[:5] = target[::100]
    check(kind, side(source), side(target), 4, threads=threads)


@pytest.mark.parametrize("kind", [*EXACT, "bytes"])
def test_more_ties_than_are_kept(kind: str) -> None:
    """200 rows of equal similarity: which of them FAISS keeps is chance, ours are the first."""
    generator = np.random.default_rng(4)
    target = np.tile(units(generator, 1, 16), (200, 1))
    target[150] = units(generator, 1, 16)
    check(kind, side(units(generator, 20, 16)), side(target), 4)


@pytest.mark.parametrize("kind", [*EXACT, "bytes"])
def test_one_row_each(kind: str) -> None:
    vectors = units(np.random.default_rng(5), 1, 8)
    check(kind, side(vectors), side(vectors), 3)


@pytest.mark.parametrize("kind", [*EXACT, "bytes"])
@pytest.mark.parametrize("empty", ["source", "target", "both", "zero rows"])
def test_empty_sides(kind: str, empty: str) -> None:
    vectors = units(np.random.default_rng(6), 4, 8)
    nothing = np.zeros((3, 8), np.float16) if empty == "zero rows" else vectors[:0]
    source = vectors if empty == "target" else nothing
    target = vectors if empty == "source" else nothing
    check(kind, side(source), side(target), 2)


def test_k_must_be_positive() -> None:
    vectors = side(units(np.random.default_rng(7), 4, 8))
    with pytest.raises(ValueError, match="k is 0"):
        nearest_both(vectors, vectors, 0, memory=PLENTY)


@pytest.mark.parametrize("kind", ["floats", "faiss", "bytes"])
def test_a_large_k_on_a_small_corpus_takes_little_memory(kind: str) -> None:
    """Lists are no longer than the other side, whatever k."""
    generator = np.random.default_rng(8)
    source, target = side(units(generator, 30, 300)), side(units(generator, 40, 300))
    check(kind, source, target, 20_000, memory=64 << 20)


@pytest.mark.parametrize("kind", [*EXACT, "bytes"])
def test_progress_adds_up(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "BLOCK", 8)
    generator = np.random.default_rng(9)
    seen: list[tuple[int, int]] = []
    source, target = side(units(generator, 30, 8)), side(units(generator, 21, 8))
    nearest(kind, source, target, 2, report=lambda *progress: seen.append(progress))
    assert seen[-1] == (51, 51)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


