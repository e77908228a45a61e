"""Checkpoints: a search that was killed, or whose sides grew, ends like one from scratch."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sides import EXACT, nearest, realistic, same, side

from miner.errors import ArtifactError, ResourceError
from miner.index import hdf5
from miner.knn import engines, knn_search
from miner.knn import search_checkpoint as checkpoints
from miner.knn.neighbors import Neighbors
from miner.knn.search_checkpoint import HEADER, Checkpoint, Plan
from miner.knn.vector_set import VectorSet
from miner.text.locks import lock

N, M, D, K, BLOCK = 250, 300, 16, 3, 100
VECTORS = realistic(np.random.default_rng(31), 2 * N, 2 * M, D)
Searched = tuple[Neighbors, Neighbors]


class Searches:
    """Searches with a checkpoint at ``path``, written after every block."""

    def __init__(self, path: Path):
        self.path, self.notes, self.cells = path, [], []  # type: ignore[var-annotated]

    def sides(self, n: int, m: int) -> tuple[VectorSet, VectorSet]:
        """The first rows of two sides."""
        return side(VECTORS[0][:n]), side(VECTORS[1][:m])

    def __call__(
        self, n: int = N, m: int = M, *, kind: str = "int8", k: int = K, kill: int | None = None,
        keep: bool = True, sides: tuple[VectorSet, VectorSet] | None = None, **wishes: Any,
    ) -> Searched:  # fmt: skip
        """Search; ``kill`` interrupts the block after so many. Sets ``cells`` and ``notes``."""
        self.notes, self.cells = [], []
        reports = iter(range(-1, 1 << 20))

        def report(stage: str, done: int, total: int | None) -> None:
            if kill is not None and next(reports) >= kill:
                raise KeyboardInterrupt

        checkpoint = Checkpoint(self.path, keep=keep, note=self.notes.append)
        found = nearest(
            kind, *(sides or self.sides(n, m)), k, report=report, checkpoint=checkpoint, **wishes
        )
        checkpoint.close()
        return found

    def killed(self, n: int = N, m: int = M, *, kill: int, **wishes: Any) -> None:
        with pytest.raises(KeyboardInterrupt):
            self(n, m, kill=kill, **wishes)

    def scratch(self, n: int = N, m: int = M, kind: str = "int8", k: int = K) -> Searched:
        return nearest(kind, *self.sides(n, m), k)


@pytest.fixture
def searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Searches:
    made = Searches(tmp_path / "checkpoint.h5")
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    monkeypatch.setattr(knn_search, "BLOCK", BLOCK)
    for engine in (
        engines.Int8Engine,
        engines.Float32Engine,
        engines.FaissEngine,
        engines.TritonEngine,
    ):

        def merge(
            self: Any, rows: Any, s: int, columns: Any, t: int, lists: Any,
            original: Callable[..., None] = engine.merge,
        ) -> None:  # fmt: skip
            made.cells.append(
                np.prod([getattr(part, "count", None) or len(part) for part in (rows, columns)])
            )
            original(self, rows, s, columns, t, lists)

        monkeypatch.setattr(engine, "merge", merge)
    return made


def alone(path: Path) -> bool:
    """Check that the directory holds nothing beside the checkpoint."""
    return [entry.name for entry in path.parent.iterdir()] == [path.name]


# --- plans --------------------------------------------------------------------------------------

SIZES = st.tuples(st.integers(0, 30), st.integers(0, 30))
SHARE = st.floats(0, 1)


def counted(plan: Plan, sizes: tuple[int, int]) -> np.ndarray:
    """Count how often each cell of the matrix is left to do."""
    matrix = np.zeros(sizes, np.int64)
    for s, s_end, t, t_end in plan.blocks():
        assert 0 < s_end - s <= plan.block and 0 < t_end - t <= plan.block
        matrix[s:s_end, t:t_end] += 1
    return matrix


@settings(max_examples=150, deadline=None)
@given(
    SIZES, SIZES, SIZES, st.integers(1, 12), st.integers(1, 12), st.floats(0, 1), st.floats(0, 1)
)
def test_plans_cover_every_cell_once(
    first: tuple[int, int], more: tuple[int, int], last: tuple[int, int], block: int, other: int,
    share: float, again: float,
) -> None:  # fmt: skip
    """Twice over: begin, grow, cut into blocks of another size."""
    plan, old = Plan((), block).grown((0, 0), first), first
    seen = np.zeros([sum(part) for part in zip(first, more, last, strict=True)], np.int64)
    for step, part, size in ((more, share, other), (last, again, block)):
        left = list(plan.blocks())
        done = int(part * len(left))
        for s, s_end, t, t_end in left[:done]:
            seen[s:s_end, t:t_end] += 1
        plan = Plan(plan.rectangles, plan.block, plan.done + done)
        rest = plan.rest(size)
        np.testing.assert_array_equal(counted(rest, old), counted(plan, old))
        assert rest.cells == plan.cells and rest.done == 0
        assert len(rest.rectangles) <= len(plan.rectangles) + 1
        new = (old[0] + step[0], old[1] + step[1])
        plan, old = rest.grown(old, new), new
    seen += counted(plan, seen.shape)  # type: ignore[arg-type]
    assert (seen == 1).all()


# --- killed -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["int8", *EXACT])
@pytest.mark.parametrize("kill", [1, 4, 8])
def test_a_killed_search_goes_on(searched: Searches, kind: str, kill: int) -> None:
    wanted = searched.scratch(kind=kind)
    searched.killed(kind=kind, kill=kill)
    assert len(searched.cells) == kill + 1 and alone(searched.path)
    first = sum(searched.cells[:kill])
    same(searched(kind=kind), wanted)
    assert sum(searched.cells) == N * M - first and len(searched.cells) == 9 - kill
    assert f"resuming a stopped search at {first / (N * M):.0%}" in searched.notes[0]
    assert len(searched.notes) == 1 and alone(searched.path)


def test_killed_again_and_again(searched: Searches) -> None:
    wanted, blocks = searched.scratch(), 0
    for _ in range(4):
        searched.killed(kill=2)
        blocks += len(searched.cells) - 1
    same(searched(), wanted)
    assert blocks + len(searched.cells) == 9


@pytest.mark.parametrize("block", [32, 60, 150, 1000])
def test_blocks_of_another_size(
    searched: Searches, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search killed for lack of memory is repeated with less."""
    searched.killed(kill=4)
    left = N * M - sum(searched.cells[:4])
    wanted = searched.scratch()
    monkeypatch.setattr(knn_search, "BLOCK", block)
    same(searched(), wanted)
    assert sum(searched.cells) == left
    assert "resuming a stopped search" in searched.notes[0]


