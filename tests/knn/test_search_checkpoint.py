"""Checkpoints: a search that was killed, or whose sides grew, ends like one from scratch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from miner.knn.search_checkpoint import Checkpoint, Plan
from support.searched import BLOCK, VECTORS, D, K, M, N, Searches, alone, searched  # noqa: F401 (fixture)
from support.sides import EXACT, nearest, same, side

from miner.knn import knn_search
from miner.knn import search_checkpoint as checkpoints
from miner.knn.vector_set import VectorSet

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
