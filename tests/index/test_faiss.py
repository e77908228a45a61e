"""miner.index.faiss: errors for a missing FAISS or GPU, and the calls of a GPU search."""

import importlib
import importlib.metadata
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from miner.errors import DependencyError, ResourceError
from miner.index import faiss
from miner.index.index import Index
from miner.knn.engines import search_device
from miner.knn.settings import SearchSettings
from miner.mining.mine import search


def installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Pretend that these FAISS distributions alone are installed."""

    def version(name: str) -> str:
        if name not in names:
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.15.1"

    monkeypatch.setattr(importlib.metadata, "version", version)


def fake(monkeypatch: pytest.MonkeyPatch, gpus: int) -> list[Any]:
    """Put a stand-in for FAISS on GPUs, searching on the CPU. Returns the calls of knn_gpu."""
    library = faiss.faiss()
    calls: list[Any] = []

    def knn_gpu(resources: Any, queries: np.ndarray, base: np.ndarray, k: int, metric: int) -> Any:
        calls.append((resources, queries.shape, base.shape, k, metric))
        return library.knn(queries, base, k, metric=metric)

    module = SimpleNamespace(
        METRIC_INNER_PRODUCT=library.METRIC_INNER_PRODUCT,
        StandardGpuResources=lambda: object(),
        get_num_gpus=lambda: gpus,
        knn_gpu=knn_gpu,
        knn=library.knn,
        omp_set_num_threads=library.omp_set_num_threads,
    )
    monkeypatch.setattr(faiss, "faiss", lambda: module)
    monkeypatch.setattr(faiss, "_resources", None)
    return calls


@pytest.mark.parametrize(
    ("names", "error", "said"),
    [
        ((), ModuleNotFoundError("No module"), r'pip install "bitext-miner\[cpu\]"'),
        # CUDA's libraries are missing for a GPU build.
        (("faiss-gpu",), ImportError("libcublas.so.12: cannot open"), "libcublas.*pip install"),
    ],
)
def test_faiss_that_cannot_be_loaded(monkeypatch, names, error, said):
    def broken(name: str) -> Any:
        raise error

    installed(monkeypatch, *names)
    monkeypatch.setattr(importlib, "import_module", broken)
    assert faiss.faiss_distributions() == [*names]
    with pytest.raises(DependencyError, match=said):
        faiss.faiss()


def test_faiss_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "faiss-cpu", "faiss-gpu")
    assert faiss.faiss_distributions() == ["faiss-cpu", "faiss-gpu"]
    with pytest.raises(DependencyError) as caught:
        faiss.faiss()
    wanted = r"pip uninstall -y faiss-cpu faiss-gpu && \S+( -m pip)? install faiss-gpu$"
    assert re.search(wanted, str(caught.value))


def test_no_gpu(monkeypatch: pytest.MonkeyPatch, indexes: tuple[Index, Index]) -> None:
    fake(monkeypatch, gpus=0)
    assert faiss.gpu_count() == 0
    assert search_device("auto", "faiss") == search_device("cpu", "faiss") == "cpu"
    with pytest.raises(ResourceError, match="--device cuda: FAISS .*--device cpu"):
        search(*indexes, SearchSettings(device="cuda", engine="faiss"))


def test_faiss_without_gpu_support(monkeypatch: pytest.MonkeyPatch) -> None:
    """faiss-cpu has get_num_gpus in some versions and no GPU classes in any."""
    monkeypatch.setattr(faiss, "faiss", lambda: SimpleNamespace(get_num_gpus=lambda: 8))
    assert faiss.gpu_count() == 0


def test_a_gpu_is_used(monkeypatch: pytest.MonkeyPatch, indexes: tuple[Index, Index]) -> None:
    on_cpu = search(*indexes, SearchSettings(device="cpu", threads=2))
    calls = fake(monkeypatch, gpus=2)
    assert faiss.gpu_count() == 2
    assert search_device("auto", "faiss") == search_device("cuda", "faiss") == "cuda"
    for device in ("cuda", "auto"):
        calls.clear()
        on_gpu = search(*indexes, SearchSettings(device=device, engine="faiss", threads=2))
        # Two directions of the self-check, whose block is the whole text, then two of the search.
        sizes = [((60, 32), (60, 32), width) for width in (8, 8, 12, 12)]
        assert [call[1:4] for call in calls] == sizes
        assert calls[0][0] is calls[1][0], "the resources are made once"
        np.testing.assert_array_equal(on_gpu.score, on_cpu.score)
        np.testing.assert_array_equal(on_gpu.source_row, on_cpu.source_row)
    calls.clear()
    search(*indexes, SearchSettings(device="cpu", engine="faiss", threads=2))
    assert not calls


def test_flat_search_is_by_inner_product() -> None:
    generator = np.random.default_rng(0)
    queries, base = (generator.normal(size=(n, 8)).astype(np.float32) for n in (5, 30))
    similarity, row = faiss.flat_search(queries, base, 4, "cpu")
    exact = queries @ base.T
    np.testing.assert_array_equal(row, np.argsort(-exact, axis=1)[:, :4])
    np.testing.assert_allclose(similarity, -np.sort(-exact, axis=1)[:, :4], rtol=1e-5)
    assert similarity.dtype == np.float32 and row.dtype == np.int64
