"""miner.device: the chosen device, and errors for a missing GPU."""

import importlib
from pathlib import Path

import pytest
import torch

from miner import device
from miner.device import resolve_device
from miner.encoder.encoder import Encoder
from miner.errors import DependencyError, ResourceError
from miner.knn.settings import SearchSettings


def test_without_a_driver_torch_is_not_imported(monkeypatch, tiny_model):
    monkeypatch.setattr("miner.libraries.DRIVERS", ())
    monkeypatch.setattr(device, "import_torch", lambda: pytest.fail("torch was imported"))
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    with pytest.raises(ResourceError, match="no GPU here that torch finds.*--device cpu"):
        Encoder.load(tiny_model, device="cuda")


def test_a_driver_without_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("miner.libraries.DRIVERS", (str(tmp_path),))

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    assert resolve_device("auto") == "cpu"
    with pytest.raises(DependencyError, match="pip install"):
        resolve_device("cuda")


@pytest.mark.parametrize("usable", [False, True])
def test_torch_decides_if_there_is_a_driver(usable, monkeypatch, tmp_path):
    monkeypatch.setattr("miner.libraries.DRIVERS", (str(tmp_path),))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: usable)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert resolve_device("cpu") == "cpu"
    if usable:
        assert resolve_device("auto") == resolve_device("cuda") == "cuda"
        assert resolve_device("cuda:1") == "cuda:1"
        with pytest.raises(ResourceError, match="cuda:2: torch finds 2 GPUs here, .* cuda:1$"):
            resolve_device("cuda:2")
        return
    assert resolve_device("auto") == "cpu"
    with pytest.raises(ResourceError, match="no GPU here that torch finds"):
        resolve_device("cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:-1", "cuda:1,2", "CPU", ""])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="^'.*' is not one of auto, cpu, cuda, cuda:N$"):
        resolve_device(name)
    with pytest.raises(ValueError, match="device = .* is not one of"):
        SearchSettings(device=name)


def test_another_library_counts_its_own_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "torch_gpus", lambda: pytest.fail("torch was asked"))
    assert resolve_device("auto", lambda: 0, "FAISS") == "cpu"
    assert resolve_device("auto", lambda: 2, "FAISS") == "cuda"
    assert resolve_device("cuda", lambda: 2, "FAISS") == "cuda"
    with pytest.raises(ResourceError, match="no GPU here that FAISS finds.*--device cpu"):
        resolve_device("cuda", lambda: 0, "FAISS")
