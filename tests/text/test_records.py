"""Tests of miner.text.records: compression, columns and formats, every fault with its place."""

from __future__ import annotations

import errno
import gzip
import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.raw_lines import lines_of
from support.texts import (
    COMPRESS,
    PACKED,
    QUICK,
    TEXT,
    Pipe,
    drain,
    feed,
    message,
    noise,
    put,
    table,
    tallies,
    zstd,
)

from miner.errors import CorpusError, DependencyError
from miner.text.corpus import Reader, read
from miner.text.lines import read_lines
from miner.text.output import open_output

# --- compression ----------------------------------------------------------------------------


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
    reader = Reader(path, block=1)
    with pytest.raises(CorpusError) as caught:
        drain(reader)
    text = message(caught)
    assert str(path) in text and "incomplete download" in text
    assert f"after line {reader.lines} " in text if kept else "0 bytes" in text
    if kept == 0.5:
        assert 0 < reader.lines < 20_000


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("share", [0, 0.5])
def test_corrupted(tmp_path: Path, suffix: str, share: float) -> None:
    whole = bytearray(noise(suffix))
    place = int(len(whole) * share) or 10  # behind the header, or in the middle
    whole[place : place + 64] = b"\xff" * 64
    path = put(tmp_path / f"a{suffix}", bytes(whole))
    with pytest.raises(CorpusError, match="damaged after line") as caught:
        read(path)
    assert str(path) in message(caught)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("data", [b"a", b"plain text, whatever the name says\n" * 9])
def test_not_compressed_at_all(tmp_path: Path, suffix: str, data: bytes) -> None:
    with pytest.raises(CorpusError, match="not compressed") as caught:
        read(put(tmp_path / f"a{suffix}", data))
    assert suffix in message(caught)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("name", ["a", "a.txt", "a.tsv"])
def test_compressed_without_saying_so(tmp_path: Path, suffix: str, name: str) -> None:
    with pytest.raises(CorpusError, match=f"compressed, but .* not end in {suffix}; rename") as it:
        read(put(tmp_path / name, COMPRESS[suffix](b"a line\n" * 50)))
    assert "UTF-8" not in message(it)


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


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path / "missing.gz", tmp_path / "m.parquet", tmp_path):
        with pytest.raises(CorpusError, match="cannot be read") as caught:
            read(path)
        assert str(path) in message(caught)


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(CorpusError, match="Permission denied"):
        read(tmp_path / "a")


def test_a_failing_disk_is_not_called_a_bad_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any, size: int = -1) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = put(tmp_path / "a.gz", gzip.compress(b"a\n"))
    monkeypatch.setattr(gzip._GzipReader, "read", fail)
    with pytest.raises(CorpusError) as caught:
        read(path)
    assert os.strerror(errno.EIO) in message(caught) and "download" not in message(caught)


# --- bucc, tsv ------------------------------------------------------------------------------


def test_bucc(tmp_path: Path) -> None:
    path = put(tmp_path / "a", "de-1\tein\tTab\nde-2\t \nde-1\tvier\n\tx\n")
    reader = Reader(path, format="bucc")
    (block,) = reader
    assert block.ids == ["de-1", "de-1", "4"] and block.sentences == ["ein\tTab", "vier", "x"]
    assert block.lines.tolist() == [1, 3, 4]
    assert tallies(reader) == (4, 1, 0, 0)


def test_bucc_without_a_tab(tmp_path: Path) -> None:
    path = put(tmp_path / "a", "de-1\tein\nde-2 zwei\n")
    with pytest.raises(CorpusError, match="line 2: no tab") as caught:
        read(path, format="bucc")
    assert str(path) in message(caught)