def test_keep_decides_whether_the_file_stays(searched: Searches) -> None:
    searched(keep=True)
    assert alone(searched.path)
    found, cells = searched(keep=True), list(searched.cells)
    same(found, searched.scratch())
    assert not cells and "searched before; 0 and 0 are new" in searched.notes[0]
    searched(keep=False)
    assert not list(searched.path.parent.iterdir())
    searched.killed(keep=False, kill=5)
    assert alone(searched.path)
    searched(keep=False)
    assert "resuming a stopped search" in searched.notes[0]
    assert not list(searched.path.parent.iterdir())


def test_a_short_search_writes_no_checkpoint(
    searched: Searches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 30.0)
    monkeypatch.setattr(Checkpoint, "save", lambda *rest: pytest.fail("written"))
    searched(keep=False)


def test_saving_takes_a_bounded_share_of_the_time(
    searched: Searches, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 30.0)
    checkpoint, now = Checkpoint(searched.path, keep=True), 1000.0
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now)
    checkpoint.written = now
    assert not checkpoint.due
    now += 31
    assert checkpoint.due
    checkpoint.took = 4.0
    assert not checkpoint.due
    now += 90
    assert checkpoint.due


# --- grown --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["int8", *EXACT])
@pytest.mark.parametrize("grown", [(0, 0), (90, 0), (0, 70), (90, 70), (1, 1)])
def test_only_new_rows_are_searched(searched: Searches, kind: str, grown: tuple[int, int]) -> None:
    searched(kind=kind)
    n, m = N + grown[0], M + grown[1]
    found, cells = searched(n, m, kind=kind), list(searched.cells)
    same(found, searched.scratch(n, m, kind))
    assert sum(cells) == n * m - N * M
    assert f"{N} x {M} sentences were searched before" in searched.notes[0]


