"""miner.text.output: output is complete or absent."""

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import COMPRESS, QUICK, drain, put, zstd

from miner.errors import ResourceError
from miner.text.corpus import CorpusReader
from miner.text.output import atomic_file, one_line, open_output


@pytest.mark.parametrize("suffix", COMPRESS)
def test_output_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    path = tmp_path / f"out.tsv{suffix}"
    text = "ä\u2028\x85b\r\nc\n" * 1000
    with open_output(path) as out:
        out.write(text)
        assert os.listdir(tmp_path) == [f".out.tsv{suffix}.{os.getpid()}.partial"]
    assert os.listdir(tmp_path) == [path.name]
    first = path.read_bytes()
    if suffix:
        assert first[:2] == COMPRESS[suffix](b"")[:2] and b"partial" not in first
    assert suffix != ".zst" or first[4] & 4, "the frame has a checksum, so that damage shows"
    decoded = {
        "": bytes,
        ".gz": gzip.decompress,
        ".bz2": bz2.decompress,
        ".xz": lzma.decompress,
        ".zst": zstd.decompress,
    }[suffix](first)
    assert decoded == text.encode()
    assert drain(CorpusReader(path, format="plain"))[:2] == ["ä\u2028\x85b", "c"]
    monkeypatch.setattr("time.time", lambda: 1e9)
    again = tmp_path / f"again.tsv{suffix}"
    with open_output(again) as out:
        out.write(text)
    assert again.read_bytes() == first, "the same text is the same file"
    with open_output(path, binary=True) as out:
        out.write(b"a\xff\r\nb")
    assert drain(CorpusReader(path, format="plain", on_error="replace")) == ["a\ufffd", "b"]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("old", [None, b"old content"])
def test_a_failure_changes_no_file(tmp_path, suffix, failure, old):
    path = tmp_path / f"out{suffix}"
    if old is not None:
        put(path, old)
    with pytest.raises(failure), open_output(path) as out:
        out.write("half of it\n" * 10_000)
        raise failure
    assert os.listdir(tmp_path) == ([] if old is None else [path.name])
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_disk_full_while_writing(tmp_path, monkeypatch, suffix):
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = open

    def opener(path: Any, *arguments: Any, **named: Any) -> Any:
        # The inner layer writes to a descriptor, which is on the full disk.
        if isinstance(path, int):
            return io.BufferedWriter(Full())
        return real(path, *arguments, **named)

    path = put(tmp_path / f"out{suffix}", b"old")
    monkeypatch.setattr("miner.text.output.open", opener, raising=False)
    for size in (1, 1_000_000):  # noticed at the end, noticed at once
        with (
            pytest.raises(ResourceError, match="no space left; free some") as caught,
            open_output(path) as out,
        ):
            out.write(os.urandom(size).hex())
        assert str(path) in str(caught.value) and "partial" not in str(caught.value)
        assert os.listdir(tmp_path) == [path.name] and path.read_bytes() == b"old"


def test_all_bytes_are_written_before_the_sync(tmp_path, monkeypatch):
    seen: list[int] = []
    sync = os.fsync

    def fsync(fd: int) -> None:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            seen.append(os.fstat(fd).st_size)
        sync(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    for suffix in COMPRESS:
        seen.clear()
        path = tmp_path / f"out{suffix}"
        with open_output(path) as out:
            out.write("text\n")
        assert seen == [path.stat().st_size]


def test_an_error_of_the_body_keeps_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_output(tmp_path / "out"):
        (tmp_path / "something else").read_bytes()
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link_and_a_device_a_device(tmp_path: Path) -> None:
    real = put(tmp_path / "real", "old")
    link = tmp_path / "link"
    link.symlink_to(real)
    with open_output(link) as out:
        out.write("new")
    assert link.is_symlink() and real.read_text() == "new"
    pipe = tmp_path / "pipe"  # in place of /dev/null, which a failing test would destroy
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    with open_output(pipe) as out:
        out.write("through")
    reader.join(5)
    assert got == [b"through"] and pipe.is_fifo()
    ends = os.pipe()
    with open_output(f"/dev/fd/{ends[1]}") as out:  # as /dev/stdout is before a pipe
        out.write("too")
    assert os.read(ends[0], 9) == b"too"
    for end in ends:
        os.close(end)


class Stdout(io.BytesIO):
    """Standard output of bytes, which must not be closed."""

    failure: BaseException | None = None

    def write(self, data: Any) -> int:
        if self.failure:
            raise self.failure
        return super().write(data)


@pytest.mark.parametrize("opened", [open_output, atomic_file])
def test_a_link_that_another_user_has_planted(tmp_path: Path, opened: Any) -> None:
    """The temporary name can be guessed in a directory that everybody may write to."""
    victim, path = put(tmp_path / "victim", b"years of work"), tmp_path / "out"
    (tmp_path / f".out.{os.getpid()}.partial").symlink_to(victim)
    with opened(path) as out:
        out.write_text("new") if isinstance(out, Path) else out.write("new")
    assert victim.read_bytes() == b"years of work"
    assert path.read_text() == "new" and not path.is_symlink()


def test_output_to_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Stdout()
    stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding="ascii", newline="\r\n")
    monkeypatch.setattr(sys, "stdout", stdout)
    print("first")
    with open_output("-") as out:
        out.write("ä\u2028\n")
    assert raw.getvalue() == "first\r\nä\u2028\n".encode(), "flushed, so that a break shows here"
    with open_output("-", binary=True) as out:
        out.write(b"\xff")
    del out
    assert not raw.closed and raw.getvalue().endswith(b"\n\xff")


def test_stdout_that_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = Stdout()
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(buffer=raw, flush=lambda: None))
    raw.failure = BrokenPipeError(errno.EPIPE, "Broken pipe")
    with pytest.raises(BrokenPipeError), open_output("-") as out:
        out.write("a")
    raw.failure = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(ResourceError, match="standard output: .*no space"), open_output("-") as out:
        out.write("a")
    assert not raw.closed


@QUICK
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_one_line_is_one_cell_of_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line) == len(text) and not set("\t\0\x1f") & set(line)
    assert f"-{line}-".splitlines() == [f"-{line}-"]
