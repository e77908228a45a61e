"""The scores of a cleaning on disk: gone on with after a kill, reused with other bounds."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cleaning import given_scores, plan_of
from support.raw_lines import put

from miner.cleaning import clean as cleaning
from miner.cleaning import run_checkpoint, worker
from miner.cleaning.decide import Choice, Cleaned
from miner.cleaning.plan import Plan
from miner.cleaning.run_checkpoint import State
from miner.errors import ArtifactError, ResourceError
from miner.text.bitext_format import BitextFormat
from miner.text.rows import Rows

SIZE = 5


@pytest.fixture(scope="module", autouse=True)
def filters():
    with given_scores():
        yield


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small text has many."""
    monkeypatch.setattr(cleaning, "ROWS", SIZE)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    scores = np.random.default_rng(5).integers(0, 9, (48, 2)) / 8
    lines = [f"s{i % 17}\tt{i % 13}\t{one}\t{two}" for i, (one, two) in enumerate(scores.tolist())]
    return put(tmp_path / "text.tsv", "".join(f"{line}\n" for line in lines).encode())


def plan(low: float = 0.2, high: float = 0.9) -> Plan:
    return plan_of(
        {"name": "cost", "column": 3, "minimum": low},
        {"name": "good", "column": 4, "maximum": high},
        {"name": "duplicates", "of": "either"},
        rank="good",
    )


def run(text: Path, place: Path, plan: Plan, **named: Any) -> Cleaned:
    return cleaning.clean(Rows(text, more=plan.columns), plan, place, **named)


