"""The checkpoint of a filter run: continued after a kill, reused with other bounds, verified.

The tests share a text, a plan and a counter of scored rows, so that nearly 400 lines stay together.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miner.cleaning.run_checkpoint import Checkpoint
from support.cleaning import given_scores, plan_of
from support.raw_lines import put

from miner.cleaning import clean as cleaning
from miner.cleaning import run_checkpoint, worker
from miner.cleaning.choice import Choice
from miner.cleaning.decide import Cleaned
from miner.cleaning.plan import Plan
from miner.cleaning.write import write
from miner.errors import ArtifactError, CorpusError, ResourceError
from miner.text.bitext_format import BitextFormat
from miner.text.rows import Rows

SIZE = 5


@pytest.fixture(scope="module", autouse=True)
def filters():
    with given_scores():
        yield


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks so small that a short text has many."""
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
    with Checkpoint(place) as files:
        return cleaning.clean(Rows(text, more=plan.columns), plan, files, **named)


class Counter:
    """Counter of the blocks and rows scored in each phase; it can fail at one of them."""

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
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    return Counter(monkeypatch)


def same(one: Cleaned, other: Cleaned) -> None:
    np.testing.assert_array_equal(one.removed, other.removed)
    for label in ("cost", "good", "duplicates"):
        np.testing.assert_array_equal(one.scores(label), other.scores(label))


# --- going on -----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("blocks", [0, 1, 4, 9])
def test_a_run_that_was_stopped_goes_on(text, tmp_path, counter, first, blocks) -> None:
    expected = run(text, tmp_path / "whole", plan())
    counter.again()
    counter.fail = first, blocks
    with pytest.raises(KeyboardInterrupt):
        run(text, tmp_path / "checkpoint", plan())
    counter.again()
    found = run(text, tmp_path / "checkpoint", plan())
    assert counter.blocks == {
        True: 10 - blocks if first else 0,
        False: 10 if first else 10 - blocks,
    }
    same(found, expected)
    counter.again()
    same(run(text, tmp_path / "checkpoint", plan()), expected)
    assert counter.blocks == {True: 0, False: 0}


def damage(data: bytes, kind: str, place: float) -> bytes:
    """Cut, flip, zero or swap bytes at a share of the length."""
    at = min(int(len(data) * place), len(data) - 1)
    if kind == "cut":
        return data[:at]
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]
    if kind == "zero":
        return data[:at] + bytes(len(data) - at)
    return data[at:] + data[:at]


@pytest.mark.parametrize("suffix", ["bin", "sums"])
@pytest.mark.parametrize("kind", ["cut", "flip", "zero", "swap"])
@pytest.mark.parametrize("share", [0, 0.3, 0.97, 1])
def test_damaged_scores_are_never_trusted(text, tmp_path, counter, suffix, kind, share) -> None:
    """Blocks that are not as they were written are scored again; the others are reused."""
    place = tmp_path / "checkpoint"
    expected = run(text, place, plan())
    for file in place.glob(f"*.{suffix}"):
        data = file.read_bytes()
        changed = damage(data, kind, share)
        file.write_bytes(changed)
        assert changed != data or (kind == "swap" and share == 0)
    counter.again()
    notes: list[str] = []
    same(run(text, place, plan(), note=notes.append), expected)
    if share >= 0.97 and kind != "swap":
        assert counter.blocks[True] < 3, "blocks before the damage are reused"
    # The checkpoint is repaired.
    counter.again()
    same(run(text, place, plan()), expected)
    assert counter.blocks == {True: 0, False: 0}


def test_damage_is_told(text, tmp_path) -> None:
    place, notes = tmp_path / "checkpoint", []
    run(text, place, plan())
    scores = place / "local.bin"
    scores.write_bytes(damage(scores.read_bytes(), "zero", 0.5))
    run(text, place, plan(), note=notes.append)
    assert any("local.bin: damaged after row 20; scoring the rest again" in one for one in notes)


def test_a_longer_file_is_as_good(text, tmp_path, counter) -> None:
    """Bytes beyond the last digest, as a killed run leaves them, are passed over."""
    place = tmp_path / "checkpoint"
    expected = run(text, place, plan())
    for file in place.glob("*.*"):
        if file.suffix != ".json":
            file.write_bytes(file.read_bytes() + b"more")
    counter.again()
    same(run(text, place, plan()), expected)
    assert counter.blocks == {True: 0, False: 0}


# --- other bounds, other text -------------------------------------------------------------------