def test_tsv_columns_by_number(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", "i1\tein\u2028s\trest\r\ni2\t\tx\n\ni4\tvier")
    assert read(path).sentences == ["i1", "i2", "i4"]
    reader = Reader(path, column=2, id_column=1)
    (block,) = reader
    assert (block.ids, block.sentences) == (["i1", "i4"], ["ein\u2028s", "vier"])
    assert block.lines.tolist() == [1, 4]
    assert tallies(reader) == (4, 2, 0, 0)
    assert read(path, column="2").ids == ["1", "4"], "a number as text, as a command line has it"


def test_tsv_columns_by_name(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", "\ufeffkey\ttext\nk\tein\nl\t\n")
    reader = Reader(path, column="text", id_column="key", header=True)
    (block,) = reader
    assert (block.ids, block.sentences, block.lines.tolist()) == (["k"], ["ein"], [2])
    assert tallies(reader) == (2, 1, 0, 0), "the header is no record"
    assert read(path, column=2, header=True).ids == ["2"]
    assert len(read(put(tmp_path / "b.tsv", ""), column="text", header=True)) == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"column": 3}, ["line 1", "column 3", "2 found"]),
        ({"column": 1, "id_column": 4}, ["line 1", "column 4", "2 found"]),
        ({"column": 0}, ["column 0", "count from 1"]),
        ({"column": "text"}, ["'text'", "--header"]),
        ({"column": "no", "header": True}, ["'no'", "key, text"]),
        ({"format": "plain", "column": 2}, ["plain", "tsv"]),
        ({"format": "bucc", "header": True}, ["bucc", "tsv"]),
    ],
)
def test_columns_that_are_not_there(
    tmp_path: Path, arguments: dict[str, Any], expected: list[str]
) -> None:
    path = put(tmp_path / "a.tsv", "key\ttext\nk\tein\n")
    with pytest.raises(CorpusError) as caught:
        read(path, **arguments)
    assert all(part in message(caught) for part in [str(path), *expected]), message(caught)


def test_short_row_further_down(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", "a\tb\nc\td\ne\n")
    with pytest.raises(CorpusError, match=r"line 3: column 2 .* 1 found"):
        read(path, column=2)


# --- jsonl ----------------------------------------------------------------------------------


@QUICK
@given(sentences=st.lists(TEXT | st.just("a\nb"), max_size=8), ascii=st.booleans())
def test_jsonl_holds_any_sentence(tmp_path: Path, sentences: list[str], ascii: bool) -> None:
    lines = [
        json.dumps({"id": f"i{n}", "text": s}, ensure_ascii=ascii) + "\n"
        for n, s in enumerate(sentences)
    ]
    reader = Reader(put(tmp_path / "a.ndjson", "".join(lines)))
    assert drain(reader) == [s for s in sentences if s.strip()]
    assert reader.lines == len(sentences)
    assert [i for b in reader for i in b.ids] == [
        f"i{n}" for n, s in enumerate(sentences) if s.strip()
    ]


def test_jsonl_keys(tmp_path: Path) -> None:
    rows = [{"text": "a", "de": "x", "n": 7}, {"text": "", "de": "y", "n": "q"}]
    path = put(tmp_path / "a.jsonl", "\n\n".join(map(json.dumps, rows)))
    reader = Reader(path)
    (block,) = reader
    assert (block.ids, block.sentences) == (["1"], ["a"])
    assert tallies(reader) == (3, 2, 0, 0), "a blank line and an empty text"
    block = read(path, column="de", id_column="n")
    assert (block.ids, block.sentences, block.lines.tolist()) == (["7", "q"], ["x", "y"], [1, 3])
    assert read(put(path, '{"text": "a", "id": null}')).ids == ["1"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"text": "a"', "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ('["a"]', "not a JSON object"),
        ('{"txt": "a", "n": 1}', "'text' is missing; there are: txt, n"),
        ('{"text": 7}', "int, not text"),
        ('{"text": null}', "NoneType, not text"),
        ('{"text": "a", "id": [1]}', "list, not text"),
        ('{"text": "a", "id": true}', "bool, not text"),
    ],
)
def test_broken_jsonl(tmp_path: Path, line: str, expected: str) -> None:
    path = put(tmp_path / "a.jsonl", '{"text": "fine"}\n' + line + "\n")
    with pytest.raises(CorpusError) as caught:
        read(path)
    assert f"{path}, line 2: " in message(caught) and expected in message(caught)


