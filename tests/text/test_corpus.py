"""Tests of miner.text.corpus: every line of every format is accounted for."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.texts import (
    COMPRESS,
    ODD,
    QUICK,
    TEXT,
    drain,
    feed,
    put,
    tallies,
)

from miner import errors
from miner.errors import CorpusError
from miner.text.corpus import Corpus, Reader, read
from miner.text.formats import FORMATS


@QUICK
@example(sentences=ODD, ending="\n", suffix="")
@example(sentences=ODD, ending="\r\n", suffix=".gz")
@given(
    sentences=st.lists(TEXT, max_size=12),
    ending=st.sampled_from(["\n", "\r\n"]),
    suffix=st.sampled_from(list(COMPRESS)),
)
def test_any_sentence_survives(tmp_path, sentences, ending, suffix):
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
def test_files_without_text(tmp_path: Path, suffix: str, data: bytes, lines: int) -> None:
    for format in ("plain", "tsv", "jsonl", "bucc"):
        reader = Reader(put(tmp_path / f"a{suffix}", COMPRESS[suffix](data)), format=format)
        assert list(reader) == []
        assert tallies(reader) == (lines, lines, 0, 0)
        assert len(read(reader.origin, format=format)) == 0


def test_a_line_of_a_megabyte(tmp_path: Path) -> None:
    long = "ä" * 600_000
    path = put(tmp_path / "a.gz", gzip.compress(f"{long}\nb".encode()))
    assert read(path).sentences == [long, "b"]


def test_every_iteration_counts_anew(tmp_path: Path) -> None:
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
def test_invalid_arguments(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Reader(put(tmp_path / "a", "a"), **arguments)


BAD = "ü\n".encode() + b"ab\xe9c\n\nzuletzt \xed\xa0\x80\n"


def test_bad_bytes_fail(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", BAD)
    with pytest.raises(CorpusError) as caught:
        read(path)
    text = str(caught.value)
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


def test_import_loads_no_heavy_library() -> None:
    heavy = {"pyarrow", "torch", "faiss", "h5py", "numba", "pandas"}
    # A bare package stands for miner's own, whose __init__ imports more rooms than this one.
    code = (
        "import sys, types; sys.modules['miner'] = types.ModuleType('miner');"
        "sys.modules['miner'].__path__ = [sys.argv[1]];"
        "import miner.text.corpus; print(*sys.modules)"
    )
    home = os.path.dirname(errors.__file__)
    done = subprocess.run(
        [sys.executable, "-c", code, home], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {"miner.text.corpus", "miner.errors"} <= loaded and not heavy & loaded
    others = {name for name in loaded if re.match(r"miner\.(?!text\b)", name)}
    light = ("config_fields", "errors", "libraries", "names", "text_table")
    assert others == {f"miner.{name}" for name in light}


def test_formats_are_the_documented_ones() -> None:
    tables = ["jsonl", "parquet", "arrow", "tmx", "opus", "xces"]
    assert [*FORMATS] == ["plain", "bucc", "tsv", "paracrawl", *tables]