def test_other_bounds_reuse_scores(text, tmp_path, counter) -> None:
    place = tmp_path / "checkpoint"
    run(text, place, plan(0.4))
    scored = counter.rows[False]
    assert counter.rows[True] == 48 and 0 < scored < 48
    for low, high in ((0.4, 0.5), (0.7, 0.9), (0.1, 0.9), (0.0, 1.0), (0.4, 0.9)):
        counter.again()
        expected = run(text, tmp_path / f"new{low}{high}", plan(low, high))
        more = counter.rows[False] - scored
        counter.again()
        same(run(text, place, plan(low, high)), expected)
        # Only rows that all bounds until now had removed.
        assert counter.rows == {True: 0, False: max(more, 0)}
        scored += max(more, 0)
    counter.again()
    everything = run(text, place, plan(0.7), all_scores=True)
    assert counter.rows == {True: 0, False: 0} and not np.isnan(everything.scores("good")).any()
    chosen = run(text, place, plan(0.4), choice=Choice(top=3))
    assert counter.rows == {True: 0, False: 0} and chosen.kept.sum() == 3


@pytest.mark.parametrize(
    "change", ["text", "settings", "order", "label", "columns", "on_error", "library", "bounds"]
)
def test_another_text_or_plan_starts_anew(text, tmp_path, counter, monkeypatch, change) -> None:
    place, notes = tmp_path / "checkpoint", []
    run(text, place, plan())
    counter.again()
    changed, named = plan(), {}
    if change == "text":
        text.write_bytes(text.read_bytes() + b"s\tt\t1\t1\n")
    elif change == "library":
        monkeypatch.setattr(Plan, "libraries", lambda plan: {"ftfy": "9.9", "unicode": "99"})
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
    with Checkpoint(place) as files:
        cleaning.clean(rows, changed, files, note=notes.append)
    if change == "bounds":
        assert notes == [] and counter.rows == {True: 0, False: 0}
    else:
        words = {"text": "another text", "library": "ftfy None (now 9.9)"}
        words |= dict.fromkeys(("columns", "on_error"), "other columns or settings of reading")
        of = words.get(change, "other filters or settings")
        assert len(notes) == 1 and notes[0].startswith(f"{place} holds the scores of ")
        assert of in notes[0]
        assert notes[0].endswith("starting anew")
        if change == "library":  # scored again even in a directory that the user named
            counter.again()
            monkeypatch.undo()
            monkeypatch.setattr(cleaning, "ROWS", SIZE)
            run(text, place, plan(), keep=True, note=notes.append)
            assert len(notes) == 2
            return
        if change != "text":  # the file is as it was
            with pytest.raises(ArtifactError, match="name another place"):
                run(text, place, plan(), keep=True)
        assert counter.rows[True] == rows.count


def test_the_same_text_elsewhere_is_the_same(text, tmp_path, counter) -> None:
    """A checkpoint goes by content: neither place nor time of the file counts."""
    place = tmp_path / "checkpoint"
    expected = run(text, place, plan())
    (tmp_path / "other").mkdir()
    other = put(tmp_path / "other" / "copy.tsv", text.read_bytes())
    os.utime(other, (1, 1))
    counter.again()
    same(run(other, place, plan(), keep=True), expected)
    assert counter.rows == {True: 0, False: 0}


@pytest.mark.parametrize("phase", [True, False])
@pytest.mark.parametrize("how", ["replaced", "rewritten", "gone"])
def test_a_text_that_changes_is_refused(text, tmp_path, monkeypatch, counter, phase, how) -> None:
    """The file gets another text of as many rows while the run reads: no output appears."""
    lines = text.read_bytes().splitlines(keepends=True)
    other = b"".join(reversed(lines))
    real, done = worker.Scoring.__call__, 0

    def change(scorer: worker.Scoring, block):
        nonlocal done
        if scorer.job.first == phase:
            done += 1
            if done == 3 and how == "replaced":  # size and time are those of the first
                old = text.stat()
                put(tmp_path / "other.tsv", other)
                os.utime(tmp_path / "other.tsv", ns=(old.st_atime_ns, old.st_mtime_ns))
                os.replace(tmp_path / "other.tsv", text)
            elif done == 3 and how == "rewritten":
                old = text.stat()
                text.write_bytes(other)
                os.utime(text, ns=(old.st_atime_ns, old.st_mtime_ns))
            elif done == 3:
                text.rename(tmp_path / "elsewhere.tsv")
        return real(scorer, block)

    monkeypatch.setattr(worker.Scoring, "__call__", change)
    out = tmp_path / "out.tsv"
    with pytest.raises(
        CorpusError, match=r"text\.tsv(: cannot be read| changed while it was read)"
    ):
        write(run(text, tmp_path / "checkpoint", plan()), [out], tmp_path / "bad.tsv")
    assert not out.exists() and not (tmp_path / "bad.tsv").exists()


