"""miner.text.rows: raw rows are returned unchanged, whatever their bytes."""

import os
import threading
from pathlib import Path

import pytest
from support.raw_lines import put

from miner.errors import CorpusError
from miner.text.formats import BitextFormat
from miner.text.layout import READ, REPLACED, UNREADABLE
from miner.text.rows import Rows


def raws(rows: Rows, size: int = 3) -> list[tuple[bytes, ...]]:
    return [raw for block in rows.blocks(size) for raw in block.raw]


def texts(rows: Rows) -> list[tuple[str, str, int]]:
    found = []
    for block in rows.blocks(3):
        some = rows.layout.texts(block)
        found += list(zip(some.source, some.target, some.state.tolist(), strict=True))
    return found


def test_pieces(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfs\tt\n\xef\xbb\xbfa\tb\r\n" + b"c\td\r\r\n\n" * 2 + b"last\tline"
    rows = Rows(put(tmp_path / "text.tsv", data), bitext_format=BitextFormat(header=True))
    assert rows.cut(4, tmp_path) == 2
    pieces = [rows.piece(tmp_path, number, 4) for number in range(2)]
    assert [raw for piece in pieces for raw in raws(piece)] == raws(rows)
    assert [piece.head for piece in pieces] == [rows.head, None]
    assert [block.first for piece in pieces for block in piece.blocks(3)] == [2, 5, 6]
    place = tmp_path / "whole"
    place.mkdir()
    assert rows.cut(6, place) == 1 and not list(place.iterdir())


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"")
    for named in ({}, {"header": True}, {"header": True, "source_column": "source"}):
        rows = Rows(path, bitext_format=BitextFormat(**named))
        assert rows.head is None and raws(rows) == [] and rows.counted() == 0
    header = Rows(
        put(tmp_path / "b.tsv", b"source\ttarget"),
        bitext_format=BitextFormat(header=True, source_column="source"),
    )
    assert header.head == b"source\ttarget" and header.counted() == 0
    both = Rows(path, path)
    assert both.count == 0 and raws(both) == []


@pytest.mark.parametrize(
    ("kind", "line", "words"),
    [
        ("tsv", b"a\tgr\xfcn", "byte offset 4: 0xFC is not UTF-8"),
        ("tsv", b"only", "column 2 is asked for, 1 found"),
        ("jsonl", b'{"source": "a"', "broken JSON"),
        ("jsonl", b'{"source": "a"}', "key 'target' is missing"),
        ("jsonl", b'{"source": "a", "target": 3}', "key 'target' is int, not text"),
        ("jsonl", b'["source", "target"]', "not a JSON object"),
        ("jsonl", b'{"source": "\\ud800", "target": "b"}', "half a surrogate pair"),
        ("jsonl", b"[" * 100_000, "broken JSON"),
    ],
)
def test_unreadable_rows(tmp_path: Path, kind: str, line: bytes, words: str) -> None:
    good = b"a\tb" if kind == "tsv" else b'{"source": "a", "target": "b"}'
    path = put(tmp_path / "text", b"\n".join([good, line, b"", good]))
    rows = Rows(path, bitext_format=BitextFormat(format=kind))
    with pytest.raises(CorpusError, match=words) as caught:
        texts(rows)
    assert str(caught.value).startswith(f"{path}, line 2")
    skipping = Rows(path, bitext_format=BitextFormat(format=kind, on_error="skip"))
    assert texts(skipping) == [
        ("a", "b", READ), ("", "", UNREADABLE), ("", "", READ), ("a", "b", READ)
    ]  # fmt: skip
    replacing = Rows(path, bitext_format=BitextFormat(format=kind, on_error="replace"))
    if b"\xfc" in line or b"ud800" in line:
        source, target, state = texts(replacing)[1]
        assert "\ufffd" in source + target and state == REPLACED
    else:  # no value to replace a column by
        with pytest.raises(CorpusError, match=words):
            texts(replacing)


def test_impossible_requests_are_refused_at_once(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"source\ttarget\na\tb\n")
    other = put(tmp_path / "b.tsv", b"a\n")
    for named, words in (
        ({"source_column": 0}, "columns count from 1"),
        ({"source_column": "source"}, "pass --header"),
        ({"source_column": "Quelle", "header": True}, "there are: source, target"),
        ({"format": "plain"}, "one side of a bitext"),
        ({"format": "parquet"}, "cannot be written back"),
        ({"format": "bucc"}, "cannot be written back"),
    ):
        with pytest.raises(CorpusError, match=words):
            Rows(path, bitext_format=BitextFormat(**named), rewritable=True)
    header = BitextFormat(header=True)
    for target, layout, more, words in (
        (None, header, ["score"], "no column 'score'"),
        (other, BitextFormat(), [], "2 lines but .* 1;"),
        (path, header, [], "no header"),
        (path, BitextFormat(), [3], "needs both sides in one"),
        (tmp_path / "missing", BitextFormat(), [], "missing: cannot be read: No such file"),
    ):
        with pytest.raises(CorpusError, match=words):
            Rows(path, target, layout, more=more, rewritable=True)
    for missing in (tmp_path / "missing.tsv", tmp_path):
        with pytest.raises(CorpusError, match="cannot be read"):
            Rows(missing)


@pytest.mark.parametrize("change", [b"a\tb\n", b"a\tb\n" * 9, b""])
def test_a_file_that_changes_while_it_is_read(tmp_path: Path, change: bytes) -> None:
    path = put(tmp_path / "text.tsv", b"a\tb\n" * 4)
    rows = Rows(path)
    assert len(raws(rows)) == 4
    path.write_bytes(change)
    with pytest.raises(CorpusError, match="changed while it was read"):
        raws(rows)
    sides = [put(tmp_path / name, b"a\n" * 4) for name in ("de", "en")]
    both = Rows(*sides)
    sides[0].write_bytes(b"a\n")
    with pytest.raises(CorpusError, match="changed while it was read"):
        raws(both)


@pytest.mark.parametrize("header", [False, True])
def test_a_pipe_is_read_once(tmp_path: Path, header: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    data = b"s\tt\n" * header + b"a\tb\nc\td\n"
    writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
    writer.start()
    rows = Rows(pipe, bitext_format=BitextFormat(header=header))
    found = texts(rows)
    writer.join()
    assert found == [("a", "b", READ), ("c", "d", READ)] and rows.count == 2
