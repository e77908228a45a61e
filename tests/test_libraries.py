"""Libraries that are missing or unusable: one error, that names the user and the command."""

import json
import sys
from pathlib import Path

import pytest

from miner.errors import DependencyError
from miner.libraries import library, require


def test_a_library_that_is_there() -> None:
    assert library("json", "a test") is json
    require(["json", "sys"], "a test", "train")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    said = 'a fit needs torch and scikit-learn; run: pip install "bitext-miner[train]"'
    with pytest.raises(DependencyError) as caught:
        require(["torch", "sklearn"], "a fit", "train")
    assert str(caught.value) == said
    with pytest.raises(DependencyError) as caught:
        library("sklearn_none.linear", "a test")
    assert str(caught.value) == "a test needs sklearn_none; run: pip install sklearn_none"


def test_an_unusable_library_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_library.py").write_text("import libcudart_of_another_version\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DependencyError) as caught:
        library("broken_library", "a test", "gpu")
    said = "No module named 'libcudart_of_another_version'"
    wanted = f'a test needs broken_library ({said}); run: pip install "bitext-miner[gpu]"'
    assert str(caught.value) == wanted
