"""miner.text.durable: order of syncs and renames, swaps, leftovers."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.texts import put

from miner.text import durable
from miner.text.artifacts import atomic_directory
from miner.text.output import all_or_none, atomic_file, open_output


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record syncs and renames in order."""
    seen: list[str] = []
    sync, exchange = os.fsync, durable._exchange

    def fsync(descriptor: int) -> None:
        directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        seen.append("sync directory" if directory else "sync file")
        sync(descriptor)

    def swap(left: Path, right: Path) -> bool:
        done = exchange(left, right)
        seen.extend(["swap"] * done)
        return done

    def recorded(name: str) -> Any:
        real = getattr(os, name)

        def rename(old: Any, new: Any) -> None:
            seen.append("rename")
            real(old, new)

        return rename

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(durable, "_exchange", swap)
    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, recorded(name))
    return seen


FILE = ["sync file", "sync directory", "rename", "sync directory"]


def test_files_are_synced_around_the_rename(tmp_path: Path, calls: list[str]) -> None:
    with open_output(tmp_path / "a.gz") as out:
        out.write("text\n")
    assert calls == FILE
    calls.clear()
    with atomic_file(tmp_path / "b") as name:
        name.write_bytes(b"text")
    assert calls == FILE
    calls.clear()
    with all_or_none() as together:
        for path in (tmp_path / "c", tmp_path / "d"):
            with open_output(path, together=together) as out:
                out.write("text\n")
        assert calls == ["sync file"] * 2
    assert calls == ["sync file"] * 2 + FILE[1:] * 2


def fill(directory: Path, text: str) -> None:
    put(directory / "marker", text)
    (directory / "inner").mkdir()
    put(directory / "inner" / "file", text)


def test_directories_are_synced_and_swapped(tmp_path: Path, calls: list[str]) -> None:
    syncs = ["sync file", "sync directory"] * 2 + ["sync directory"]
    for number, step in enumerate(("rename", "swap")):
        calls.clear()
        with atomic_directory(tmp_path / "model", "marker") as directory:
            fill(directory, str(number))
        if step not in calls:
            pytest.skip("this file system cannot swap two names")
        assert calls == [*syncs, step, "sync directory"]
        assert (tmp_path / "model" / "inner" / "file").read_text() == str(number)
        assert os.listdir(tmp_path) == ["model"]


@pytest.fixture
def no_swap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "_exchange", lambda left, right: False)


def test_directories_without_a_swap(tmp_path: Path, no_swap: None) -> None:
    for text in ("old", "new"):
        with atomic_directory(tmp_path / "model", "marker") as directory:
            fill(directory, text)
        assert (tmp_path / "model" / "marker").read_text() == text
        assert os.listdir(tmp_path) == ["model"]


def test_an_interrupt_between_two_renames(tmp_path, no_swap, monkeypatch):
    with atomic_directory(tmp_path / "model", "marker") as directory:
        fill(directory, "old")
    rename, done = os.rename, []

    def interrupted(old: Any, new: Any) -> None:
        done.append(old)
        if len(done) == 2:
            raise KeyboardInterrupt
        rename(old, new)

    monkeypatch.setattr(os, "rename", interrupted)
    with (
        pytest.raises(KeyboardInterrupt),
        atomic_directory(tmp_path / "model", "marker") as directory,
    ):
        fill(directory, "new")
    assert (tmp_path / "model" / "marker").read_text() == "old"
    assert os.listdir(tmp_path) == ["model"]


