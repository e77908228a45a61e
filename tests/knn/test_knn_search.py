"""Searches and exact kernels: equal lists for every engine, block size and thread count."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sides import (
    ALL,
    EXACT,
    QUICK,
    brute,
    check,
    coarse,
    nearest,
    realistic,
    same,
    searching,
    side,
    units,
    units_of,
)

from miner.kernels.exact import rescore, scan
from miner.knn import knn_search, refine
from miner.knn.knn_search import nearest_both
from miner.knn.vector_set import VectorSet


def rescore_reference(queries: np.ndarray, base: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Similarities by :func:`miner.kernels.exact.rescore`."""
    out = np.full(rows.shape, -np.inf, dtype=np.float32)
    for i, j in zip(*np.nonzero(rows >= 0), strict=True):
        out[i, j] = queries[i].astype(np.float64) @ base[rows[i, j]].astype(np.float64)
    return out


def scan_reference(queries: np.ndarray, base: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Lists of :func:`miner.kernels.exact.scan` from empty ones."""
    exact = (queries.astype(np.float64) @ base.astype(np.float64).T).astype(np.float32)
    row = np.argsort(-exact, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(exact, row, axis=1), row


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
def test_scan_in_blocks_is_its_reference(seed, ties, n, m, k, block):
    """If k exceeds m, slots stay empty; ties go to the lower row, also across blocks."""
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
def test_lists_are_those_of_brute_force(monkeypatch, kind, seed, n, m, d, k, block, threads):
    """With ties, duplicates, zero rows, excluded rows, k above n, empty sides, and every block
    size.
    """
    monkeypatch.setattr(knn_search, "BLOCK", block)
    generator = np.random.default_rng(seed)
    source = side(coarse(generator, n, d), generator.random(n) < 0.8)
    target = side(coarse(generator, m, d), generator.random(m) < 0.8)
    check(kind, source, target, k, threads=threads)


@pytest.mark.parametrize("kind", ALL)
def test_more_ties_than_are_kept(kind: str) -> None:
    """The first rows of 200 equal similarities win; FAISS keeps arbitrary ones."""
    generator = np.random.default_rng(4)
    target = np.tile(units(generator, 1, 16), (200, 1))
    target[150] = units(generator, 1, 16)
    check(kind, side(units(generator, 20, 16)), side(target), 4)


@pytest.mark.parametrize("kind", ["float32", "faiss", "int8"])
def test_a_large_k_on_a_small_corpus_takes_little_memory(kind: str) -> None:
    """Lists are at most as long as the other side."""
    generator = np.random.default_rng(8)
    source, target = side(units(generator, 30, 300)), side(units(generator, 40, 300))
    check(kind, source, target, 20_000, memory=64 << 20)


@pytest.mark.parametrize("kind", ALL)
def test_progress_adds_up(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knn_search, "BLOCK", 8)
    generator = np.random.default_rng(9)
    seen: list[tuple[int, int | None]] = []
    source, target = side(units(generator, 30, 8)), side(units(generator, 21, 8))
    nearest(kind, source, target, 2, report=lambda stage, *progress: seen.append(progress))
    assert seen[-1] == (51, 51)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def shared_component(generator: np.random.Generator, share: float) -> list[np.ndarray]:
    """Draw vectors with one huge component, as of some transformers, beside which int8 loses the
    rest.
    """
    vectors = generator.normal(size=(2, 700, 128))
    vectors *= np.sqrt(1 - share**2) / np.linalg.norm(vectors, axis=2, keepdims=True)
    vectors[:, :, 5] = share
    return [part.astype(np.float16) for part in vectors]


@pytest.mark.parametrize(
    "draw",
    [
        # As many dimensions as vectors of large language models.
        lambda generator: realistic(generator, 200, 150, 4096),
        *(partial(shared_component, share=share) for share in (0.0, 0.8, 0.95)),
    ],
)
def test_no_neighbour_is_missed_in_hard_vectors(draw: Any) -> None:
    source, target = map(side, draw(np.random.default_rng(24)))
    found = nearest_both(source, target, searching(8))
    for one, other, lists in ((source, target, found[0]), (target, source, found[1])):
        wanted = brute(one, other, 8)
        assert (lists.similarity >= wanted.similarity[:, -1:]).mean() >= 0.9995
        exact = rescore_reference(one.vectors, other.vectors, lists.row)
        np.testing.assert_array_equal(lists.similarity, exact)


def clusters(generator: np.random.Generator, d: int, noise: float) -> tuple[VectorSet, VectorSet]:
    """Return two sides of 1000 vectors: 40 clusters of 50 near-duplicates over both sides."""
    centre = units(generator, 40, d).astype(np.float64)
    made = np.repeat(centre, 50, axis=0) + noise * units(generator, 2000, d)
    made = units_of(made[generator.permutation(2000)])
    return side(made[:1000]), side(made[1000:])


@pytest.mark.parametrize(
    "settings",
    [{"block": 60}, {"block": 256}, {"block": 1000}, {"threads": 1}, {"threads": 3},
     {"memory": 3 << 20}, {"block": 60, "threads": 3}],
    ids=str,
)  # fmt: skip
def test_int8_lists_do_not_depend_on_the_machine(settings, monkeypatch):
    """Some rows are in doubt and searched again, others are not."""
    monkeypatch.setattr(knn_search, "int8_suffices", lambda *arguments: True)
    again: list[int] = []
    original = refine.search_float32

    def counted(vectors: np.ndarray, *rest: Any) -> Any:
        again.append(len(vectors))
        return original(vectors, *rest)

    generator = np.random.default_rng(22)
    near = units(generator, 1, 32) + 0.002 * units(generator, 900, 32)
    near[::2] = units(generator, 450, 32)
    source, target = side(near[:400].astype(np.float16)), side(near[400:].astype(np.float16))
    with monkeypatch.context() as patch:
        patch.setattr(refine, "search_float32", counted)
        wanted = nearest("int8", source, target, 4)
    assert 300 < sum(again) < 800, "of 900"
    monkeypatch.setattr(knn_search, "BLOCK", settings.pop("block", knn_search.BLOCK))
    same(nearest("int8", source, target, 4, **settings), wanted)


@pytest.mark.parametrize("factory", ["IVF4,Flat", "PQ4x4", "IVF8,PQ4x4", "SQ8", "HNSW8"])
@pytest.mark.parametrize("both", [True, False])
def test_a_compressed_index_returns_exact_scores(factory: str, both: bool) -> None:
    import faiss

    generator = np.random.default_rng(14)
    d, k = 16, 3

    def compressed(n: int) -> VectorSet:
        vectors = units(generator, n, d)
        vectors[5] = 0
        plain = side(vectors)
        ann = faiss.index_factory(d, factory, faiss.METRIC_INNER_PRODUCT)
        base = plain.float32_block(0, n)
        ann.train(base)
        ann.add(base)
        return VectorSet(vectors, plain.rows, ann)

    source, target = compressed(400), compressed(500)
    if not both:
        target = VectorSet(target.vectors, target.rows)
    forward, backward = nearest_both(source, target, searching(k))
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
