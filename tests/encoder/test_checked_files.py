"""miner.encoder.checked_files: a digest is remembered, and computed again for any change."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from miner.encoder import checked_files
from miner.encoder.checked_files import LEAST, checked_sha256
from miner.text.file_digests import file_sha256


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the files that were read, with a cache of the test's own."""
    found: list[Path] = []

    def counted(path: Path) -> str:
        found.append(path)
        return file_sha256(path)

    monkeypatch.setattr(checked_files, "file_sha256", counted)
    monkeypatch.setattr(checked_files, "folder", lambda: tmp_path / "cache" / "arrays")
    monkeypatch.setattr(checked_files, "SETTLED", -1)
    return found


def test_an_unchanged_file_is_read_once(read: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(LEAST))
    expected = sha256(bytes(LEAST)).hexdigest()
    assert [checked_sha256(path), checked_sha256(path)] == [expected] * 2 and read == [path]


def test_a_changed_file_is_read_again(read: list[Path], tmp_path: Path) -> None:
    """Also if its size and the time of its last write are the old ones."""
    path = tmp_path / "weights"
    path.write_bytes(bytes(LEAST))
    before = path.stat()
    checked_sha256(path)
    path.write_bytes(b"1" * LEAST)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert checked_sha256(path) == sha256(b"1" * LEAST).hexdigest() and len(read) == 2


def test_a_file_that_changed_just_now_is_not_remembered(
    read: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_files, "SETTLED", 3600 * 10**9)
    path = tmp_path / "weights"
    path.write_bytes(bytes(LEAST))
    assert checked_sha256(path) == checked_sha256(path) and len(read) == 2


def test_small_files_are_always_read(read: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes(b"{}")
    assert checked_sha256(path) == checked_sha256(path) and len(read) == 2
    with pytest.raises(OSError):
        checked_sha256(tmp_path / "none")


@pytest.mark.parametrize("damage", ["", "[]", "{}", "{", '{"sha256": 3}'])
def test_a_damaged_entry_is_ignored(read: list[Path], tmp_path: Path, damage: str) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(LEAST))
    first = checked_sha256(path)
    (entry,) = (tmp_path / "cache" / "arrays").iterdir()
    entry.write_text(damage)
    assert checked_sha256(path) == first and len(read) == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_an_entry_that_others_may_write_is_ignored(read: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(LEAST))
    checked_sha256(path)
    (tmp_path / "cache" / "arrays").chmod(0o777)
    assert checked_sha256(path) and len(read) == 2