@pytest.fixture(scope="module")
def dead() -> int:
    """Return the id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_leftovers_of_dead_processes_are_removed(tmp_path: Path, dead: int) -> None:
    assert not durable.is_alive(dead)
    alive = tmp_path / f".out.{os.getppid()}.partial"
    other = tmp_path / f".other.{dead}.partial"
    for path in (alive, other, tmp_path / f".out.{dead}.partial"):
        put(path, "half")
    with open_output(tmp_path / "out") as out:
        out.write("whole")
    assert sorted(tmp_path.iterdir()) == sorted([alive, other, tmp_path / "out"])
    (tmp_path / f".model.{dead}.partial" / "inner").mkdir(parents=True)
    with atomic_directory(tmp_path / "model", "marker"):
        pass
    assert sorted(tmp_path.iterdir()) == sorted(
        [alive, other, tmp_path / "model", tmp_path / "out"]
    )


def test_a_directory_that_had_stepped_aside_comes_back(tmp_path: Path, dead: int) -> None:
    aside = tmp_path / f".model.{dead}.old"
    aside.mkdir()
    put(aside / "marker", "old")
    durable.remove_leftovers(tmp_path / "model")
    assert (tmp_path / "model" / "marker").read_text() == "old"
    aside.mkdir()
    durable.remove_leftovers(tmp_path / "model")
    assert os.listdir(tmp_path) == ["model"]


def test_a_file_that_ends_in_old_is_the_users(tmp_path: Path, dead: int) -> None:
    note = put(tmp_path / f".out.{dead}.old", "mine")
    durable.remove_leftovers(tmp_path / "out")
    put(tmp_path / "out", "output")
    durable.remove_leftovers(tmp_path / "out")
    assert note.read_text() == "mine" and (tmp_path / "out").read_text() == "output"


def test_a_directory_that_cannot_be_listed_is_not_synced(tmp_path, monkeypatch):
    real = os.open

    def refuse(path: Any, flags: int, *more: Any, **others: Any) -> int:
        if os.path.isdir(path):  # as by mode -wx, which does not stop root, who may run the tests
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, flags, *more, **others)

    temporary = put(tmp_path / "temporary", "whole")
    monkeypatch.setattr(os, "open", refuse)
    durable.replace(temporary, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "whole"


def test_directories_of_the_user_are_no_scratch(tmp_path, dead, monkeypatch):
    """Directories with similar names, or without the marker, are kept."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {f"miner-{dead}-news", f"bitext-miner-scratch-{dead}-news2024"}
    for name in names:
        (tmp_path / name).mkdir()
    with durable.scratch_directory():
        pass
    assert set(os.listdir(tmp_path)) == names


SCRATCH = """
import time
from miner.text.durable import scratch_directory
with scratch_directory() as place:
    (place / "index").mkdir()
    print(place, flush=True)
    time.sleep(60)
"""


def test_scratch_directories_of_killed_processes_are_removed(tmp_path, dead, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with subprocess.Popen(
        [sys.executable, "-c", SCRATCH], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        place = Path(process.stdout.readline().strip())
        assert place.parent == tmp_path
        with durable.scratch_directory() as own:
            assert sorted(tmp_path.iterdir()) == sorted([place, own])
        # A process of another container looks dead, but holds its directory.
        monkeypatch.setattr(durable, "is_alive", lambda pid: False)
        with durable.scratch_directory():
            assert place.exists()
        process.send_signal(signal.SIGKILL)
        process.wait()
    with durable.scratch_directory() as own:
        assert list(tmp_path.iterdir()) == [own]
    assert os.listdir(tmp_path) == []


WRITER = """
import sys, time
from pathlib import Path
from miner.text.artifacts import atomic_directory
for number in range(10**6):
    with atomic_directory(sys.argv[1], "marker") as directory:
        (directory / "marker").write_text(str(number))
        (directory / "other").write_text("x" * 10000)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux swaps names at once")
def test_a_killed_writer_leaves_a_whole_directory(tmp_path: Path) -> None:
    """At every moment the name has a directory, and the next run removes leftovers."""
    place = tmp_path / "model"
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(place)])
        while not place.exists():
            assert writer.poll() is None
            time.sleep(0.01)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            os.stat(place)  # raises if the directory is missing
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert len((place / "other").read_text()) == 10000
    with atomic_directory(place, "marker") as directory:
        put(directory / "marker", "last")
    assert os.listdir(tmp_path) == ["model"]
