"""miner.text.lines: compression, unreadable files, endless lines."""

import errno
import gzip
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.downloads import zipped
from support.raw_lines import lines_of
from support.texts import COMPRESS, PACKED, QUICK, drain, noise, put, zstd

from miner.errors import CorpusError, DependencyError
from miner.text.corpus import CorpusReader, read
from miner.text.lines import read_lines
from miner.text.output import open_output


@pytest.mark.parametrize("suffix", PACKED)
def test_format_is_told_under_the_compression(tmp_path: Path, suffix: str) -> None:
    data = COMPRESS[suffix](b"a\tb\n")
    assert read(put(tmp_path / f"x.TSV{suffix.upper()}", data)).sentences == ["a"]
    assert read(put(tmp_path / f"x{suffix}", data)).sentences == ["a\tb"]


@pytest.mark.parametrize("suffix", PACKED)
def test_members_written_one_after_another(tmp_path: Path, suffix: str) -> None:
    data = COMPRESS[suffix](b"a\nb") + COMPRESS[suffix](b"c\nd\n")
    assert read(put(tmp_path / f"a{suffix}", data)).sentences == ["a", "bc", "d"]


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("kept", [0, 1, 3, -1, 0.5])
def test_truncated(tmp_path: Path, suffix: str, kept: float) -> None:
    whole = noise(suffix)
    cut = whole[: int(len(whole) * kept) if kept == 0.5 else int(kept)]
    path = put(tmp_path / f"a{suffix}", cut)
    reader = CorpusReader(path, block=1)
    with pytest.raises(CorpusError) as caught:
        drain(reader)
    text = str(caught.value)
    assert str(path) in text and "incomplete download" in text
    assert f"after line {reader.lines} " in text if kept else "0 bytes" in text
    if kept == 0.5:
        assert 0 < reader.lines < 20_000


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("share", [0, 0.5])
def test_corrupted(tmp_path: Path, suffix: str, share: float) -> None:
    whole = bytearray(noise(suffix))
    place = int(len(whole) * share) or 10  # after the header, or in the middle
    whole[place : place + 64] = b"\xff" * 64
    path = put(tmp_path / f"a{suffix}", bytes(whole))
    with pytest.raises(CorpusError, match="damaged after line") as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("data", [b"a", b"plain text, whatever the name says\n" * 9])
def test_the_suffix_without_compression(tmp_path: Path, suffix: str, data: bytes) -> None:
    with pytest.raises(CorpusError, match="not compressed") as caught:
        read(put(tmp_path / f"a{suffix}", data))
    assert suffix in str(caught.value)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("name", ["a", "a.txt", "a.tsv"])
def test_compressed_without_the_suffix(tmp_path: Path, suffix: str, name: str) -> None:
    with pytest.raises(CorpusError, match=f"compressed, but .* not end in {suffix}; rename") as it:
        read(put(tmp_path / name, COMPRESS[suffix](b"a line\n" * 50)))
    assert "UTF-8" not in str(it.value)


def office(*names: str) -> bytes:
    return zipped(dict.fromkeys(names, "<x/>"))


KINDS: list[tuple[bytes, str]] = [
    (b"%PDF-1.7\n%\xc7\xec", "a PDF, by its first bytes; .*pdftotext"),
    (office("[Content_Types].xml", "word/document.xml"), "a Word document .* plain text in UTF-8"),
    (office("[Content_Types].xml", "xl/workbook.xml"), "a spreadsheet .* tab-separated"),
    (zipped({"a.txt": "x"}), "a zip, .* unpack it"),
    (b"PK\3\4" + b"\0" * 26 + b"mimetypeapplication/epub+zip", "an e-book .*pandoc"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "an old document of Word, Excel"),
    ("Hund\nKatze\n".encode("utf-16"), "UTF-16, .* iconv -f UTF-16 "),
    ("Hund\nKatze\n".encode("utf-16-le"), "UTF-16 without a mark, .* iconv -f UTF-16LE "),
    ("Hund\nKatze\n".encode("utf-16-be"), "UTF-16 without a mark, .* iconv -f UTF-16BE "),
    ("Hund\n".encode("utf-32"), "UTF-32, .* iconv -f UTF-32 "),
    (b"\xef\xbb\xbf\n<!DOCTYPE html><html>", "a web page .*pandoc"),
    (b"{\\rtf1\\ansi", "a document in RTF, .*pandoc"),
    (b"<?xml version='1.0'?>\n<!DOCTYPE tmx SYSTEM 'tmx14.dtd'>\n<tmx>", "TMX, .* --format tmx"),
    (b"<?xml version='1.0'?><xliff version='2.0'>", "a file of translators .XLIFF., .*po2tmx"),
    (b'# de\n\nmsgid ""\nmsgstr ""\n', "a catalogue of gettext .*po2tmx"),
    (b"1\n00:00:01,000 --> 00:00:02,000\nHund\n", "subtitles with times .*grep"),
    (b"WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nHund\n", "subtitles with times .*grep"),
    (b"<?xml version='1.0'?><a/>", "XML, "),
    (b'[\n  {\n    "text": "Hund"}]', "a JSON array, .*jq -c"),
    (b"Hund\tdog\rKatze\tcat\r", "carriage returns alone, .* tr "),
    (b"PAR1\x15\x04", "Parquet, .* --format parquet"),
    (b"a" * 257 + b"ustar\0", "a tar archive, .* unpack it"),
    (b"\xff\xd8\xff\xe0", "an image, "),
]


