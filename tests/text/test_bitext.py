"""miner.text.bitext: two sides stay aligned, from two files or one."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import LINES, QUICK, TEXT, feed, put, table

from miner.errors import CorpusError
from miner.text.bitext import Bitext, parse_scores, read_bitext, stream_bitext
from miner.text.formats import BitextFormat
from miner.text.invisible import visible

DE_EN = BitextFormat("de", "en")
HEADER = BitextFormat(header=True)
SKIP, REPLACE = BitextFormat(on_error="skip"), BitextFormat(on_error="replace")


def two(tmp_path: Path, source: bytes | str, target: bytes | str) -> tuple[Path, Path]:
    return put(tmp_path / "a.de", source), put(tmp_path / "a.en", target)


def counts(bitext: Bitext) -> tuple[int, int, int, int]:
    return bitext.records, bitext.empty, bitext.undecodable, bitext.replaced


@QUICK
@given(rows=st.lists(st.tuples(TEXT, TEXT), max_size=10))
def test_two_files_stay_aligned(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    sides = ["\ufeff" + "".join(row[side] + "\r\n" for row in rows) for side in (0, 1)]
    bitext = read_bitext(*two(tmp_path, *sides))
    kept = [n for n, (a, b) in enumerate(rows) if visible(a).strip() and visible(b).strip()]
    assert list(zip(bitext.source, bitext.target, strict=True)) == [rows[n] for n in kept]
    assert bitext.lines.tolist() == [n + 1 for n in kept] and bitext.lines.dtype == np.int64
    assert counts(bitext) == (len(rows), len(rows) - len(kept), 0, 0)
    assert len(bitext) == len(kept)


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


@pytest.mark.parametrize(
    ("name", "content", "columns", "expected"),
    [
        ("a.tsv", "de\ten\tx\na\tb\t1\n\tc\t2\n\nd\t \t3\ne\tf\n", ("en", "de", True),
         (["b", "f"], ["a", "e"], [2, 6], (5, 3, 0, 0))),
        ("a.tsv", "a\tb\n", (), (["a"], ["b"], [1], (1, 0, 0, 0))),
        # By position, even if header names are numbers; and by name.
        ("a.tsv", "0\t1\na\tb\n", (None, None, True), (["a"], ["b"], [2], (1, 0, 0, 0))),
        ("a.tsv", "0\t1\na\tb\n", ("1", "0", True), (["b"], ["a"], [2], (1, 0, 0, 0))),
        ("a.gz", "a\tb\n", (2, 1), (["b"], ["a"], [1], (1, 0, 0, 0))),
        ("a.jsonl", '{"de": "a", "en": "b"}\n{"de": "", "en": "c"}\n', ("de", "en"),
         (["a"], ["b"], [1], (2, 1, 0, 0))),
        ("a.jsonl", '{"target": "b", "source": "a"}\n', (), (["a"], ["b"], [1], (1, 0, 0, 0))),
        ("a.parquet", {"en": ["b", "c"], "de": ["a", None]}, ("de", "en"),
         (["a"], ["b"], [1], (2, 1, 0, 0))),
        ("a.parquet", {"target": ["b"], "source": ["a"]}, (), (["a"], ["b"], [1], (1, 0, 0, 0))),
    ],
    ids=str,
)  # fmt: skip
def test_columns_of_one_file(tmp_path, name, content, columns, expected):
    path = tmp_path / name
    if isinstance(content, dict):
        table(path, **content)
    else:
        put(path, gzip.compress(content.encode()) if name.endswith("gz") else content)
    found = read_bitext(path, None, BitextFormat(*columns))
    assert (found.source, found.target, found.lines.tolist(), counts(found)) == expected


def test_bitext_with_more_columns(tmp_path: Path) -> None:
    """Further columns of kept rows are unchanged."""
    path = put(tmp_path / "a.tsv", "de\ten\tx\ty\na\tb\t1\t\n\tc\t2\t\n\ne\tf\t .5 \tz\n")
    bitext = read_bitext(path, bitext_format=HEADER, more=[3, "y"])
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
    assert read_bitext(broken, bitext_format=SKIP, more=[3]).undecodable == 1
    assert read_bitext(broken, bitext_format=REPLACE, more=[3]).more == [("\ufffd",)]


def test_more_columns_may_be_numbers(tmp_path: Path) -> None:
    rows = {"de": ["a", "b"], "en": ["x", "y"], "i": [3, -1], "f": [0.1, 1e-7], "b": [True, False]}
    lines = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
    path = put(tmp_path / "a.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    for file in (path, table(tmp_path / "a.parquet", **rows)):
        more = read_bitext(file, bitext_format=DE_EN, more=["i", "f", "b"]).more
        assert [(int(i), float(f), b) for i, f, b in more] == [(3, 0.1, "1"), (-1, 1e-7, "0")]
        for key in ("i", "f", "b"):  # sentences must be strings
            with pytest.raises(CorpusError, match="not text"):
                read_bitext(file, bitext_format=BitextFormat("de", key))
        with pytest.raises(CorpusError, match="'nowhere'"):
            read_bitext(file, bitext_format=DE_EN, more=["nowhere"])
    listed = put(tmp_path / "b.jsonl", '{"de": "a", "en": "b", "s": [1]}\n')
    with pytest.raises(CorpusError, match="'s' is list, not text"):
        read_bitext(listed, bitext_format=DE_EN, more=["s"])


def test_bitext_of_two_files_with_columns(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tsv", "de\tx\na\t1\nb\t2\n")
    target = put(tmp_path / "b.tsv", "en\nx\ny\n")
    bitext = read_bitext(source, target, HEADER)
    assert bitext.target == ["x", "y"] and bitext.lines.tolist() == [2, 3]
    jsonl = put(tmp_path / "c.jsonl", '{"text": "x"}\n{"text": "y"}\n')
    assert read_bitext(source, jsonl, HEADER).target == ["x", "y"]
    parquet = table(tmp_path / "c.parquet", text=["x", "y", "z"])
    assert read_bitext(source, parquet).source == ["de", "a", "b"]
    with pytest.raises(CorpusError, match="has 3 lines but .* has 2"):
        read_bitext(parquet, put(tmp_path / "d.txt", "x\ny\n"))


@QUICK
@given(
    rows=st.lists(st.sampled_from(["a\tx", "b\ty", "\tz", "", "c\t ", "\udcff\tx"]), max_size=12),
    block=st.integers(1, 5),
)
def test_blocks_add_up_to_the_whole(tmp_path: Path, rows: list[str], block: int) -> None:
    data = "".join(f"{row}\n" for row in rows).encode("utf-8", "surrogateescape")
    path = put(tmp_path / "a.tsv", data)
    whole = read_bitext(path, bitext_format=SKIP)
    blocks = list(stream_bitext(path, bitext_format=SKIP, block=block))
    assert [one.records for one in blocks[:-1]] == [block] * (len(blocks) - 1)
    assert len(blocks) == 1 or 1 <= blocks[-1].records <= block
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
def test_text_that_is_no_score(text: str) -> None:
    with pytest.raises(CorpusError, match=r"^a\.tsv, line 5: the score .* is no number"):
        parse_scores(["1", text, "2"], "a.tsv", LINES)
