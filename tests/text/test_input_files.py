"""Tests of miner.text.input_files: changes that are found, and ones that do not matter."""

import os
import threading
from pathlib import Path

import pytest

from miner.errors import CorpusError
from miner.text.input_files import InputFiles


@pytest.mark.parametrize("change", ["size", "inode", "gone", "time", "same bytes", "none"])
def test_changes_are_found(tmp_path: Path, change: str) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"abc")
    other.write_bytes(b"abc")
    made, old = InputFiles([str(path), str(tmp_path / "none")], ["a.tsv", "none"]), path.stat()
    if change == "inode":
        os.replace(other, path)
    elif change == "gone":
        path.unlink()
    elif change in ("size", "same bytes"):
        path.write_bytes(b"abcd" if change == "size" else b"abc")
    if path.exists():
        os.utime(path, ns=(1, 1) if change == "time" else (old.st_atime_ns, old.st_mtime_ns))
    if change in ("none", "same bytes"):
        made.check()
        return
    with pytest.raises(CorpusError, match="^a.tsv changed while it was read"):
        made.check()


def test_a_pipe_has_no_identity(tmp_path: Path) -> None:
    """The times of a pipe change as it is read."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    made = InputFiles([str(path)], ["a.tsv"])
    writer = threading.Thread(target=path.write_bytes, args=[b"abc"], daemon=True)
    writer.start()
    assert path.read_bytes() == b"abc"
    made.check()
