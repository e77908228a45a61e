"""miner.neighbors and its kernels: the exact lists, whatever FAISS, blocks and threads do."""

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


def check(source: Side, target: Side, k: int, **settings: Any) -> None:
    expected = brute(source, target, k), brute(target, source, k)
    same(nearest_both(source, target, k, **{"memory": PLENTY, "threads": 2} | settings), expected)


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
    check(source, target, k, threads=threads)


@pytest.mark.parametrize("block", [60, 256, 16_384])
@pytest.mark.parametrize("threads", [1, 2])
def test_lists_of_random_vectors(block: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "BLOCK", block)
    generator = np.random.default_rng(3)
    source, target = units(generator, 300, 48), units(generator, 410, 48)
    source[:5] = target[::100]
    check(side(source), side(target), 4, threads=threads)


def test_more_ties_than_faiss_keeps() -> None:
    """200 rows of equal similarity: which of them FAISS keeps is chance, ours are the first."""
    generator = np.random.default_rng(4)
    target = np.tile(units(generator, 1, 16), (200, 1))
    target[150] = units(generator, 1, 16)
    check(side(units(generator, 20, 16)), side(target), 4)


def test_one_row_each() -> None:
    vectors = units(np.random.default_rng(5), 1, 8)
    check(side(vectors), side(vectors), 3)


@pytest.mark.parametrize("empty", ["source", "target", "both", "zero rows"])
def test_empty_sides(empty: str) -> None:
    vectors = units(np.random.default_rng(6), 4, 8)
    nothing = np.zeros((3, 8), np.float16) if empty == "zero rows" else vectors[:0]
    source = vectors if empty == "target" else nothing
    target = vectors if empty == "source" else nothing
    check(side(source), side(target), 2)


def test_k_must_be_positive() -> None:
    vectors = side(units(np.random.default_rng(7), 4, 8))
    with pytest.raises(ValueError, match="k is 0"):
        nearest_both(vectors, vectors, 0, memory=PLENTY)


def test_a_large_k_on_a_small_corpus_takes_little_memory() -> None:
    """Lists are no longer than the other side, whatever k."""
    generator = np.random.default_rng(8)
    check(side(units(generator, 30, 300)), side(units(generator, 40, 300)), 20_000, memory=64 << 20)


