"""Missing or unusable libraries: one error with the installation command."""

import json
import os
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest

from miner import libraries
from miner.errors import DependencyError
from miner.libraries import install_line, installed_version, library, require


def test_a_library_that_is_there() -> None:
    assert library("json", "a test") is json
    require(["json", "sys"], "a test", "train")


@pytest.mark.parametrize("name", ["numpy", "py3langid", "rensa", "ftfy", "no-such-library"])
def test_the_version_of_a_library_is_that_of_its_metadata(name: str) -> None:
    expected = None
    with suppress(metadata.PackageNotFoundError):
        expected = metadata.version(name)
    assert installed_version(name) == expected


@pytest.fixture(autouse=True)
def own_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretend that pip belongs to this Python and that a driver is installed."""
    place = os.path.dirname(sys.executable)
    monkeypatch.setenv("PATH", place, prepend=os.pathsep)
    monkeypatch.setattr(libraries, "DRIVERS", (place,))


def test_the_line_that_installs_suits_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install_line("torch") == "pip install torch"
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(libraries, "DRIVERS", ())
    monkeypatch.setattr(sys, "platform", "linux")
    line = f'pip install "bitext-miner[train]" --extra-index-url {libraries.CPU_TORCH}'
    assert install_line(extra="train") == line
    assert install_line(extra="gpu") == 'pip install "bitext-miner[gpu]"'
    monkeypatch.setattr(sys, "platform", "darwin")
    assert install_line(extra="train") == 'pip install "bitext-miner[train]"'
    monkeypatch.setenv("PATH", "/none")
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir("/")
        assert install_line("six").endswith("/python -m pip install six")
    monkeypatch.chdir(Path(sys.executable).parents[2])
    assert install_line("six") == f"{Path(*Path(sys.executable).parts[-3:])} -m pip install six"


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
