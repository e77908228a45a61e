"""miner.text.corpus: every line of every format is accounted for."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.texts import COMPRESS, ODD, QUICK, TEXT, drain, feed, put, tallies

from miner.errors import CorpusError
from miner.text.corpus import CorpusReader, read
from miner.text.invisible import visible


@QUICK
@example(sentences=ODD, ending="\n", suffix="")
@example(sentences=ODD, ending="\r\n", suffix=".gz")
@given(
    sentences=st.lists(TEXT, max_size=12),
    ending=st.sampled_from(["\n", "\r\n"]),
    suffix=st.sampled_from(list(COMPRESS)),
)
def test_any_sentence_survives(tmp_path, sentences, ending, suffix):
    # A BOM is dropped once, a U+FEFF after it is text; of \r\r\n the second \r is dropped.
    data = "\ufeff" + "".join(sentence + ending for sentence in sentences)
    path = put(tmp_path / f"a.txt{suffix}", COMPRESS[suffix](data.encode()))
    expected = [s[:-1] if ending == "\n" and s.endswith("\r") else s for s in sentences]
    kept = [(number, s) for number, s in enumerate(expected, 1) if visible(s).strip()]
    reader = CorpusReader(path, block=3)
    blocks = list(reader)
    assert [s for b in blocks for s in b.sentences] == [s for _, s in kept]
    assert [int(n) for b in blocks for n in b.lines] == [n for n, _ in kept]
    assert [i for b in blocks for i in b.ids] == [str(n) for n, _ in kept]
    assert tallies(reader) == (len(sentences), len(sentences) - len(kept), 0, 0)
    assert all(0 < len(b) <= 3 for b in blocks)


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"", 0), (b"\xef\xbb\xbf", 0), (b"\n", 1), (b"\n\r\n \n\xe2\x80\xa8\n\t", 5)],
)
def test_files_without_text(tmp_path: Path, suffix: str, data: bytes, lines: int) -> None:
    for format in ("plain", "tsv", "jsonl", "bucc"):
        reader = CorpusReader(put(tmp_path / f"a{suffix}", COMPRESS[suffix](data)), format=format)
        assert list(reader) == []
        assert tallies(reader) == (lines, lines, 0, 0)
        assert len(read(reader.origin, format=format)) == 0


def test_every_iteration_counts_anew(tmp_path: Path) -> None:
    reader = CorpusReader(put(tmp_path / "a", "a\n\nb\n"))
    assert drain(reader) == drain(reader) == ["a", "b"]
    assert tallies(reader) == (3, 1, 0, 0)


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
        CorpusReader(put(tmp_path / "a", "a"), **arguments)


BAD = "ü\n".encode() + b"ab\xe9c\n\nzuletzt \xed\xa0\x80\n"


def test_bad_bytes(tmp_path: Path) -> None:
    path = put(tmp_path / "a.txt", BAD)
    with pytest.raises(CorpusError, match="line 2, byte offset 2: 0xE9 .*iconv") as caught:
        read(path)
    assert str(path) in str(caught.value)
    replacing, skipping = (CorpusReader(path, on_error=action) for action in ("replace", "skip"))
    assert drain(replacing) == ["ü", "ab\ufffdc", "zuletzt \ufffd\ufffd\ufffd"]
    assert drain(skipping) == ["ü"] and next(iter(skipping)).lines.tolist() == [1]
    list(skipping)
    assert tallies(replacing) == (4, 1, 0, 2) and tallies(skipping) == (4, 1, 2, 0)


def test_bad_bytes_in_a_header(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"caf\xe9\tsatz\nx\tein\n")
    with pytest.raises(CorpusError, match="line 1, byte offset 3"):
        read(path, column="satz", header=True)
    for mode in ("replace", "skip"):
        reader = CorpusReader(path, column="satz", header=True, on_error=mode)
        assert drain(reader) == ["ein"]
        assert tallies(reader) == (1, 0, 0, 0)
