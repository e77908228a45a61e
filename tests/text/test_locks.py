"""miner.text.locks: one living holder at a time."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from miner.errors import ResourceError
from miner.text import locks
from miner.text.locks import lock


def test_a_second_holder_is_told_of_the_first(tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    with lock(place):
        assert os.listdir(tmp_path) == [".checkpoint.lock"]
        with pytest.raises(ResourceError) as caught, lock(place):
            raise AssertionError("the body must not run")
        with lock(tmp_path / "another"):
            pass
    said = str(caught.value)
    assert said.startswith(
        f"{place}: held by process {os.getpid()} on {socket.gethostname()} since"
    )
    assert os.listdir(tmp_path) == []
    with lock(place):
        pass


def test_a_lock_of_a_link_is_that_of_its_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with lock(tmp_path / "real"), pytest.raises(ResourceError), lock(tmp_path / "link"):
        raise AssertionError("the body must not run")


def test_a_dead_holder_holds_nothing(tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    script = (
        "import sys, time\nfrom miner.text.locks import lock\n"
        "with lock(sys.argv[1]):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(place)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(ResourceError, match=f"held by process {holder.pid} "), lock(place):
            raise AssertionError("the body must not run")
        locks.remove_abandoned(place)
        assert os.listdir(tmp_path) == [".checkpoint.lock"]  # its holder lives
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    (tmp_path / ".another.lock").write_bytes((tmp_path / ".checkpoint.lock").read_bytes())
    with lock(place):
        pass
    assert os.listdir(tmp_path) == [".another.lock"]
    locks.remove_abandoned(tmp_path / "another")
    locks.remove_abandoned(tmp_path / "another")
    assert os.listdir(tmp_path) == []


def test_a_file_that_its_holder_removes_meanwhile(tmp_path, monkeypatch):
    """A lock on a removed file would exclude nobody."""
    place = tmp_path / "checkpoint"
    real, asked = fcntl.flock, []

    def flock(descriptor: int, how: int) -> Any:
        asked.append(descriptor)
        if len(asked) == 1:
            os.unlink(tmp_path / ".checkpoint.lock")
        return real(descriptor, how)

    monkeypatch.setattr(locks.fcntl, "flock", flock)
    with lock(place):
        assert len(asked) == 2 and os.listdir(tmp_path) == [".checkpoint.lock"]
        with pytest.raises(ResourceError), lock(place):
            raise AssertionError("the body must not run")


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    """A lock empties its file, which another user's link must not redirect."""
    victim = tmp_path / "victim"
    victim.write_text("years of work")
    (tmp_path / ".work.lock").symlink_to(victim)
    with pytest.raises(ResourceError, match="work"), lock(tmp_path / "work"):
        pass
    assert victim.read_text() == "years of work"


def test_where_no_file_can_be_made(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="no such directory"), lock(tmp_path / "no" / "one"):
        raise AssertionError("the body must not run")
