"""miner.corpus: every line of every format accounted for, and output that is whole or absent."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
import threading
import types
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from miner import corpus
from miner.corpus import (
    FORMATS,
    Bitext,
    Corpus,
    Reader,
    parse_scores,
    read,
    read_bitext,
    stream_bitext,
)
from miner.errors import CorpusError, DependencyError, ResourceError
from miner.files import one_line, open_output

if sys.version_info >= (3, 14):
    import compression.zstd as zstd
else:
    zstd = pytest.importorskip("backports.zstd")

COMPRESS: dict[str, Any] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1}),
}
LINES = np.array([2, 5, 9])
PACKED = [suffix for suffix in COMPRESS if suffix]
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=30)
ODD = ["\u2028b", "a\x0bb", "a\x0cb", "a\x85b", "a\rb", "\ra", "a\r", "\x1c", " a ", "\0", "\ufeff"]
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def put(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def drain(reader: Reader) -> list[str]:
    return [sentence for block in reader for sentence in block.sentences]


def tallies(reader: Reader) -> tuple[int, int, int, int]:
    return reader.lines, reader.empty, reader.undecodable, reader.replaced


def message(caught: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(caught.value)
    assert "\n" not in text, "an error is one line"
    return text


@cache
def noise(suffix: str) -> bytes:
    """20 000 lines that no codec makes small, so that a cut falls inside the data."""
    rng = random.Random(7)
    text = b"".join(b"%x\n" % rng.getrandbits(400) for _ in range(20_000))
    if suffix == ".xz":
        return lzma.compress(text, preset=0)
    return bytes(COMPRESS[suffix](text))


class Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation("a pipe cannot seek")


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes, kind: type[io.BytesIO] = io.BytesIO) -> None:
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=kind(data)))


# --- plain text: lines ----------------------------------------------------------------------


@QUICK
@example(sentences=ODD, ending="\n", suffix="")
@example(sentences=ODD, ending="\r\n", suffix=".gz")
@given(
    sentences=st.lists(TEXT, max_size=12),
    ending=st.sampled_from(["\n", "\r\n"]),
    suffix=st.sampled_from(list(COMPRESS)),
)
def test_any_sentence_survives(
    tmp_path: Path, sentences: list[str], ending: str, suffix: str
) -> None:
    # A mark before the text keeps a U+FEFF of the text; a \r before a bare \n is the one dropped.
    data = "\ufeff" + "".join(sentence + ending for sentence in sentences)
    path = put(tmp_path / f"a.txt{suffix}", COMPRESS[suffix](data.encode()))
    expected = [s[:-1] if ending == "\n" and s.endswith("\r") else s for s in sentences]
    kept = [(number, s) for number, s in enumerate(expected, 1) if s.strip()]
    reader = Reader(path, block=3)
    blocks = list(reader)
    assert [s for b in blocks for s in b.sentences] == [s for _, s in kept]
    assert [int(n) for b in blocks for n in b.lines] == [n for n, _ in kept]
    assert [i for b in blocks for i in b.ids] == [str(n) for n, _ in kept]
    assert tallies(reader) == (len(sentences), len(sentences) - len(kept), 0, 0)
    assert all(0 < len(b) <= 3 for b in blocks)


def test_block_has_the_promised_types(tmp_path: Path) -> None:
    path = put(tmp_path / "a.de", "eins\n\n  \t\nvier\n")
    block = read(path)
    assert isinstance(block, Corpus) and len(block) == 2
    assert block.lines.dtype == np.int64 and block.lines.shape == (2,)
    assert (block.ids, block.sentences) == (["1", "4"], ["eins", "vier"])
    assert block.lines.tolist() == [1, 4] and block.origin == str(path)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a\nb", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\r\nb\r", ["a", "b"]),
        (b"a\r\r\n", ["a\r"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfa", ["\ufeffa"]),
        (b" a \n", [" a "]),
    ],
)
def test_line_ends_and_marks(tmp_path: Path, data: bytes, expected: list[str]) -> None:
    assert read(put(tmp_path / "a", data)).sentences == expected


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"", 0), (b"\xef\xbb\xbf", 0), (b"\n", 1), (b"\n\r\n \n\xe2\x80\xa8\n\t", 5)],
)
def test_nothing_in_it(tmp_path: Path, suffix: str, data: bytes, lines: int) -> None:
    for format in ("plain", "tsv", "jsonl", "bucc"):
        reader = Reader(put(tmp_path / f"a{suffix}", COMPRESS[suffix](data)), format=format)
        assert list(reader) == []
        assert tallies(reader) == (lines, lines, 0, 0)
        assert len(read(reader.origin, format=format)) == 0


def test_a_line_of_a_megabyte(tmp_path: Path) -> None:
    long = "ä" * 600_000
    path = put(tmp_path / "a.gz", gzip.compress(f"{long}\nb".encode()))
    assert read(path).sentences == [long, "b"]


def test_counts_start_anew(tmp_path: Path) -> None:
    reader = Reader(put(tmp_path / "a", "a\n\nb\n"))
    assert drain(reader) == drain(reader) == ["a", "b"]
    assert tallies(reader) == (3, 1, 0, 0)


def test_blocks_come_before_the_file_is_read(tmp_path: Path) -> None:
    path = put(tmp_path / "a", b"good\n" * 20_000 + b"\xff\n")
    stream = iter(Reader(path, block=10))
    assert next(stream).sentences == ["good"] * 10
    with pytest.raises(CorpusError, match="line 20001"):
        list(stream)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, "\ufeffeins\u2028\n\nzwei".encode())
    block = read("-")
    assert (block.sentences, block.ids, block.origin) == (["eins\u2028", "zwei"], ["1", "3"], "-")
    feed(monkeypatch, b"a\n\xff\n")
    with pytest.raises(CorpusError, match="standard input, line 2"):
        read("-")


@pytest.mark.parametrize("arguments", [{"format": "csv"}, {"on_error": "ignore"}, {"block": 0}])
def test_arguments_that_mean_nothing(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Reader(put(tmp_path / "a", "a"), **arguments)


# --- bytes that are not UTF-8 ---------------------------------------------------------------

BAD = "ü\n".encode() + b"ab\xe9c\n\nzuletzt \xed\xa0\x80\n"


def test_bad_bytes_fail(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", BAD)
    with pytest.raises(CorpusError) as caught:
        read(path)
    text = message(caught)
    for part in (str(path), "line 2,", "byte offset 2:", "0xE9", "iconv"):
        assert part in text


def test_bad_bytes_replaced(tmp_path: Path) -> None:
    reader = Reader(put(tmp_path / "a.txt", BAD), on_error="replace")
    assert drain(reader) == ["ü", "ab\ufffdc", "zuletzt \ufffd\ufffd\ufffd"]
    assert tallies(reader) == (4, 1, 0, 2)


def test_bad_bytes_skipped(tmp_path: Path) -> None:
    reader = Reader(put(tmp_path / "a.txt", BAD), on_error="skip")
    assert drain(reader) == ["ü"]
    assert tallies(reader) == (4, 1, 2, 0)
    assert next(iter(reader)).lines.tolist() == [1]


def test_half_a_character_in_json(tmp_path: Path) -> None:
    data = '{"text": "a\\ud83d"}\n{"text": "\\ud83d\\ude00"}\n'
    path = put(tmp_path / "a.jsonl", data)
    with pytest.raises(CorpusError, match="line 1, .*surrogate"):
        read(path)
    assert read(path, on_error="replace").sentences == ["a\ufffd", "😀"]
    assert read(path, on_error="skip").sentences == ["😀"]


def test_bad_bytes_in_a_header(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"caf\xe9\tsatz\nx\tein\n")
    with pytest.raises(CorpusError, match="line 1, byte offset 3"):
        read(path, column="satz", header=True)
    for mode in ("replace", "skip"):
        reader = Reader(path, column="satz", header=True, on_error=mode)
        assert drain(reader) == ["ein"]
        assert tallies(reader) == (1, 0, 0, 0)


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


def table(path: Path, **columns: Any) -> Path:
    pa = pytest.importorskip("pyarrow")
    pa.parquet = pytest.importorskip("pyarrow.parquet")
    pa.parquet.write_table(pa.table(columns), path, row_group_size=3)
    return path


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


def test_import_loads_no_heavy_library() -> None:
    heavy = {"pyarrow", "torch", "faiss", "h5py", "numba", "pandas"}
    # A bare package stands for miner's own, whose __init__ imports more rooms than this one.
    code = (
        "import sys, types; sys.modules['miner'] = types.ModuleType('miner');"
        "sys.modules['miner'].__path__ = [sys.argv[1]];"
        "import miner.corpus; print(*sys.modules)"
    )
    home = os.path.dirname(corpus.__file__)
    done = subprocess.run(
        [sys.executable, "-c", code, home], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {"miner.corpus", "miner.errors"} <= loaded and not heavy & loaded
    assert {name for name in loaded if name.startswith("miner.")} == {
        "miner.corpus",
        "miner.errors",
        "miner.files",
        "miner.records",
    }


# --- bitext ---------------------------------------------------------------------------------


def two(tmp_path: Path, source: bytes | str, target: bytes | str) -> tuple[Path, Path]:
    return put(tmp_path / "a.de", source), put(tmp_path / "a.en", target)


def counts(bitext: Bitext) -> tuple[int, int, int, int]:
    return bitext.records, bitext.empty, bitext.undecodable, bitext.replaced


@QUICK
@given(rows=st.lists(st.tuples(TEXT, TEXT), max_size=10))
def test_two_files_stay_aligned(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    sides = ["\ufeff" + "".join(row[side] + "\r\n" for row in rows) for side in (0, 1)]
    bitext = read_bitext(*two(tmp_path, *sides))
    kept = [n for n, (a, b) in enumerate(rows) if a.strip() and b.strip()]
    assert list(zip(bitext.source, bitext.target, strict=True)) == [rows[n] for n in kept]
    assert bitext.lines.tolist() == [n + 1 for n in kept] and bitext.lines.dtype == np.int64
    assert counts(bitext) == (len(rows), len(rows) - len(kept), 0, 0)
    assert len(bitext) == len(kept)


@pytest.mark.parametrize(("source", "target"), [("a\nb\nc\n", "x\ny"), ("a\nb\nc", "x\ny\n")])
def test_unequal_counts(tmp_path: Path, source: str, target: str) -> None:
    paths = two(tmp_path, source, target)
    with pytest.raises(CorpusError) as caught:
        read_bitext(*paths)
    assert f"{paths[0]} has 3 lines" in message(caught)
    assert f"{paths[1]} has 2" in message(caught)
    with pytest.raises(CorpusError, match="has 2 lines but .* has 3"):
        read_bitext(paths[1], paths[0])


def test_counts_are_compared_before_any_work(tmp_path: Path) -> None:
    paths = two(tmp_path, b"\xff\nb\n", b"x\n")
    with pytest.raises(CorpusError, match="has 2 lines but .* has 1"):
        read_bitext(*paths)


def test_empty_files_are_aligned(tmp_path: Path) -> None:
    bitext = read_bitext(*two(tmp_path, "", ""))
    assert counts(bitext) == (0, 0, 0, 0) and bitext.lines.shape == (0,)


def test_bitext_bad_bytes(tmp_path: Path) -> None:
    paths = two(tmp_path, b"a\n\xff\n\nd\n", b"w\nx\n\xff\n\n")
    with pytest.raises(CorpusError, match=r"a\.de, line 2"):
        read_bitext(*paths)
    bitext = read_bitext(*paths, on_error="skip")
    assert (bitext.source, bitext.target, bitext.lines.tolist()) == (["a"], ["w"], [1])
    assert counts(bitext) == (4, 1, 2, 0)
    bitext = read_bitext(*paths, on_error="replace")
    assert bitext.source == ["a", "\ufffd"] and counts(bitext) == (4, 2, 0, 2)


def test_bitext_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path / "a.en.gz", gzip.compress(b"x\ny"))
    feed(monkeypatch, b"a\nb\n")
    assert read_bitext("-", path).source == ["a", "b"]
    feed(monkeypatch, b"a\n")
    with pytest.raises(CorpusError, match=r"a\.en\.gz has 2 lines but standard input has 1"):
        read_bitext(path, "-")
    feed(monkeypatch, b"a\tx\nb\ty\n")
    assert read_bitext("-").target == ["x", "y"]
    with pytest.raises(CorpusError, match="both sides"):
        read_bitext("-", "-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_bitext_from_a_pipe(tmp_path: Path, suffix: str) -> None:
    """What a shell's <(zcat a.gz) gives can be read once, and is counted all the same."""
    pipe = tmp_path / f"pipe{suffix}"
    os.mkfifo(pipe)
    data = COMPRESS[suffix](b"a\nb\n")
    writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
    writer.start()
    bitext = read_bitext(pipe, put(tmp_path / "a.en", "x\ny\n"))
    writer.join()
    assert bitext.source == ["a", "b"]


