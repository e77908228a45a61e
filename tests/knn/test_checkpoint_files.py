"""Files of checkpoints: damaged, locked, synced, on full disks, and removed."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from miner.knn.search_checkpoint import HEADER, Checkpoint
from support.searched import BLOCK, VECTORS, D, K, M, N, Searches, alone, searched  # noqa: F401 (fixture)
from support.sides import nearest, same

from miner.errors import ArtifactError, ResourceError
from miner.index import hdf5
from miner.knn import knn_search
from miner.knn import search_checkpoint as checkpoints
from miner.knn.vector_set import VectorSet
from miner.text.locks import lock


def damaged(kind: str, path: Path) -> None:
    """Replace or damage a checkpoint."""
    if kind == "text":
        path.write_text("dear diary\n")
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "other hdf5":
        with h5py.File(path, "w") as file:
            file["embeddings"] = np.zeros(3)
    elif kind == "truncated":
        path.write_bytes(path.read_bytes()[:-500])
    elif kind == "longer":
        path.write_bytes(path.read_bytes() + b"\0")
    elif kind == "directory":
        path.unlink()
        path.mkdir()
    elif kind == "version":
        path.write_bytes(path.read_bytes().replace(b"\n3\n", b"\n2\n", 1))
    else:
        with h5py.File(path, "r+") as file:
            if kind == "no lists":
                del file["backward"]
            elif kind == "zeroed lists":
                for name in ("forward", "backward"):
                    file[f"{name}/similarity"][:] = 0
                    file[f"{name}/position"][:] = 0
            elif kind == "wild positions":
                file["forward/position"][0] = 1 << 30
            elif kind == "more done":
                search = json.loads(file.attrs["search"])
                file.attrs["search"] = json.dumps(search | {"done": search["done"] + 1})


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("text", "another format"),
        ("empty", "another format"),
        ("other hdf5", "another format"),
        ("directory", "Is a directory"),
        ("version", "another version of this program"),
        *(
            (kind, "corrupted: its checksum is wrong")
            for kind in ("truncated", "longer", "no lists", "zeroed lists", "wild positions",
                         "more done")
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_no_checkpoint_is_refused(searched: Searches, kind: str, said: str) -> None:
    searched()
    damaged(kind, searched.path)
    before = None if kind == "directory" else searched.path.read_bytes()
    with pytest.raises(ArtifactError) as caught:
        searched()
    assert str(searched.path) in str(caught.value) and "\n" not in str(caught.value)
    assert said in str(caught.value)
    assert "remove" in str(caught.value) and alone(searched.path)
    assert before is None or searched.path.read_bytes() == before


def test_every_flipped_byte_is_noticed(searched: Searches) -> None:
    searched.killed(kill=5)
    whole = searched.path.read_bytes()
    padding = whole[:HEADER].rindex(b"\n") + 1
    generator = np.random.default_rng(32)
    for place in (*range(padding), *generator.integers(HEADER, len(whole), 300).tolist()):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << generator.integers(8)
        searched.path.write_bytes(flipped)
        with pytest.raises(ArtifactError, match="not a checkpoint of a search"):
            Checkpoint(searched.path, keep=True)
    searched.path.write_bytes(whole)
    same(searched(), searched.scratch())


def test_a_file_damaged_after_the_start_is_refused(searched: Searches) -> None:
    """Between the check at the start and the search, indexes may be built for hours."""
    searched.killed(kill=5)
    checkpoint = Checkpoint(searched.path, keep=True)
    damaged("zeroed lists", searched.path)
    with pytest.raises(ArtifactError, match="its checksum is wrong"):
        nearest("int8", *searched.sides(N, M), K, checkpoint=checkpoint)


def test_two_runs_with_one_checkpoint_exclude_each_other(searched: Searches) -> None:
    searched.killed(kill=5)
    before = searched.path.read_bytes()
    with lock(searched.path):
        with pytest.raises(ResourceError) as caught:
            searched()
        assert f"held by process {os.getpid()} on" in str(caught.value)
        assert "\n" not in str(caught.value) and not searched.cells
        assert searched.path.read_bytes() == before
    same(searched(), searched.scratch())
    assert alone(searched.path), "the lock is gone with its holder"


def test_a_checkpoint_is_held_until_its_results_are_safe(searched: Searches) -> None:
    """So that no run removes the file in which another has gone on."""
    sides = searched.sides(N, M)
    with Checkpoint(searched.path, keep=False) as first:
        nearest("int8", *sides, K, checkpoint=first)
        with pytest.raises(ResourceError, match=f"held by process {os.getpid()} on"):
            searched()
        first.close()
    searched()
    with Checkpoint(searched.path, keep=True) as second:
        nearest("int8", *sides, K, checkpoint=second)
    searched()
    assert alone(searched.path)


def test_content_is_on_disk_before_its_name(
    searched: Searches, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut leaves the old file or the new one: content, rename and directory are synced."""
    events: list[str] = []

    def fsync(descriptor: int) -> None:
        directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        events.append("directory" if directory else "content")
        if not directory:
            size = os.fstat(descriptor).st_size
            assert size == len(searched.path.with_name(".checkpoint.h5.partial").read_bytes())

    def replace(source: Any, target: Any, original: Any = os.replace) -> None:
        events.append("rename")
        original(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(knn_search, "BLOCK", 1000)
    searched()
    once = ["content", "directory", "rename", "directory"]
    assert events and events == once * (len(events) // len(once))


@pytest.mark.parametrize("keep", [True, False])
def test_a_path_that_cannot_be_written(searched: Searches, keep: bool) -> None:
    """In a missing directory, or below a file: the search goes on."""
    (searched.path.parent / "file").write_text("")
    for place in ("missing", "file"):
        searched.path = searched.path.parent / place / "checkpoint.h5"
        same(searched(keep=keep), searched.scratch())
        assert "warning:" in searched.notes[0] and "cannot be written" in searched.notes[0]
        assert len(searched.notes) <= 2
        searched.path = searched.path.parent.parent / "checkpoint.h5"
    assert [entry.name for entry in searched.path.parent.iterdir()] == ["file"]


def test_a_full_disk(searched: Searches, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older checkpoint stays, and nothing beside it."""
    searched.killed(kill=5)
    before = searched.path.read_bytes()

    def full(*rest: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(hdf5, "reserve", full)
        found = searched()
    same(found, searched.scratch())
    assert any("No space left" in note for note in searched.notes)
    assert searched.path.read_bytes() == before and alone(searched.path)


def test_the_leftover_of_a_killed_write_is_removed(searched: Searches) -> None:
    left = searched.path.with_name(f".{searched.path.name}.partial")
    left.write_bytes(b"half a checkpoint")
    searched()
    assert alone(searched.path)


def test_a_short_search_removes_the_leftover_of_a_killed_write(
    searched: Searches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 3600.0)
    searched.path.with_name(f".{searched.path.name}.partial").write_bytes(b"half a checkpoint")
    searched(keep=False)
    assert not list(searched.path.parent.iterdir())


def test_a_link_stays_one(searched: Searches, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    searched.path.symlink_to(place / "checkpoint.h5")
    searched()
    assert searched.path.is_symlink() and alone(place / "checkpoint.h5")


def test_compressed_indexes_have_no_checkpoint(searched: Searches) -> None:
    import faiss

    source, target = searched.sides(N, M)
    ann = faiss.index_factory(D, "Flat", faiss.METRIC_INNER_PRODUCT)
    ann.add(source.float32_block(0, N))
    searched(sides=(VectorSet(source.vectors, source.rows, ann), target))
    assert "is not used" in searched.notes[0] and not searched.path.exists()
