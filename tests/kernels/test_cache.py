"""Cache of compiled loops: shared by equal packages, and never read by another one."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from miner.kernels import cache

KERNELS = Path(__file__).parent.parent.parent / "miner" / "kernels"
HELPER = "import numba\n\n@numba.njit\ndef product(a, b):\n    return {}\n"
LOOP = """
from miner.kernels.cache import njit
from miner.kernels.helper import product

@njit(nogil=True)
def loop(a, b):
    return product(a, b)
"""
RUN = """
from miner.kernels import cache
before = cache.compiled("loop")
from miner.kernels.loop import loop
print(loop(6, 7), before, cache.compiled("loop"), sum(loop.stats.cache_hits.values()))
print(cache.folder())
"""


def clone(place: Path, body: str = "a * b") -> Path:
    """Write a package with the cache of the real one, and a loop that inlines another file."""
    kernels = place / "miner" / "kernels"
    kernels.mkdir(parents=True)
    (place / "miner" / "__init__.py").touch()
    for name in ("__init__.py", "cache.py"):
        shutil.copy(KERNELS / name, kernels / name)
    (kernels / "helper.py").write_text(HELPER.format(body))
    (kernels / "loop.py").write_text(LOOP)
    return place


def run(clone: Path, base: Path) -> tuple[str, Path]:
    """Call the loop in a new process; its result and the folder of the cache.

    The line has the product, whether it was compiled before and after, and hits of the cache.
    """
    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN],
        cwd=clone,
        env=os.environ | {"PYTHONPATH": str(clone), "NUMBA_CACHE_DIR": str(base)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and done.stderr == ""
    line, place = done.stdout.splitlines()
    return line, Path(place)


def test_equal_clones_share_a_cache_and_a_changed_one_has_its_own(tmp_path: Path) -> None:
    first = clone(tmp_path / "first")
    line, place = run(first, tmp_path)
    assert line == "42 False True 0"
    assert run(clone(tmp_path / "second"), tmp_path) == ("42 True True 1", place)
    (first / "miner" / "kernels" / "helper.py").write_text(HELPER.format("0"))
    line, other = run(first, tmp_path)
    assert line == "0 False True 0" and other.parent == place.parent and other != place
    other.chmod(0o770)  # others may have written what it has
    line, private = run(first, tmp_path)
    assert line == "0 False True 0" and private.parent != place.parent
    assert not private.exists(), "gone with the process"


def folder(monkeypatch: pytest.MonkeyPatch, **environment: Path) -> Path:
    """Folder that a new process with these variables would use."""
    monkeypatch.setattr(cache, "_temporary", [])
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, str(value))
    return cache.folder.__wrapped__()


def test_the_place_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"HOME": tmp_path / ".cache", "XDG_CACHE_HOME": tmp_path / "x"}
    places["NUMBA_CACHE_DIR"] = tmp_path / "y"
    asked = {name: base if name != "HOME" else tmp_path for name, base in places.items()}
    for count, base in enumerate(places.values(), 1):  # the last one named counts
        path = folder(monkeypatch, **dict(list(asked.items())[:count]))
        assert path.parent == base / "bitext-miner"
        assert not path.stat().st_mode & 0o077


def test_stale_folders_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the run that makes a new one; a run that uses a folder makes it young."""
    used = folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path)
    stale, young, other = (used.parent / name for name in ("kernels-a", "kernels-b", "mine"))
    month = time.time() - 31 * 24 * 3600
    for path in (stale, young, other, used):
        path.mkdir(exist_ok=True)
        os.utime(path, (month, month))
    os.utime(young)
    folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path)
    monkeypatch.setattr(cache, "content", lambda: "new")
    folder(monkeypatch, NUMBA_CACHE_DIR=tmp_path)
    assert not stale.exists() and young.exists() and other.exists() and used.exists()


@pytest.mark.parametrize("fault", ["a file", "no home", "others may write", "of another user"])
def test_a_cache_that_is_not_the_users_is_not_read(tmp_path, monkeypatch, fault):
    asked = {"NUMBA_CACHE_DIR": tmp_path}
    place = folder(monkeypatch, **asked)
    if fault == "a file":
        (tmp_path / "file").touch()
        asked = {"NUMBA_CACHE_DIR": tmp_path / "file"}
    elif fault == "no home":
        asked = {"HOME": Path("/dev/null")}
    elif fault == "others may write":
        place.chmod(0o770)
    elif os.getuid():
        pytest.skip("only root can give a folder away")
    else:
        os.chown(place, 1, -1)
    private = folder(monkeypatch, **asked)
    assert private.is_dir() and not private.stat().st_mode & 0o077
    assert os.environ["NUMBA_CACHE_DIR"] == str(private.parent.parent), "for its children"
    assert private.parent.parent.name.startswith("miner-kernels-")


def test_every_kept_loop_is_kept_there() -> None:
    for path in KERNELS.glob("*.py"):
        if path.name != "cache.py":
            assert "cache=True" not in path.read_text(encoding="utf-8"), path