@pytest.mark.parametrize(("data", "said"), KINDS)
@pytest.mark.parametrize("name", ["a.txt", "a.tsv", "a.jsonl.gz"])
def test_what_is_no_text_is_named(tmp_path: Path, data: bytes, said: str, name: str) -> None:
    path = put(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    for on_error in ("fail", "replace"):
        with pytest.raises(CorpusError, match=said) as error:
            read(path, on_error=on_error, **({"column": "text"} if ".jsonl" in name else {}))
        assert "\n" not in str(error.value)


def test_text_that_looks_like_another_kind(tmp_path: Path) -> None:
    for text in (
        "PK is short",
        "<htmlx>",
        "< html>",
        "{\\rt",
        "a\0b\0c",
        "<tmx-like>",
        "%PDF",
        "[1] a",
        "a\rb",
    ):
        assert read(put(tmp_path / "a", f"{text}\nb\n")).sentences == [text, "b"]


def test_text_that_begins_like_bzip2(tmp_path: Path) -> None:
    assert len(read(put(tmp_path / "a", b"BZh is how bzip2 begins\n"))) == 1


def test_no_zstd_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "a.zst", COMPRESS[".zst"](b"a\n"))
    monkeypatch.setitem(sys.modules, zstd.__name__, None)
    with pytest.raises(DependencyError, match="pip install"):
        read(path)
    with pytest.raises(DependencyError, match="pip install"), open_output(tmp_path / "b.zst"):
        pass
    assert sorted(os.listdir(tmp_path)) == ["a.zst"]


def test_a_failing_disk_is_not_called_a_bad_download(tmp_path, monkeypatch):
    def fail(self: Any, size: int = -1) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = put(tmp_path / "a.gz", gzip.compress(b"a\n"))
    monkeypatch.setattr(gzip._GzipReader, "read", fail)
    with pytest.raises(CorpusError) as caught:
        read(path)
    assert os.strerror(errno.EIO) in str(caught.value) and "download" not in str(caught.value)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_line_without_end_takes_little_memory(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("miner.text.lines.MOST", 1 << 20)
    path = put(tmp_path / f"a.txt{suffix}", COMPRESS[suffix](b"first\n" + bytes(50 << 20)))
    list(read_lines(str(put(tmp_path / f"b.txt{suffix}", COMPRESS[suffix](b"a\n")))))  # imports
    tracemalloc.start()
    lines = read_lines(str(path))
    assert next(lines) == b"first"
    with pytest.raises(CorpusError, match="line 2: longer than 1 MiB") as caught:
        next(lines)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(path) in str(caught.value) and most < 16 << 20


def test_a_line_of_just_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miner.text.lines.MOST", 1 << 20)
    line = b"x" * (1 << 20)
    path = put(tmp_path / "a", line + b"\n" + line)
    assert list(read_lines(str(path))) == [line, line]
    put(path, line + b"\n" + line + b"x\n")
    with pytest.raises(CorpusError, match="line 2: longer"):
        list(read_lines(str(path)))


PIECES = st.lists(st.sampled_from([b"\n", b"\r", b"a", b"\0", b"\xef\xbb\xbf"])).map(b"".join)


@QUICK
@given(PIECES, st.integers(1, 7))
def test_parts_of_any_size_give_the_same_lines(tmp_path: Path, data: bytes, part: int) -> None:
    assume(b"\n" in data or data.count(b"\r") < 2)  # others are refused
    path = put(tmp_path / "a", data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("miner.text.lines._PART", part)
        assert list(read_lines(str(path))) == lines_of(data)
