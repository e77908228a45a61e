"""miner.index.faiss: errors for a missing FAISS or GPU, and the calls of a GPU search."""

import importlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.fake_gpus import simulate

from miner.errors import DependencyError, ResourceError
from miner.index import faiss
from miner.index.index import Index
from miner.knn.engines import search_device
from miner.knn.settings import SearchSettings
from miner.mining.mine import search


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Install distributions that provide the module, alone or beside one of a similar name."""

    def install(*names: str) -> None:
        for name, package in {**dict.fromkeys(names, "faiss"), "autofaiss": "autofaiss"}.items():
            place = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
            place.mkdir()
            (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            (place / "RECORD").write_text(f"{package}/__init__.py,,\n")
            # Since Python 3.12 missing files are left out of the list.
            (tmp_path / package).mkdir(exist_ok=True)
            (tmp_path / package / "__init__.py").touch()
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
        faiss.faiss_distributions.cache_clear()

    yield install
    faiss.faiss_distributions.cache_clear()


@pytest.mark.parametrize(
    ("names", "error", "said"),
    [
        ((), ModuleNotFoundError("No module"), r'pip install "bitext-miner\[cpu\]"'),
        # CUDA's libraries are missing for a GPU build.
        (("faiss-gpu",), ImportError("libcublas.so.12: cannot open"), "libcublas.*pip install"),
    ],
)
def test_faiss_that_cannot_be_loaded(monkeypatch, installed, names, error, said):
    def broken(name: str) -> Any:
        raise error

    installed(*names)
    monkeypatch.setattr(importlib, "import_module", broken)
    assert faiss.faiss_distributions() == [*names]
    with pytest.raises(DependencyError, match=said):
        faiss.faiss()


def test_faiss_twice(installed: Callable[..., None]) -> None:
    """Builds for one version of CUDA have other distribution names."""
    installed("faiss-gpu-cu12", "faiss-cpu")
    assert faiss.faiss_distributions() == ["faiss-cpu", "faiss-gpu-cu12"]
    with pytest.raises(DependencyError) as caught:
        faiss.faiss()
    wanted = r"pip uninstall -y faiss-cpu faiss-gpu-cu12 && \S+( -m pip)? install faiss-gpu-cu12$"
    assert re.search(wanted, str(caught.value))


def test_no_gpu(monkeypatch: pytest.MonkeyPatch, indexes: tuple[Index, Index]) -> None:
    simulate(monkeypatch, gpus=0)
    assert faiss.gpu_count() == 0
    assert search_device("auto", "faiss") == search_device("cpu", "faiss") == "cpu"
    with pytest.raises(ResourceError, match="--device cuda: .*FAISS .*--device cpu"):
        search(*indexes, SearchSettings(device="cuda", engine="faiss"))


def test_faiss_without_gpu_support(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some versions of faiss-cpu have get_num_gpus, none has GPU classes."""
    monkeypatch.setattr(faiss, "faiss", lambda: SimpleNamespace(get_num_gpus=lambda: 8))
    assert faiss.gpu_count() == 0


def test_gpus_are_used(monkeypatch: pytest.MonkeyPatch, indexes: tuple[Index, Index]) -> None:
    on_cpu = search(*indexes, SearchSettings(device="cpu", threads=2))
    fake = simulate(monkeypatch, gpus=2)
    assert faiss.gpu_count() == 2
    assert search_device("auto", "faiss") == search_device("cuda", "faiss") == "cuda"
    assert search_device("cuda:1", "faiss") == "cuda:1"
    with pytest.raises(ResourceError, match="cuda:2: FAISS finds 2 GPUs here, the last is cuda:1"):
        search(*indexes, SearchSettings(device="cuda:2", engine="faiss"))
    on_gpu = search(*indexes, SearchSettings(device="cuda:1", engine="faiss", threads=2))
    assert fake.copies == [([1], True, 60), ([1], True, 60)]
    np.testing.assert_array_equal(on_gpu.score, on_cpu.score)
    np.testing.assert_array_equal(on_gpu.source_row, on_cpu.source_row)
    fake.copies.clear()
    search(*indexes, SearchSettings(device="cpu", engine="faiss", threads=2))
    assert not fake.copies


@pytest.mark.parametrize("fault", ["", "abort"])
def test_an_index_is_trained_on_gpus(monkeypatch, tmp_path: Path, fault: str) -> None:
    """A child process trains on the GPU; if it dies, the CPU trains, with a warning."""
    fake = simulate(monkeypatch, fault=fault)
    vectors = np.random.default_rng(2).normal(size=(400, 16)).astype(np.float16)
    path = tmp_path / "index"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        faiss.build(path, vectors, np.arange(400), "IVF4,Flat", "cuda")
    assert ["training the index: its process was ended" in str(one.message) for one in caught] == (
        [True] * (fault != "")
    )
    assert list(tmp_path.iterdir()) == [path]
    found = faiss.read(path)
    assert found.ntotal == 400 and found.is_trained and not fake.copies


def test_no_more_lists_are_probed_than_a_gpu_can(monkeypatch: pytest.MonkeyPatch) -> None:
    inverted = SimpleNamespace(nlist=65_536, nprobe=1)
    module = SimpleNamespace(
        read_index=lambda path: None, try_extract_index_ivf=lambda index: inverted
    )
    monkeypatch.setattr(faiss, "faiss", lambda: module)
    faiss.read(Path("index"))
    assert inverted.nprobe == 2048


def test_flat_search_is_by_inner_product() -> None:
    generator = np.random.default_rng(0)
    queries, base = (generator.normal(size=(n, 8)).astype(np.float32) for n in (5, 30))
    similarity, row = faiss.flat_search(queries, base, 4)
    exact = queries @ base.T
    np.testing.assert_array_equal(row, np.argsort(-exact, axis=1)[:, :4])
    np.testing.assert_allclose(similarity, -np.sort(-exact, axis=1)[:, :4], rtol=1e-5)
    assert similarity.dtype == np.float32 and row.dtype == np.int64