@pytest.mark.parametrize("first", [(0, 0), (0, M), (N, 0), (1, 1), (3, M), (10, 12)])
def test_small_sides_grow_as_well(searched: Searches, first: tuple[int, int]) -> None:
    """Lists are as short as the other side, and grow with it."""
    searched(*first)
    found, cells = searched(N, M), list(searched.cells)
    same(found, searched.scratch())
    assert sum(cells) == N * M - first[0] * first[1]


def test_killed_while_growing(searched: Searches) -> None:
    """Grown, killed, grown again: only the block of the kill is searched twice."""
    searched()
    searched.killed(N + 90, M + 70, kill=3)
    searched.killed(N + 90, M + 70, kill=2)
    searched.killed(N + 150, M + 70, kill=4)
    found, cells = searched(N + 150, M + 200), list(searched.cells)
    same(found, searched.scratch(N + 150, M + 200))
    assert sum(cells) < (N + 150) * (M + 200) - N * M - 7 * 2000
    searched.killed(N + 200, M + 200, kill=0)  # before its first save: the old file stays
    found, cells = searched(N + 200, M + 200), list(searched.cells)
    same(found, searched.scratch(N + 200, M + 200))
    assert sum(cells) == 50 * (M + 200)


def test_killed_and_grown_at_once(searched: Searches) -> None:
    searched.killed(kill=6)
    done = sum(searched.cells[:6])
    found, cells = searched(N + 90, M + 70), list(searched.cells)
    same(found, searched.scratch(N + 90, M + 70))
    assert sum(cells) == (N + 90) * (M + 70) - done
    assert "resuming a stopped search" in searched.notes[0]


# --- another search -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"k": K + 1}, "another k"),
        ({"k": K - 1}, "another k"),
        ({"kind": "float32"}, "engine int8"),
        ({"kind": "faiss"}, "engine int8"),
        ({"n": N - 1}, "another text or model"),
        ({"m": M - 50}, "another text or model"),
        ({"sides": "swapped"}, "another text or model"),
        ({"sides": "changed"}, "another text or model"),
        ({"sides": "other rows"}, "another text or model"),
        ({"sides": "other dimension"}, "another text or model"),
    ],
    ids=str,
)
def test_another_search_starts_over(searched: Searches, change: dict[str, Any], said: str) -> None:
    searched.killed(kill=5)
    source, target = searched.sides(N, M)
    if change.get("sides") == "changed":
        vectors = VECTORS[0][:N].copy()
        vectors[17, 3] = np.nextafter(vectors[17, 3], np.float16(1))
        source = side(vectors)
    elif change.get("sides") == "other rows":
        source = VectorSet(source.vectors, source.rows[np.arange(N) != 200])
    elif change.get("sides") == "other dimension":
        source, target = side(VECTORS[0][:N, :8]), side(VECTORS[1][:M, :8])
    elif change.get("sides") == "swapped":
        source, target = target, source
    if "sides" in change:
        change = {"sides": (source, target)}
    found, cells = searched(**change), sum(searched.cells)
    (note,) = searched.notes
    assert said in note and "starting over" in note and str(searched.path) in note
    (n, m) = (len(part) for part in change.get("sides", searched.sides(
        change.get("n", N), change.get("m", M))))  # fmt: skip
    assert cells == n * m
    expected = change.get("sides", searched.sides(n, m))
    same(found, nearest(change.get("kind", "int8"), *expected, change.get("k", K)))
    # The checkpoint is now of this search.
    searched(**change)
    assert "searched before" in searched.notes[0] and not searched.cells


# --- files --------------------------------------------------------------------------------------


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