class Looked:
    """How many blocks and rows were looked at in each phase; it may fail at one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.blocks = {True: 0, False: 0}
        self.rows = {True: 0, False: 0}
        self.fail: tuple[bool, int] | None = None
        real = worker.Scoring.__call__

        def look(scorer: worker.Scoring, block):
            first = scorer.job.first
            if self.fail == (first, self.blocks[first]):
                raise KeyboardInterrupt
            self.blocks[first] += 1
            self.rows[first] += len(block)
            return real(scorer, block)

        monkeypatch.setattr(worker.Scoring, "__call__", look)

    def again(self) -> None:
        self.__dict__.update(blocks={True: 0, False: 0}, rows={True: 0, False: 0}, fail=None)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Looked:
    return Looked(monkeypatch)


def same(one: Cleaned, other: Cleaned) -> None:
    np.testing.assert_array_equal(one.removed, other.removed)
    for label in ("cost", "good", "duplicates"):
        np.testing.assert_array_equal(one.scores(label), other.scores(label))


# --- going on -----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("blocks", [0, 1, 4, 9])
def test_a_run_that_was_stopped_goes_on(text, tmp_path, looked, first, blocks) -> None:
    expected = run(text, tmp_path / "whole", plan())
    looked.again()
    looked.fail = first, blocks
    with pytest.raises(KeyboardInterrupt):
        run(text, tmp_path / "state", plan())
    looked.again()
    found = run(text, tmp_path / "state", plan())
    assert looked.blocks == {True: 10 - blocks if first else 0, False: 10 if first else 10 - blocks}
    same(found, expected)
    looked.again()
    same(run(text, tmp_path / "state", plan()), expected)
    assert looked.blocks == {True: 0, False: 0}


@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_a_record_that_is_torn_is_written_again(text, tmp_path, looked, cut) -> None:
    place = tmp_path / "state"
    expected = run(text, place, plan())
    for table in place.glob("*.bin"):
        data = table.read_bytes()
        table.write_bytes(data[:-cut] if cut < len(data) else data[:1])
    looked.again()
    found = run(text, place, plan())
    assert looked.blocks[True] > 0 and looked.blocks[False] > 0
    same(found, expected)


def test_what_is_there_is_not_trusted_without_its_end(text, tmp_path, looked) -> None:
    """Neither a table that is longer than its mark says, nor one without a mark."""
    place = tmp_path / "state"
    expected = run(text, place, plan())
    with open(place / "local.bin", "ab") as file:
        file.write(b"more" * 50)
    (next(place.glob("model*.done"))).unlink()
    looked.again()
    same(run(text, place, plan()), expected)
    # Of the one nothing is what it was; of the other the last block alone is not of full size.
    assert looked.blocks == {True: 10, False: 1}


# --- other bounds, other text -------------------------------------------------------------------


def test_other_bounds_reuse_scores(text, tmp_path, looked) -> None:
    place = tmp_path / "state"
    run(text, place, plan(0.4))
    scored = looked.rows[False]
    assert looked.rows[True] == 48 and 0 < scored < 48
    for low, high in ((0.4, 0.5), (0.7, 0.9), (0.1, 0.9), (0.0, 1.0), (0.4, 0.9)):
        looked.again()
        expected = run(text, tmp_path / f"new{low}{high}", plan(low, high))
        more = looked.rows[False] - scored
        looked.again()
        same(run(text, place, plan(low, high)), expected)
        # Only rows that no choice of bounds has left until now.
        assert looked.rows == {True: 0, False: max(more, 0)}
        scored += max(more, 0)
    looked.again()
    everything = run(text, place, plan(0.7), all_scores=True)
    assert looked.rows == {True: 0, False: 0} and not np.isnan(everything.scores("good")).any()
    chosen = run(text, place, plan(0.4), choice=Choice(top=3))
    assert looked.rows == {True: 0, False: 0} and chosen.kept.sum() == 3


@pytest.mark.parametrize(
    "change", ["text", "time", "settings", "order", "label", "columns", "on_error", "bounds"]
)
def test_another_text_or_plan_starts_anew(text, tmp_path, looked, change) -> None:
    place, notes = tmp_path / "state", []
    run(text, place, plan())
    looked.again()
    changed, named = plan(), {}
    if change == "text":
        text.write_bytes(text.read_bytes() + b"s\tt\t1\t1\n")
    elif change == "time":
        os.utime(text, (1, 1))
    elif change == "columns":
        named = {"source_column": 2, "target_column": 1}
    elif change == "on_error":
        named = {"on_error": "skip"}
    elif change == "bounds":
        changed = plan(0.5)
    else:
        cost = {"name": "cost", "column": 3, "minimum": 0.2}
        good = {"name": "good", "column": 4, "maximum": 0.9}
        good |= {"settings": {"column": 3}, "order": {}, "label": {"label": "x"}}[change]
        other = [{"name": "length"}] * (change == "order")
        changed = plan_of(*other, cost, good, {"name": "duplicates", "of": "either"})
    rows = Rows(text, bitext_format=BitextFormat(**named), more=changed.columns)
    cleaning.clean(rows, changed, place, note=notes.append)
    if change == "bounds":
        assert notes == [] and looked.rows == {True: 0, False: 0}
    else:
        what = {"text", "time", "columns", "on_error"}
        of = "another text" if change in what else "other filters or settings"
        assert len(notes) == 1 and notes[0].startswith(f"{place} is of")
        assert notes[0].endswith("starting anew") and (of in notes[0] or "version" in notes[0])
        if change not in ("text", "time"):  # of which the file is as it was left
            with pytest.raises(ArtifactError, match="name another place"):
                run(text, place, plan(), keep=True)
        assert looked.rows[True] == rows.count


def test_a_foreign_directory_is_refused(text, tmp_path) -> None:
    for name, content in (
        ("notes.txt", "mine"),
        ("state.json", "{"),
        ("state.json", "[]"),
        ("state.json", '{"format": "other"}'),
    ):
        place = tmp_path / "foreign"
        place.mkdir(exist_ok=True)
        (place / name).write_text(content, encoding="utf-8")
        with pytest.raises(ArtifactError, match=r"foreign: exists and is not the state .*--state"):
            run(text, place, plan())
        assert (place / name).read_text(encoding="utf-8") == content
        (place / name).unlink()
    # An empty one is as good as none, also one of a run that was killed as it began.
    (place / ".state.json.partial").write_text("{", encoding="utf-8")
    run(text, place, plan())
    with pytest.raises(ArtifactError, match="not the state"):
        run(text, text, plan())
    with pytest.raises(ResourceError, match="a part of the path is a file|Not a directory"):
        run(text, text / "below", plan())


def test_two_runs_at_once_are_told_apart(tmp_path) -> None:
    pytest.importorskip("fcntl")
    with State(tmp_path / "state", {"a": 1}):
        for key in ({"a": 1}, {"a": 2}):
            with pytest.raises(ArtifactError, match="another run is at work on it"):
                State(tmp_path / "state", key)
        assert (tmp_path / "state" / "state.json").exists()
    notes: list[str] = []
    with State(tmp_path / "state", {"a": 2}, notes.append):
        assert len(notes) == 1
        with pytest.raises(ArtifactError, match="another run"):
            State(tmp_path / "state", {"a": 2})


# --- a disk that is full ------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["local", "model"])
def test_a_full_disk(text, tmp_path, monkeypatch, looked, stage) -> None:
    expected = run(text, tmp_path / "whole", plan())
    place, left = tmp_path / "state", 3
    real = run_checkpoint.Table._append

    def append(table: run_checkpoint.Table, file: Any, rows: np.ndarray) -> None:
        nonlocal left
        left -= table.path.name.startswith(stage)
        if left < 0:
            file.write(rows.tobytes()[:5])  # as much as there is room for
            raise OSError(errno.ENOSPC, "No space left on device")
        real(table, file, rows)

    monkeypatch.setattr(run_checkpoint.Table, "_append", append)
    with pytest.raises(ResourceError, match=rf"state/{stage}.*no space left; free some"):
        run(text, place, plan())
    monkeypatch.setattr(run_checkpoint.Table, "_append", real)
    looked.again()
    same(run(text, place, plan()), expected)
    assert looked.blocks == {True: 7 if stage == "local" else 0, False: 10 - 3 * (stage != "local")}


def test_a_place_that_cannot_be_written_to(text, monkeypatch, tmp_path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ResourceError, match="state: cannot be written: permission denied"):
        run(text, tmp_path / "state", plan())
