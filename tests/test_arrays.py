"""miner.arrays: damaged headers, full disks, and growing arrays."""

import errno
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miner.arrays import GrowingArray, Room, distinct, open_npy, temporary_array
from miner.errors import ArtifactError, ResourceError


def test_an_array_opens_as_it_was_saved(tmp_path: Path) -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.save(tmp_path / "a.npy", array)
    assert np.array_equal(open_npy(tmp_path / "a.npy"), array)


@pytest.mark.parametrize("values", [[], [3], [2, 1, 2, 2], [0, 0], [-1, 5, -1, 7]])
def test_distinct_numbers_are_those_of_numpy(values: list[int]) -> None:
    array = np.array(values, np.int32)
    np.testing.assert_array_equal(distinct(array), np.unique(array))


@pytest.mark.parametrize("byte", [ord(b"("), ord(b'"'), ord(b"{"), 0, 255, ord(b"9")])
def test_a_header_with_any_byte_changed_is_read_or_refused(tmp_path: Path, byte: int) -> None:
    """numpy raises errors of its tokenizer for some of them."""
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((2, 3)))
    whole = path.read_bytes()
    refused = 0
    for place in range(128):
        path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        try:
            open_npy(path)
        except ArtifactError as error:
            refused += str(path) in str(error)
    assert refused >= 40


class Trap:
    """Object whose unpickling creates a directory."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


@pytest.mark.parametrize("kind", ["object array", "pickle", "archive", "nothing", "short"])
def test_nothing_is_unpickled_or_cut_short(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trap = np.array([[Trap()]], dtype=object)
    with open("a.npy", "wb") as file:
        if kind == "object array":
            np.save(file, trap, allow_pickle=True)
        elif kind == "pickle":
            pickle.dump(Trap(), file)
        elif kind == "archive":
            np.savez(file, trap)
        elif kind == "short":
            np.save(file, np.zeros(100))
            file.truncate(file.tell() - 1)
    with pytest.raises(ArtifactError, match=r"a\.npy"):
        open_npy(Path("a.npy"))
    assert not Path("unpickled").exists()


@pytest.mark.parametrize(
    "shape",
    [(1 << 40, 1 << 10), (1, 1 << 50), (1 << 32, 1 << 32), (1 << 62, 4), (1 << 70, 2), (-4, 6)],
)
def test_headers_that_claim_too_much(tmp_path, shape, recwarn):
    with open(tmp_path / "a.npy", "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(b"\0" * 96)
    with pytest.raises(ArtifactError, match=r"a\.npy"):
        open_npy(tmp_path / "a.npy")
    assert not recwarn.list, "a warning would be more than one line"


def test_a_full_disk_is_an_error_before_pages_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", full_disk)
    with pytest.raises(OSError, match="No space left"):
        temporary_array(5, np.int64, tmp_path)


@pytest.mark.parametrize("on_disk", [True, False])
def test_an_array_grows_by_blocks(tmp_path: Path, on_disk: bool) -> None:
    growing = GrowingArray(np.int32, tmp_path, on_disk=on_disk)
    assert growing.array().tolist() == []
    growing.append(np.array([1, 2]))
    assert growing.array().tolist() == [1, 2]
    growing.append(np.empty(0))
    growing.append(np.array([3.0]))
    assert growing.array().tolist() == [1, 2, 3] and growing.array().dtype == np.int32
    assert isinstance(growing.array(), np.memmap) == on_disk
    assert not os.listdir(tmp_path)


def test_room_beyond_the_memory_is_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Room(100)
    inside, outside = small.empty(10, np.int64), small.empty((5, 4), np.int32)
    assert not isinstance(inside, np.memmap) and isinstance(outside, np.memmap)
    outside[:] = 7
    assert outside.sum() == 140 and small.left == 20
    assert small.empty(0, np.int32).shape == (0,)
    small.free(inside, outside)
    assert small.left == 100
    monkeypatch.setattr(os, "posix_fallocate", full_disk)
    with pytest.raises(ResourceError, match="cannot be written: no space left"):
        small.empty(1000, np.int64)


def full_disk(descriptor: int, start: int, size: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
