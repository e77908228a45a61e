"""Tests of miner.text.input_files: changes that are found, and ones that do not matter."""

import os
import threading
from pathlib import Path

import pytest

from miner.errors import CorpusError
from miner.text.input_files import InputFiles


def files(path: Path) -> InputFiles:
    return InputFiles([str(path)], ["a.tsv"])


@pytest.mark.parametrize("change", ["size", "inode", "gone", "same bytes", "none"])
def test_changes_are_found(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    made, old = files(path), path.stat()
    if change == "size":
        path.write_bytes(b"abcd")
    elif change == "inode":
        (tmp_path / "b").write_bytes(b"abc")
        os.replace(tmp_path / "b", path)
    elif change == "gone":
        path.unlink()
    elif change == "same bytes":
        path.write_bytes(b"abc")
    if path.exists():
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    if change in ("none", "same bytes"):
        made.check()
        return
    with pytest.raises(CorpusError, match="^a.tsv changed while it was read"):
        made.check()


def test_a_new_time_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    made = files(path)
    os.utime(path, (1, 1))
    with pytest.raises(CorpusError, match="changed"):
        made.check()


def test_a_pipe_has_no_identity(tmp_path: Path) -> None:
    """The times of a pipe change as it is read."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    made = files(path)
    writer = threading.Thread(target=path.write_bytes, args=[b"abc"], daemon=True)
    writer.start()
    assert path.read_bytes() == b"abc"
    made.check()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    made = files(tmp_path / "none")
    made.check()
