"""The check of a GPU before a search. Stand-ins of FAISS's GPU functions search on the CPU."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.sides import realistic, same, searching, side

from miner.index import faiss
from miner.knn import engines, knn_search, self_check
from miner.knn.engines import FaissEngine, choose_engine
from miner.knn.knn_search import nearest_both
from miner.knn.vector_set import VectorSet

Sides = tuple[VectorSet, VectorSet]


@pytest.fixture
def sides() -> Sides:
    source, target = realistic(np.random.default_rng(41), 300, 800, 32)
    return side(source), side(target)


class Gpu:
    """A stand-in for FAISS on one GPU; ``fault`` changes its answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.calls = 0
        self.fault: Callable[[Any, Any], tuple[Any, Any]] = lambda similarity, row: (
            similarity,
            row,
        )
        flat_search = faiss.flat_search

        def on_gpu(queries: Any, base: Any, k: int, device: str) -> Any:
            found = flat_search(queries, base, k, "cpu")
            if device != "cuda":
                return found
            self.calls += 1
            return self.fault(*found)

        monkeypatch.setattr(faiss, "gpu_count", lambda: 1)
        monkeypatch.setattr(faiss, "flat_search", on_gpu)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    return Gpu(monkeypatch)


def fails(*answer: Any) -> Any:
    raise RuntimeError("CUDA error 209:\nno kernel image is available")


FAULTS = {
    "similarities": lambda similarity, row: (similarity + np.float32(1e-3), row),
    "not a number": lambda similarity, row: (similarity * np.float32(np.nan), row),
    "another row": lambda similarity, row: (similarity, (row + 1) % (row.max() + 1)),
    "one row for all": lambda similarity, row: (similarity, row * 0),
    "no row": lambda similarity, row: (similarity, row - 10_000),
    "neighbours missed": lambda similarity, row: (similarity[:, 1:], row[:, 1:]),
    "exception": fails,
}


def test_fused_on_a_gpu_is_faiss(gpu: Gpu, sides: Sides) -> None:
    engine = choose_engine("fused", "cuda", False, 2)
    assert isinstance(engine, FaissEngine) and engine.device == "cuda"
    wanted = nearest_both(*sides, searching(4, exact=True, device="cpu"))
    assert gpu.calls == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(nearest_both(*sides, searching(4, device="cuda")), wanted)
    assert gpu.calls == 4, "two directions each for the check and the search"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("engine", ["fused", "faiss"])
def test_a_wrong_gpu_is_not_used(gpu: Gpu, sides: Sides, fault: str, engine: str) -> None:
    wanted = nearest_both(*sides, searching(4, exact=True, device="cpu"))
    gpu.fault = FAULTS[fault]
    with pytest.warns(RuntimeWarning, match="the GPU is not used.*the CPU searches") as caught:
        found = nearest_both(*sides, searching(4, engine=engine, exact=True, device="cuda"))
    assert len(caught) == 1 and "\n" not in str(caught[0].message)
    assert gpu.calls <= 2, "the check alone"
    same(found, wanted)


def test_rounding_of_a_gpu_is_accepted(gpu: Gpu, sides: Sides) -> None:
    """Errors of a float32 sum in another order are not a fault."""
    generator = np.random.default_rng(42)
    gpu.fault = lambda similarity, row: (
        similarity + generator.uniform(-2e-6, 2e-6, similarity.shape).astype(np.float32),
        row,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = nearest_both(*sides, searching(4, device="cuda"))
    same(found, nearest_both(*sides, searching(4, exact=True, device="cpu")))


def test_memory_of_a_gpu_may_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """FAISS raises a RuntimeError; the search halves its blocks after a MemoryError."""
    library = faiss.faiss()

    def knn_gpu(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("Error: StandardGpuResources: alloc fail ... out of memory")

    monkeypatch.setattr(library, "knn_gpu", knn_gpu, raising=False)
    monkeypatch.setattr(faiss, "_gpu_resources", lambda: None)
    vectors = np.eye(4, dtype=np.float32)
    with pytest.raises(MemoryError):
        faiss.flat_search(vectors, vectors, 2, "cuda")


class Copy:
    """An index on a stand-in of a GPU."""

    def __init__(self, index: Any, noise: float):
        self.index, self.noise, self.searched = index, np.float32(noise), 0

    def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        self.searched += len(queries)
        similarity, row = self.index.search(queries, k)
        return similarity + self.noise, row


@pytest.fixture
def compressed(sides: Sides) -> VectorSet:
    library = faiss.faiss()
    base = sides[1].float32_block(0, len(sides[1]))
    index = library.index_factory(32, "IVF8,Flat", library.METRIC_INNER_PRODUCT)
    index.train(base)
    index.add(base)
    return VectorSet(sides[1].vectors, sides[1].rows, index)


@pytest.mark.parametrize("noise", [1e-6, 0.01])
def test_a_compressed_index_is_searched_on_a_gpu_if_it_agrees(
    gpu: Gpu, sides: Sides, compressed: VectorSet, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = nearest_both(sides[0], compressed, searching(4, device="cpu"))
    copy = Copy(compressed.ann, noise)
    monkeypatch.setattr(faiss, "to_gpu", lambda index: copy)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = nearest_both(sides[0], compressed, searching(4, device="cuda"))
    same(found, wanted)
    checked = self_check.QUERIES
    if noise < 1e-3:
        assert not caught and copy.searched == checked + len(sides[0])
    else:
        assert len(caught) == 1 and "differ from the CPU's" in str(caught[0].message)
        assert copy.searched == checked


def test_an_index_that_has_no_kind_on_gpus(gpu, sides, compressed, monkeypatch):
    """HNSW, for one: the CPU searches, and there is nothing to warn of."""
    library = faiss.faiss()
    monkeypatch.setattr(library, "index_cpu_to_gpu", fails, raising=False)
    monkeypatch.setattr(faiss, "_gpu_resources", lambda: None)
    wanted = nearest_both(sides[0], compressed, searching(4, device="cpu"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(nearest_both(sides[0], compressed, searching(4, device="cuda")), wanted)


def faiss_gpus() -> int:
    return faiss.gpu_count() if engines.search_device("auto", "fused") == "cuda" else 0


@pytest.mark.skipif(not faiss_gpus(), reason="no GPU here that FAISS can use")
@pytest.mark.parametrize("factory", [None, "IVF16,Flat", "IVF16,PQ8"])
def test_a_real_gpu_agrees_with_the_cpu(factory: str | None) -> None:
    library = faiss.faiss()
    source, target = (side(part) for part in realistic(np.random.default_rng(43), 2000, 5000, 64))
    if factory is not None:
        base = target.float32_block(0, len(target))
        index = library.index_factory(64, factory, library.METRIC_INNER_PRODUCT)
        index.train(base)
        index.add(base)
        target = VectorSet(target.vectors, target.rows, index)
        assert faiss.to_gpu(index) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = nearest_both(source, target, searching(4, device="cuda"))
    wanted = nearest_both(source, target, searching(4, exact=factory is None, device="cpu"))
    if factory is None:
        same(found, wanted)
    else:
        assert (found[0].row == wanted[0].row).mean() > 0.98
    assert knn_search.gpu_agrees(lambda: FaissEngine("cuda"), source, target)
