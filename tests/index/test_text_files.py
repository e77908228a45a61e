"""Text files of a run: changes before and during reading are detected."""

import os
from pathlib import Path

import pytest

from miner.errors import CorpusError
from miner.index.text_files import text_files


@pytest.mark.parametrize("reading", [False, True])
@pytest.mark.parametrize("change", ["size", "gone", "time", "same bytes", "none"])
def test_changes_are_found(tmp_path: Path, reading: bool, change: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"abc")
    (made,), old = text_files([path], tmp_path), path.stat()

    def changed() -> None:
        if change == "gone":
            path.unlink()
            return
        if change in ("size", "same bytes"):
            path.write_bytes(b"abcd" if change == "size" else b"abc")
        os.utime(path, ns=(1, 1) if change == "time" else (old.st_atime_ns, old.st_mtime_ns))

    def read() -> None:
        if not reading:
            changed()
        with made.opened() as place:
            assert place == str(path)
            if reading:
                changed()

    if change in ("none", "same bytes"):
        read()
        return
    with pytest.raises(CorpusError, match="a.tsv: (changed while it was|cannot be) read"):
        read()
