"""Engines within a search: hidden rounding, bounded memory, devices."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sides import (
    ALL,
    QUICK,
    check,
    coarse,
    nearest,
    realistic,
    same,
    searching,
    side,
    units,
)

from miner.errors import ResourceError
from miner.index import faiss
from miner.knn import knn_search
from miner.knn.engines import FaissEngine, Float32Engine, Int8Engine
from miner.knn.knn_search import LEAST_BLOCK, nearest_both
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet


def untrustworthy(seed: int, noise: float) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Return a flat_search with errors up to ``noise``, and ties in random order."""
    generator = np.random.default_rng(seed)

    def flat_search(queries: np.ndarray, base: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        exact = queries.astype(np.float64) @ base.astype(np.float64).T
        seen = (exact + generator.uniform(-noise, noise, size=exact.shape)).astype(np.float32)
        chance = generator.permuted(np.tile(np.arange(len(base)), (len(queries), 1)), axis=1)
        order = np.lexsort((chance, -seen), axis=1)[:, :k]
        return np.take_along_axis(seen, order, axis=1), order.astype(np.int64)

    return flat_search


def nearly_equal(generator: np.random.Generator, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors whose similarities differ by about float32 rounding."""
    source, target = (np.tile(units(generator, 1, d), (n, 1)) for n in (20, 60))
    source[::3] = np.nextafter(source[::3], np.float16(0))
    target[::2, : d // 2] = np.nextafter(target[::2, : d // 2], np.float16(0))
    return source, target


@QUICK
@given(
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from([5, 16, 256]),
    st.sampled_from([0.0, 1.0]),
)
def test_faiss_rounding_and_ties_do_not_show(monkeypatch, seed, ties, k, block, noise):
    generator = np.random.default_rng(seed)
    d = 6
    source, target = nearly_equal(generator, d)
    if ties:
        source, target = coarse(generator, 20, d), coarse(generator, 60, d)
    monkeypatch.setattr(knn_search, "BLOCK", block)
    monkeypatch.setattr(faiss, "flat_search", untrustworthy(seed, noise * d * 2.0**-24))
    check("faiss", side(source), side(target), k)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Record the shapes of the blocks read during the test."""
    seen: list[tuple[int, int]] = []
    original = VectorSet.block

    def watched(self: VectorSet, start: int, end: int) -> np.ndarray:
        made = original(self, start, end)
        seen.append(made.shape)
        return made

    monkeypatch.setattr(VectorSet, "block", watched)
    return seen


@pytest.mark.parametrize("kind", ["int8", "float32", "faiss"])
def test_less_memory_means_smaller_blocks_and_the_same_lists(kind, blocks):
    generator = np.random.default_rng(12)
    source, target = (side(part) for part in realistic(generator, 700, 900, 32))
    roomy = nearest(kind, source, target, 4)
    assert max(size for size, _ in blocks) == 900
    blocks.clear()
    tight = nearest(kind, source, target, 4, memory=least_memory(kind, source, target, 4))
    assert blocks[0][0] == LEAST_BLOCK  # ranking takes the remaining memory
    same(tight, roomy)


@pytest.mark.parametrize("k", [1, 4, 16])
@pytest.mark.parametrize("kind", ["int8", "float32", "faiss", "compressed"])
def test_memory_is_bounded(k: int, kind: str, blocks: list[tuple[int, int]]) -> None:
    """numpy allocations, without the result, stay below the smallest accepted bound.

    Scratch memory of the compiled loops is not counted: a few kilobytes per thread.
    """
    generator = np.random.default_rng(13)
    n, m, d = 3000, 1500, 128
    vectors = units(generator, n, d)
    ann = None
    if kind == "compressed":
        import faiss

        ann = faiss.index_factory(d, "IVF64,Flat", faiss.METRIC_INNER_PRODUCT)
        ann.train(vectors.astype(np.float32))
        ann.add(vectors.astype(np.float32))
    source, target = side(vectors, ann=ann), side(units(generator, m, d))
    small = side(vectors[:300])
    search = "faiss" if kind == "compressed" else kind
    nearest(search, small, small, k)  # loads the library
    memory = least_memory(search, source, target, k)
    blocks.clear()
    tracemalloc.start()
    try:
        nearest(search, source, target, k, memory=memory)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - (n + m) * k * 12 < memory
    assert blocks[0][0] == LEAST_BLOCK


def least_memory(kind: str, source: VectorSet, target: VectorSet, k: int) -> int:
    """Return the bytes that the error message for too little memory names."""
    with pytest.raises(ResourceError, match=r"--memory 0M is too.*give at least \d+M") as caught:
        nearest(kind, source, target, k, memory=1)
    return int(str(caught.value).split("at least ")[1].split("M")[0]) << 20


class Short:
    """Engine that runs out of memory above ``most`` rows or columns, after a partial merge."""

    def __init__(self, engine: Any, most: int):
        self.engine, self.most, self.sizes = engine, most, []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def merge(self, rows: Any, s: int, columns: Any, t: int, lists: tuple[Lists, Lists]) -> None:
        count = max(getattr(part, "count", None) or len(part) for part in (rows, columns))
        self.sizes.append(count)
        if count > self.most:
            if self.engine.name == "int8":  # its blocks can be merged again
                self.engine.merge(rows, s, columns, t, lists)
            raise MemoryError
        self.engine.merge(rows, s, columns, t, lists)


@pytest.mark.parametrize("kind", ALL)
def test_a_block_that_does_not_fit_is_halved(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = (side(p) for p in realistic(np.random.default_rng(14), 700, 1000, 16))
    wanted = nearest(kind, source, target, 4)
    made = {
        "int8": lambda: Int8Engine(2),
        "float32": lambda: Float32Engine(2),
        "faiss": lambda: FaissEngine(2),
    }
    short = Short(made[kind](), 300)
    monkeypatch.setattr(knn_search, "choose_engine", lambda *rest: short)
    same(nearest_both(source, target, searching(4)), wanted)
    assert short.sizes[0] == 1000 and min(short.sizes) == 250
    short.most = 100
    with pytest.raises(ResourceError, match="out of memory in a block of.*less --memory"):
        nearest_both(source, target, searching(4))


@pytest.mark.parametrize("kind", ["float32", "faiss"])
def test_lists_are_as_they_were_when_memory_runs_out(kind, monkeypatch):
    """Products of another shape may round differently, so no pair may be merged twice."""
    generator = np.random.default_rng(15)
    source, target = (units(generator, n, 16).astype(np.float32) for n in (50, 60))
    lists = Lists.empty(50, 5), Lists.empty(60, 5)
    engine = FaissEngine(2) if kind == "faiss" else Float32Engine(2)
    calls = iter(range(100))
    owner, name = (faiss, "flat_search") if kind == "faiss" else (np, "empty")
    original = getattr(owner, name)

    def failing(*arguments: Any) -> Any:
        if next(calls) == 1:
            raise MemoryError
        return original(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing)
        with pytest.raises(MemoryError):
            engine.merge(source, 0, target, 0, lists)
    for part in lists:
        assert (part.position == -1).all() and np.isneginf(part.similarity).all()
    if isinstance(engine, FaissEngine):  # a partial copy of lists
        found = engine.search(source, target, 7, 5)
        assert [array.dtype for array in found] == [np.float32, np.int32]