def test_bitext_of_one_tsv(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", "de\ten\tx\na\tb\t1\n\tc\t2\n\nd\t \t3\ne\tf\n")
    bitext = read_bitext(path, header=True, scol="en", tcol="de")
    assert (bitext.source, bitext.target) == (["b", "f"], ["a", "e"])
    assert bitext.lines.tolist() == [2, 6] and counts(bitext) == (5, 3, 0, 0)
    assert read_bitext(path).source == ["de", "a", "e"]
    plain = put(tmp_path / "a.gz", gzip.compress(b"a\tb\n"))
    assert read_bitext(plain, scol=2, tcol=1).source == ["b"]
    with pytest.raises(CorpusError, match="line 1: column 2 .* 1 found"):
        read_bitext(put(path, "a b\n"))


def test_bitext_of_one_jsonl_or_parquet(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"de": "a", "en": "b"}\n{"de": "", "en": "c"}\n')
    bitext = read_bitext(path, scol="de", tcol="en")
    assert (bitext.source, bitext.target, counts(bitext)) == (["a"], ["b"], (2, 1, 0, 0))
    bitext = read_bitext(
        table(tmp_path / "a.parquet", en=["b", "c"], de=["a", None]), scol="de", tcol="en"
    )
    assert (bitext.source, bitext.target, counts(bitext)) == (["a"], ["b"], (2, 1, 0, 0))
    with pytest.raises(CorpusError, match="key 1 is missing"):
        read_bitext(path)


def test_bitext_with_more_columns(tmp_path: Path) -> None:
    """As they stand, of the rows that are kept."""
    path = put(tmp_path / "a.tsv", "de\ten\tx\ty\na\tb\t1\t\n\tc\t2\t\n\ne\tf\t .5 \tz\n")
    bitext = read_bitext(path, header=True, more=[3, "y"])
    assert bitext.more == [("1", ""), (" .5 ", "z")]
    assert bitext.lines.tolist() == [2, 5] and counts(bitext) == (4, 2, 0, 0)
    assert read_bitext(path, more=["4"]).more == [("y",), ("",), ("z",)]
    assert read_bitext(path).more == [(), (), ()]
    assert read_bitext(*two(tmp_path, "a\nb\n", "x\ny\n")).more == [(), ()]
    with pytest.raises(CorpusError, match="line 1: column 5 is asked for, 4 found"):
        read_bitext(path, more=[5])
    broken = put(tmp_path / "b.tsv", b"a\tb\t\xff\n")
    with pytest.raises(CorpusError, match="line 1, byte offset 4"):
        read_bitext(broken, more=[3])
    assert read_bitext(broken, more=[3], on_error="skip").undecodable == 1
    assert read_bitext(broken, more=[3], on_error="replace").more == [("\ufffd",)]


def test_more_columns_may_be_numbers(tmp_path: Path) -> None:
    sides: dict[str, list[Any]] = {"de": ["a", "b", "c"], "en": ["x", "y", "z"]}
    numbers: dict[str, list[Any]] = {"i": [3, -1, 0], "f": [0.1, 1e-7, 2.0], "b": [True, False, 1]}
    numbers["b"][2] = True
    rows = [
        {key: values[i] for key, values in {**sides, **numbers, "t": ["1", "", "u"]}.items()}
        for i in range(3)
    ]
    path = put(tmp_path / "a.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    parquet = table(tmp_path / "a.parquet", **sides, **numbers, t=["1", None, "u"])
    for file in (path, parquet):
        more = read_bitext(file, scol="de", tcol="en", more=["i", "f", "b", "t"]).more
        assert [(int(i), float(f), b, t) for i, f, b, t in more] == [
            (3, 0.1, "1", "1"),
            (-1, 1e-7, "0", ""),
            (0, 2.0, "1", "u"),
        ]
        for key in ("i", "f", "b"):  # a sentence is text
            with pytest.raises(CorpusError, match="not text"):
                read_bitext(file, scol="de", tcol=key)
        with pytest.raises(CorpusError, match="'nowhere'"):
            read_bitext(file, scol="de", tcol="en", more=["nowhere"])
    listed = put(tmp_path / "b.jsonl", '{"de": "a", "en": "b", "s": [1]}\n')
    with pytest.raises(CorpusError, match="'s' is list, not text"):
        read_bitext(listed, scol="de", tcol="en", more=["s"])


def test_more_columns_need_one_file(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="column 'score' is asked for.* in one tsv"):
        read_bitext(*two(tmp_path, "a\n", "x\n"), more=["score"])


def test_bitext_of_one_sided_file(tmp_path: Path) -> None:
    for format in ("plain", "bucc"):
        with pytest.raises(CorpusError, match="one side"):
            read_bitext(put(tmp_path / "a", "a\tb\n"), format=format)


def test_bitext_of_two_files_with_columns(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tsv", "de\tx\na\t1\nb\t2\n")
    target = put(tmp_path / "b.tsv", "en\nx\ny\n")
    bitext = read_bitext(source, target, header=True)
    assert bitext.target == ["x", "y"] and bitext.lines.tolist() == [2, 3]
    jsonl = put(tmp_path / "c.jsonl", '{"text": "x"}\n{"text": "y"}\n')
    assert read_bitext(source, jsonl, header=True).target == ["x", "y"]
    parquet = table(tmp_path / "c.parquet", text=["x", "y", "z"])
    assert read_bitext(source, parquet).source == ["de", "a", "b"]
    with pytest.raises(CorpusError, match="has 3 lines but .* has 2"):
        read_bitext(parquet, put(tmp_path / "d.txt", "x\ny\n"))


def test_a_file_that_changes_between_count_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = two(tmp_path, "a\nb\n", "x\ny\n")
    real, opened = open, []

    def shrinking(path: Any, *arguments: Any, **named: Any) -> Any:
        opened.append(path)
        if len(opened) == 4:  # two openings to count, the third and fourth to read
            put(paths[1], "x\n")
        return real(path, *arguments, **named)

    monkeypatch.setattr("miner.records.open", shrinking, raising=False)
    with pytest.raises(CorpusError, match="changed while it was read: 2 lines"):
        read_bitext(*paths)


@QUICK
@given(
    rows=st.lists(st.sampled_from(["a\tx", "b\ty", "\tz", "", "c\t ", "\udcff\tx"]), max_size=12),
    block=st.integers(1, 5),
)
def test_blocks_are_the_whole(tmp_path: Path, rows: list[str], block: int) -> None:
    data = "".join(f"{row}\n" for row in rows).encode("utf-8", "surrogateescape")
    path = put(tmp_path / "a.tsv", data)
    whole = read_bitext(path, on_error="skip")
    blocks = list(stream_bitext(path, on_error="skip", block=block))
    assert all(len(one) == block for one in blocks[:-1]) and len(blocks[-1]) <= block
    assert len(blocks) == 1 or blocks[-1].records
    assert [text for one in blocks for text in one.source] == whole.source
    assert [text for one in blocks for text in one.target] == whole.target
    assert [line for one in blocks for line in one.lines.tolist()] == whole.lines.tolist()
    for one in blocks:
        assert one.records == len(one) + one.empty + one.undecodable
    assert tuple(np.sum([counts(one) for one in blocks], axis=0)) == counts(whole)


def test_blocks_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", "a\tx\t1\nb\ty\t2\nonly one\n")
    blocks = stream_bitext(path, more=[3], block=2)
    assert next(blocks).more == [("1",), ("2",)]
    with pytest.raises(CorpusError, match="line 3: column 3"):
        next(blocks)
    with pytest.raises(ValueError, match="block is 0"):
        next(stream_bitext(path, block=0))


def test_scores() -> None:
    found = parse_scores(["1", " -.5e1 ", "inf"], "a.tsv", LINES)
    assert found.dtype == np.float64 and found.tolist() == [1.0, -5.0, np.inf]
    assert len(parse_scores([], "a.tsv", LINES[:0])) == 0


@pytest.mark.parametrize("text", ["", "x", "nan", "NaN", "1,5", "0x1"])
def test_what_is_no_score(text: str) -> None:
    with pytest.raises(CorpusError, match=r"^a\.tsv, line 5: the score .* is no number"):
        parse_scores(["1", text, "2"], "a.tsv", LINES)


# --- output ---------------------------------------------------------------------------------


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
    assert drain(Reader(path, format="plain"))[:2] == ["ä\u2028\x85b", "c"]
    monkeypatch.setattr("time.time", lambda: 1e9)
    again = tmp_path / f"again.tsv{suffix}"
    with open_output(again) as out:
        out.write(text)
    assert again.read_bytes() == first, "the same text is the same file"
    with open_output(path, binary=True) as out:
        out.write(b"a\xff\r\nb")
    assert drain(Reader(path, format="plain", on_error="replace")) == ["a\ufffd", "b"]


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("old", [None, b"old content"])
def test_failure_leaves_everything_as_it_was(
    tmp_path: Path, suffix: str, failure: type[BaseException], old: bytes | None
) -> None:
    path = tmp_path / f"out{suffix}"
    if old is not None:
        put(path, old)
    with pytest.raises(failure), open_output(path) as out:
        out.write("half of it\n" * 10_000)
        raise failure
    assert os.listdir(tmp_path) == ([] if old is None else [path.name])
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_disk_full_while_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    real = open

    def opener(path: Any, *arguments: Any, **named: Any) -> Any:
        # The inner layer is opened on a descriptor: that one is the full disk.
        if isinstance(path, int):
            return io.BufferedWriter(Full())
        return real(path, *arguments, **named)

    path = put(tmp_path / f"out{suffix}", b"old")
    monkeypatch.setattr("miner.files.open", opener, raising=False)
    for size in (1, 1_000_000):  # noticed at the end, noticed at once
        with (
            pytest.raises(ResourceError, match="no space left; free some") as caught,
            open_output(path) as out,
        ):
            out.write(os.urandom(size).hex())
        assert str(path) in message(caught) and "partial" not in message(caught)
        assert os.listdir(tmp_path) == [path.name] and path.read_bytes() == b"old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_disk_full_at_the_last_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, full)
    with pytest.raises(ResourceError, match="no space left"), open_output(tmp_path / "out") as out:
        out.write("a")
    assert os.listdir(tmp_path) == []


def test_bytes_are_synced_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, int]] = []
    sync, rename = os.fsync, os.replace

    def fsync(fd: int) -> None:
        seen.append(("fsync", os.fstat(fd).st_size))
        sync(fd)

    def replace(old: str, new: str) -> None:
        seen.append(("replace", os.stat(old).st_size))
        rename(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    for suffix in COMPRESS:
        seen.clear()
        path = tmp_path / f"out{suffix}"
        with open_output(path) as out:
            out.write("text\n")
        size = path.stat().st_size
        assert seen == [("fsync", size), ("replace", size)]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path, expected in (
        (tmp_path / "no" / "out", "no such directory; create it"),
        (tmp_path, "is a directory"),
        (put(tmp_path / "file", "") / "out", "a part of the path is a file"),
    ):
        with pytest.raises(ResourceError, match=expected) as caught, open_output(path):
            raise AssertionError("the body must not run")
        assert message(caught).startswith(f"{path}: cannot be written: ")


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
    if hasattr(os, "mkfifo"):  # stands for /dev/null, which a failing test would destroy
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        got: list[bytes] = []
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
        reader.start()
        with open_output(pipe) as out:
            out.write("through")
        reader.join(5)
        assert got == [b"through"] and pipe.is_fifo()


class Stdout(io.BytesIO):
    """Standard output's bytes, which nobody may close."""

    failure: BaseException | None = None

    def write(self, data: Any) -> int:
        if self.failure:
            raise self.failure
        return super().write(data)


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


def test_stdout_that_is_only_text(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    with open_output("-") as out:
        out.write("ä")
    assert stdout.getvalue() == "ä"


def test_one_line() -> None:
    assert one_line("a\tb\r\nc\u2028d\x85\x0be") == "a b  c\u2028d\x85\x0be"


@QUICK
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_one_line_is_one_cell_of_one_line(text: str) -> None:
    line = one_line(text)
    assert len(line) == len(text) and not set("\t\r\n") & set(line)


def test_formats_are_the_documented_five() -> None:
    assert FORMATS == ("plain", "bucc", "tsv", "jsonl", "parquet")
