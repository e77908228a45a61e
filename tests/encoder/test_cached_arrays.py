"""miner.encoder.cached_arrays: computed once, and again if an entry is damaged."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from miner.encoder import cached_arrays as cache
from miner.encoder.cached_arrays import STALE_DAYS, cached_arrays, key_of

LARGE = np.arange(cache.LEAST // 8)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    return tmp_path


def computed(key: str, large: np.ndarray = LARGE) -> bool:
    """Return True if the arrays had to be computed; check their values."""
    calls = []

    def make() -> dict[str, np.ndarray]:
        calls.append(key)
        return {"large": large, "none": np.empty((0, 3), np.int8)}

    found = cached_arrays("example", ("large", "none"), key, make)
    np.testing.assert_array_equal(found["large"], large)
    assert found["none"].shape == (0, 3) and list(found) == ["large", "none"]
    return bool(calls)


def test_large_arrays_of_a_key_are_computed_once(place: Path) -> None:
    assert [key for key in "aaba" if computed(key)] == ["a", "b"]
    assert computed("") and computed("") and len(list(place.iterdir())) == 2
    assert computed("c", LARGE[1:]) and computed("c", LARGE[1:])  # small arrays are not cached


@pytest.mark.parametrize("damage", ["bit", "cut", "gone", "stamps"])
@pytest.mark.filterwarnings("error")
def test_a_damaged_entry_is_computed_again_without_a_word(place: Path, damage: str) -> None:
    assert computed("a")
    (entry,) = place.iterdir()
    file = entry / "large.npy"
    content = file.read_bytes()
    if damage == "bit":
        file.write_bytes(content[:5000] + b"x" + content[5001:])
        later = time.time() + 2  # a change within the same second keeps the time stamp
        os.utime(file, (later, later))
    elif damage == "cut":
        file.write_bytes(content[:-1])
    elif damage == "gone":
        file.unlink()
    else:
        (entry / "stamps.json").write_text("{")
    assert computed("a")
    assert not computed("a")


def test_an_entry_in_the_layer_of_an_image_stands(place: Path) -> None:
    """Container image layers store times in whole seconds."""
    assert computed("a")
    for file in next(place.iterdir()).glob("*.npy"):
        second = file.stat().st_mtime_ns // 10**9 * 10**9
        os.utime(file, ns=(second, second))
    assert not computed("a")


def test_entries_that_nobody_used_are_removed(place: Path) -> None:
    assert computed("a") and computed("b")
    for entry in place.iterdir():
        os.utime(entry, (0, entry.stat().st_mtime - 2 * STALE_DAYS * 24 * 3600))
    assert not computed("b")  # in use again
    assert computed("c") and len(list(place.iterdir())) == 2
    assert computed("a")


def test_a_disk_that_cannot_be_written_costs_the_next_process_its_time(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "file").touch()
    monkeypatch.setattr(cache, "folder", lambda: place / "file" / "none")
    assert computed("a") and computed("a") and [*place.iterdir()] == [place / "file"]


def test_keys_of_models_differ_by_all_that_the_arrays_depend_on() -> None:
    assert len({key_of("1"), key_of("2"), key_of("1", "de"), key_of("1", "en")}) == 4
    assert key_of("", "de") == ""


def test_an_entry_that_others_may_write_is_not_read(place: Path) -> None:
    place.chmod(0o700)
    assert computed("a") and not computed("a")
    place.chmod(0o770)
    assert computed("a")
    place.chmod(0o555)  # cached by an image for other users
    assert not computed("a")


def test_the_place_of_the_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "bitext-miner" / "arrays"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache.folder() == tmp_path / "x" / "bitext-miner" / "arrays"
    assert computed("a") and not computed("a")
    assert not cache.folder().stat().st_mode & 0o077