def test_progress_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbors, "BLOCK", 8)
    generator = np.random.default_rng(9)
    seen: list[tuple[int, int]] = []
    nearest_both(
        side(units(generator, 30, 8)),
        side(units(generator, 21, 8)),
        2,
        memory=PLENTY,
        report=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (51, 51)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


# --- FAISS is not trusted -----------------------------------------------------------------------


def untrustworthy(seed: int, noise: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """A flat_search whose similarities are off by up to ``noise``, and whose ties are shuffled."""
    generator = np.random.default_rng(seed)

    def flat_search(
        queries: np.ndarray, base: np.ndarray, k: int, device: str
    ) -> tuple[np.ndarray, np.ndarray]:
        exact = queries.astype(np.float64) @ base.astype(np.float64).T
        seen = (exact + generator.uniform(-noise, noise, size=exact.shape)).astype(np.float32)
        chance = generator.permuted(np.tile(np.arange(len(base)), (len(queries), 1)), axis=1)
        order = np.lexsort((chance, -seen), axis=1)[:, :k]
        return np.take_along_axis(seen, order, axis=1), order.astype(np.int64)

    return flat_search


@QUICK
@given(
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from([5, 16, 256]),
    st.sampled_from([0.0, 1.0]),
)
def test_faiss_rounding_and_ties_do_not_show(
    monkeypatch: pytest.MonkeyPatch, seed: int, ties: bool, k: int, block: int, noise: float
) -> None:
    generator = np.random.default_rng(seed)
    d = 6
    if ties:
        source, target = coarse(generator, 20, d), coarse(generator, 60, d)
    else:  # nearly equal: the differences are of the size of the noise
        source, target = (np.tile(units(generator, 1, d), (n, 1)) for n in (20, 60))
        source[::3] = np.nextafter(source[::3], np.float16(0))
        target[::2, : d // 2] = np.nextafter(target[::2, : d // 2], np.float16(0))
    monkeypatch.setattr(neighbors, "BLOCK", block)
    monkeypatch.setattr(backend, "flat_search", untrustworthy(seed, noise * d * 2.0**-24))
    check(side(source), side(target), k)


def test_the_second_look_is_rare_and_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordinary vectors are settled by FAISS's list; only lists full of ties are searched again."""
    searched: list[int] = []
    original = neighbors._scan

    def counted(queries: np.ndarray, *rest: Any) -> Any:
        searched.append(len(queries))
        return original(queries, *rest)

    monkeypatch.setattr(neighbors, "_scan", counted)
    generator = np.random.default_rng(10)
    source, target = units(generator, 200, 64), units(generator, 200, 64)
    check(side(source), side(target), 4)
    assert not searched
    target[:100] = target[0]
    source[0] = target[0]
    check(side(source), side(target), 4)
    assert 0 < sum(searched) < 200


# --- memory -------------------------------------------------------------------------------------


def test_too_little_memory() -> None:
    generator = np.random.default_rng(11)
    source = side(units(generator, 500, 64))
    with pytest.raises(ResourceError, match="--memory 0M is too little.*give at least") as caught:
        nearest_both(source, source, 4, memory=1000)
    assert "\n" not in str(caught.value)


def test_less_memory_means_smaller_blocks_and_the_same_lists(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(12)
    source, target = side(units(generator, 700, 32)), side(units(generator, 900, 32))
    sizes: list[int] = []
    original = backend.flat_search

    def watched(queries: np.ndarray, base: np.ndarray, *rest: Any) -> Any:
        sizes.append(max(len(queries), len(base)))
        return original(queries, base, *rest)

    monkeypatch.setattr(backend, "flat_search", watched)
    roomy = nearest_both(source, target, 4, memory=PLENTY, threads=2)
    assert max(sizes) == 900
    sizes.clear()
    lists = 1600 * 8 * 12
    tight = nearest_both(source, target, 4, memory=lists + 600_000, threads=2)
    assert max(sizes) == 256
    same(tight, roomy)


@pytest.mark.parametrize("k", [1, 4, 16])
@pytest.mark.parametrize("kind", ["flat", "compressed"])
def test_memory_is_bounded(k: int, kind: str) -> None:
    """What numpy allocates stays within the bound, beside the lists that are returned."""
    generator = np.random.default_rng(13)
    n, d = 12_000, 64
    vectors = units(generator, n, d)
    ann = None
    if kind == "compressed":
        import faiss

        ann = faiss.index_factory(d, "IVF64,Flat", faiss.METRIC_INNER_PRODUCT)
        ann.train(vectors.astype(np.float32))
        ann.add(vectors.astype(np.float32))
    source = side(vectors, ann=ann)
    target = side(units(generator, 3000, d))
    small = side(vectors[:300])
    nearest_both(small, small, k, memory=PLENTY)  # compiles the kernels
    returned = (n + 3000) * k * 12
    memory = (n + 3000) * (k + neighbors.SLACK) * 12 + (6 << 20) * (1 + k // 8)
    tracemalloc.start()
    try:
        nearest_both(source, target, k, memory=memory, threads=2)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - returned < memory


# --- compressed indexes -------------------------------------------------------------------------


@pytest.mark.parametrize("factory", ["IVF4,Flat", "PQ4x4", "IVF8,PQ4x4", "SQ8", "HNSW8"])
@pytest.mark.parametrize("both", [True, False])
def test_a_compressed_index_returns_exact_scores(factory: str, both: bool) -> None:
    import faiss

    generator = np.random.default_rng(14)
    d, k = 16, 3

    def compressed(n: int) -> Side:
        vectors = units(generator, n, d)
        vectors[5] = 0
        plain = side(vectors)
        ann = faiss.index_factory(d, factory, faiss.METRIC_INNER_PRODUCT)
        base = plain.block(0, n)
        ann.train(base)
        ann.add(base)
        return Side(vectors, plain.rows, ann)

    source, target = compressed(400), compressed(500)
    if not both:
        target = Side(target.vectors, target.rows)
    forward, backward = nearest_both(source, target, k, memory=PLENTY, threads=2)
    for queries, base, found in ((source, target, forward), (target, source, backward)):
        exact = rescore_reference(queries.vectors, base.vectors, found.row)
        np.testing.assert_array_equal(found.similarity, exact)
        assert (found.row[5] == -1).all() and not (found.row == 5).any()
        listed = found.row[queries.rows]
        assert (listed[:, 0] >= 0).mean() > 0.9
        for similarity, row in zip(found.similarity, found.row, strict=True):
            real = row[row >= 0]
            assert len(set(real.tolist())) == len(real)
            keys = list(zip(-similarity[row >= 0], real, strict=True))
            assert keys == sorted(keys)
        wanted = brute(queries, base, k)
        recall = np.mean(
            [
                len(set(a) & set(b)) / k
                for a, b in zip(listed.tolist(), wanted.row[queries.rows].tolist(), strict=True)
            ]
        )
        assert recall > (0.9 if base.ann is None else 0.3)
    if not both:
        same((forward, forward), (brute(source, target, k),) * 2)


def test_a_compressed_index_with_fewer_rows_than_asked_for() -> None:
    import faiss

    generator = np.random.default_rng(15)
    vectors = units(generator, 6, 8)
    ann = faiss.index_factory(8, "HNSW8", faiss.METRIC_INNER_PRODUCT)
    ann.add(vectors.astype(np.float32))
    source = side(vectors, ann=ann)
    check(source, source, 10)