def test_an_id_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"text": "a"}\n')
    with pytest.raises(CorpusError, match="'id' is missing"):
        read(path, id_column="id")


# --- parquet --------------------------------------------------------------------------------


def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a\u2028b", None, "", "c\nd", "é", "f", "g"]
    path = table(tmp_path / "a.parquet", n=list(range(7)), text=texts, id=["x", *"yzabc", None])
    reader = Reader(path, block=2)
    blocks = list(reader)
    assert [len(b) for b in blocks] == [2, 2, 1]
    assert drain(reader) == ["a\u2028b", "c\nd", "é", "f", "g"]
    assert [i for b in blocks for i in b.ids] == ["x", "a", "b", "c", "7"]
    assert [int(n) for b in blocks for n in b.lines] == [1, 4, 5, 6, 7]
    assert tallies(reader) == (7, 2, 0, 0)
    assert read(path, id_column="n").ids == ["0", "3", "4", "5", "6"]
    feed(monkeypatch, path.read_bytes(), Pipe)
    assert read("-", format="parquet").sentences == drain(reader)


def test_parquet_text_types(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    words = ["a", None, "b"]
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        path = table(tmp_path / "a.parquet", text=pa.array(words).cast(kind))
        assert read(path).sentences == ["a", "b"]
    assert read(table(tmp_path / "a.parquet", text=pa.nulls(3))).sentences == []
    for values in ([1], [0.5], [True], [["a"]]):
        with pytest.raises(CorpusError, match="not text"):
            read(table(tmp_path / "a.parquet", text=values))


def test_parquet_bad_bytes(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", text=[b"fine", b"ab\xe9"])
    with pytest.raises(CorpusError, match="line 2, byte offset 2"):
        read(path)
    assert read(path, on_error="replace").sentences == ["fine", "ab\ufffd"]
    assert read(path, on_error="skip").sentences == ["fine"]


def test_parquet_columns(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", de=["a"], en=["b"])
    with pytest.raises(CorpusError, match="no column 'text'; there are: de, en"):
        read(path)
    with pytest.raises(CorpusError, match="no column 'key'"):
        read(path, column="de", id_column="key")
    with pytest.raises(CorpusError, match="names"):
        read(path, column=1)
    assert read(path, column="en").sentences == ["b"]


def test_parquet_damaged(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet", text=[str(n) for n in range(100)])
    whole = path.read_bytes()
    holed = whole[:4] + b"\xff" * 40 + whole[44:]
    for data in (whole[:-9], whole[: len(whole) // 2], holed, b"", b"no such thing\n" * 9):
        with pytest.raises(CorpusError, match="incomplete download") as caught:
            read(put(path, data))
        assert str(path) in message(caught)
    with pytest.raises(CorpusError, match="decompress"):
        read(put(tmp_path / "a.parquet.gz", gzip.compress(whole)))


def test_no_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DependencyError, match=r'pip install "bitext-miner\[parquet\]"'):
        read(put(tmp_path / "a.parquet", b""))


# --- lines without end --------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", COMPRESS)
def test_a_line_without_end_takes_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
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
    assert str(path) in message(caught) and most < 16 << 20


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
    path = put(tmp_path / "a", data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("miner.text.lines._PART", part)
        assert list(read_lines(str(path))) == lines_of(data)


def test_parquet_with_a_giant_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path / "a.parquet", text=["x" * 5000])
    assert len(read(path).sentences) == 1
    monkeypatch.setattr("miner.text.parquet.MOST", 4096)
    with pytest.raises(CorpusError, match="'text' has cells longer"):
        read(path)
