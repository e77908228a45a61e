"""A simulated machine with GPUs: the stand-in for FAISS, here and in child processes."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from miner.index import faiss

PLACE = Path(__file__).parent / "fake_faiss"


def simulate(
    monkeypatch: pytest.MonkeyPatch, gpus: int = 1, fault: str = "", memory: int = 1 << 40
) -> Any:
    """Simulate ``gpus`` with ``memory`` for FAISS, and none for torch; return the stand-in."""
    for name, value in {"GPUS": gpus, "FAULT": fault, "MEMORY": memory}.items():
        monkeypatch.setenv(f"FAKE_{name}", str(value))
    monkeypatch.setattr("miner.libraries.DRIVERS", (str(PLACE),))
    importlib.import_module("faiss")  # the real module, restored after the test
    monkeypatch.delitem(sys.modules, "faiss")
    monkeypatch.syspath_prepend(str(PLACE))
    module = importlib.import_module("faiss")
    assert Path(str(module.__file__)).parent == PLACE
    faiss._resources.cache_clear()
    faiss._counted.cache_clear()
    return module
