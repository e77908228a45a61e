"""Cache of compiled loops: shared by equal packages, and never read by another one."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest

from miner.kernels import cache, loops
from miner.kernels.tile import has_avx2

KERNELS = Path(__file__).parent.parent.parent / "miner" / "kernels"
HELPER = "from miner.kernels.loops import njit\n\n@njit()\ndef product(a, b):\n    return {}\n"
LOOP = """
from miner.kernels.loops import njit
from miner.kernels.helper import product

@njit(nogil=True)
def loop(a, b):
    return product(a, b)
"""
RUN = """
from miner.kernels import cache
before = cache.compiled("loop")
from miner.kernels.loop import loop
print(loop(6, 7), before, cache.compiled("loop"), 1 - loop.compiled)
print(cache.folder())
"""
TARGET = """
from miner.kernels.loops import target
print(target()[0])
"""


def clone(place: Path, body: str = "a * b") -> Path:
    """Write a package with the cache of the real one, and a loop that inlines another file."""
    kernels = place / "miner" / "kernels"
    kernels.mkdir(parents=True)
    (place / "miner" / "__init__.py").touch()
    for name in ("__init__.py", "cache.py", "loops.py", "machine_code.py"):
        shutil.copy(KERNELS / name, kernels / name)
    for name in ("errors.py", "machine.py", "parallel.py"):
        shutil.copy(KERNELS.parent / name, place / "miner" / name)
    (kernels / "helper.py").write_text(HELPER.format(body))
    (kernels / "loop.py").write_text(LOOP)
    return place


def run(clone: Path, base: Path, message: str = "") -> tuple[str, Path]:
    """Call the loop in a new process; its result and the folder of the cache.

    The line has the product, whether it was compiled before and after, and hits of the cache.
    ``message`` is the only warning.
    """
    done = subprocess.run(
        [sys.executable, "-B", "-c", RUN],
        cwd=clone,
        env=os.environ | {"PYTHONPATH": str(clone), "NUMBA_CACHE_DIR": str(base)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert message in done.stderr and done.stderr.count("RuntimeWarning") == bool(message)
    line, place = done.stdout.splitlines()
    return line, Path(place)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the cache that a clone has filled; tests must not change it."""
    base = tmp_path_factory.mktemp("compiled")
    line, place = run(clone(base / "first"), base)
    assert line == "42 False True 0"
    return place


def test_equal_clones_share_a_cache_and_a_changed_one_has_its_own(
    compiled: Path, tmp_path: Path
) -> None:
    base, first = compiled.parent.parent, clone(tmp_path / "first")
    assert run(first, base) == ("42 True True 1", compiled)
    (first / "miner" / "kernels" / "helper.py").write_text(HELPER.format("0"))
    line, other = run(first, base)
    assert line == "0 False True 0" and other.parent == compiled.parent and other != compiled
    other.chmod(0o770)  # others may have written what it has
    line, private = run(first, base, "is not yours alone")
    assert line == "0 False True 0" and private.parent != compiled.parent
    assert not private.exists(), "gone with the process"


@pytest.mark.skipif(not has_avx2(), reason="loops are compiled for AVX2, which is not here")
@pytest.mark.parametrize(
    "before, asked, expected",
    [
        ("", None, loops.TARGET),
        ("", "haswell", "haswell"),
        ("import numba; numba.njit(lambda x: x)", None, None),
    ],
)
def test_loops_are_compiled_for_many_processors(before, asked, expected) -> None:
    """Unless the user chose, or has functions of numba already."""
    environment = {name: value for name, value in os.environ.items() if "NUMBA_CPU" not in name}
    done = subprocess.run(
        [sys.executable, "-c", before + TARGET],
        env=environment | ({"NUMBA_CPU_NAME": asked} if asked else {}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == (expected or llvmlite.binding.get_host_cpu_name())


def test_loops_that_come_compiled_need_no_cache(compiled: Path, tmp_path: Path) -> None:
    """Unless they are of other source: then they are compiled."""
    first = clone(tmp_path / "first")
    shutil.copytree(compiled, first / "miner" / "kernels" / "compiled")
    line, other = run(first, tmp_path / "other")
    assert line == "42 True True 1" and not any(other.iterdir())
    (first / "miner" / "kernels" / "helper.py").write_text(HELPER.format("0"))
    assert run(first, tmp_path / "other")[0] == "0 True True 0"


def test_a_damaged_cache_is_made_again(compiled: Path, tmp_path: Path) -> None:
    first = clone(tmp_path / "first")
    shutil.copytree(compiled.parent, tmp_path / compiled.parent.name)
    for path in tmp_path.rglob("*.loop"):
        path.write_bytes(path.read_bytes()[:-9])
    assert run(first, tmp_path, "they are compiled again")[0] == "42 True True 0"
    assert run(first, tmp_path)[0] == "42 True True 1"


def test_arguments_and_results_of_loops() -> None:
    @loops.njit()
    def loop(values, scale, flag, pair):
        return np.sort(values)[pair[1]] * scale + flag

    values = np.array([3, 1, 3], np.int32)
    assert loop(values, np.float32(0.5), True, (values, 2)) == 2.5 and loop.compiled == 1
    values.flags.writeable = False
    assert loop(values, np.float32(1), np.bool_(False), (values, 0)) == 1 and loop.compiled == 1
    assert loop(values[::2], np.float32(1), False, (values, 0)) == 3 and loop.compiled == 2
    with pytest.raises(TypeError, match="not list"):
        loop([1])


def test_numba_runs_what_cannot_be_linked() -> None:
    loop = loops.njit()(lambda values: len(np.unique(values)))
    with pytest.warns(RuntimeWarning, match="not linked"):
        assert loop(np.array([3, 1, 3])) == 2
    assert loop(np.array([1, 1])) == 1


@pytest.mark.parametrize("order", [1, -1])
def test_a_loop_and_its_helper_are_compiled_in_any_order(order: int) -> None:
    import numba

    helper = loops.njit()(lambda values: values[0] + values[-1])
    outer = loops.njit()(lambda values: 2 * helper(values))
    values, found = np.arange(5.0), {}
    for loop in (helper, outer)[::order]:
        found[loop] = loop(values)
    assert found == {helper: 4.0, outer: 8.0} and helper.compiled == outer.compiled == 1
    # numba itself still makes whole functions, of the helper too.
    inner = helper.dispatcher
    assert numba.njit(lambda values: inner(values) + 1)(values) == 5.0


def test_a_loop_that_fails() -> None:
    loop = loops.njit()(lambda a, b: a // b)
    assert loop(7, 2) == 3
    with pytest.raises(RuntimeError):
        loop(7, 0)


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
    with pytest.warns(RuntimeWarning, match="compiled loops are not kept"):
        private = folder(monkeypatch, **asked)
    assert private.is_dir() and not private.stat().st_mode & 0o077
    assert os.environ["NUMBA_CACHE_DIR"] == str(private.parent.parent), "for its children"
    assert private.parent.parent.name.startswith("miner-kernels-")