def test_a_foreign_directory_is_refused(text, tmp_path) -> None:
    for name, content in (
        ("notes.txt", "mine"),
        ("checkpoint.json", "{"),
        ("checkpoint.json", "[]"),
        ("checkpoint.json", '{"format": "other"}'),
    ):
        place = tmp_path / "foreign"
        place.mkdir(exist_ok=True)
        (place / name).write_text(content, encoding="utf-8")
        with pytest.raises(
            ArtifactError, match=r"foreign: exists and is not the checkpoint .*--checkpoint"
        ):
            run(text, place, plan())
        assert (place / name).read_text(encoding="utf-8") == content
        (place / name).unlink()
    # An empty directory is as good as none, and so is that of a run killed at its beginning.
    (place / ".checkpoint.json.partial").write_text("{", encoding="utf-8")
    run(text, place, plan())
    with pytest.raises(ArtifactError, match="not the checkpoint"):
        run(text, text, plan())
    with pytest.raises(ResourceError, match="a part of the path is a file|Not a directory"):
        run(text, text / "below", plan())


@pytest.mark.parametrize("removed", [1, 2, 3, 4])
def test_a_run_killed_while_it_starts_anew(text, tmp_path, monkeypatch, removed) -> None:
    """The directory stays a checkpoint until all scores of the other plan are removed."""
    place, left, real = tmp_path / "checkpoint", removed, Path.unlink
    run(text, place, plan())

    def unlink(path: Path, **named: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        real(path, **named)

    other = plan_of({"name": "length"})
    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(KeyboardInterrupt):
        run(text, place, other)
    monkeypatch.setattr(Path, "unlink", real)
    assert run(text, place, other).count == 48


def test_starting_anew_removes_only_its_own_files(text, tmp_path) -> None:
    """Scores of another plan go; a result beside them stays, and so does the directory."""
    place, notes = tmp_path / "checkpoint", []
    run(text, place, plan())
    mine = [place / name for name in ("clean.tsv", "mine.bin", "model.bin")]
    for file in mine:
        file.write_text("mine", encoding="utf-8")
    tables = set(place.glob("model.*.bin")) - set(mine)
    run(text, place, plan_of({"name": "length"}), note=notes.append)
    assert len(notes) == 1 and tables and not any(table.exists() for table in tables)
    with Checkpoint(place) as files:
        files.remove()
    assert sorted(place.iterdir()) == mine


def test_two_runs_at_once_are_told_apart(tmp_path) -> None:
    pytest.importorskip("fcntl")
    place = tmp_path / "checkpoint"
    held = rf"checkpoint: held by process {os.getpid()} on .* since 2.*; wait for it, or"
    with Checkpoint(place) as files:
        assert not place.exists()
        for _ in range(2):
            with pytest.raises(ResourceError, match=held):
                Checkpoint(place)
            files.begin({"a": 1})
        assert (place / "checkpoint.json").exists()
    notes: list[str] = []
    with Checkpoint(place) as files:
        files.begin({"a": 2}, notes.append)
        assert len(notes) == 1
        files.remove()
        assert not place.exists()


# --- a disk that is full ------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["local", "model"])
def test_a_full_disk(text, tmp_path, monkeypatch, counter, stage) -> None:
    expected = run(text, tmp_path / "whole", plan())
    place, left = tmp_path / "checkpoint", 3
    real = run_checkpoint.Table._append

    def append(table: run_checkpoint.Table, file: Any, sums: Any, rows: np.ndarray) -> None:
        nonlocal left
        left -= table.path.name.startswith(stage)
        if left < 0:
            file.write(rows.tobytes()[:5])  # as much as fits
            raise OSError(errno.ENOSPC, "No space left on device")
        real(table, file, sums, rows)

    monkeypatch.setattr(run_checkpoint.Table, "_append", append)
    with pytest.raises(ResourceError, match=rf"checkpoint/{stage}.*no space left; free some"):
        run(text, place, plan())
    monkeypatch.setattr(run_checkpoint.Table, "_append", real)
    counter.again()
    same(run(text, place, plan()), expected)
    assert counter.blocks == {
        True: 7 if stage == "local" else 0,
        False: 10 - 3 * (stage != "local"),
    }


def test_a_place_that_cannot_be_written_to(text, monkeypatch, tmp_path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ResourceError, match="checkpoint: cannot be written: permission denied"):
        run(text, tmp_path / "checkpoint", plan())
