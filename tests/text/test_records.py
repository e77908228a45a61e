"""miner.text.records: columns and formats, and faults with their lines."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import QUICK, TEXT, Pipe, drain, feed, put, table, tallies

from miner.errors import CorpusError, DependencyError
from miner.text.corpus import CorpusReader, read
from miner.text.invisible import visible


def test_bucc(tmp_path: Path) -> None:
    path = put(tmp_path / "a", "de-1\tein\tTab\nde-2\t \nde-1\tvier\n\tx\n")
    reader = CorpusReader(path, format="bucc")
    (block,) = reader
    assert block.ids == ["de-1", "de-1", "4"] and block.sentences == ["ein\tTab", "vier", "x"]
    assert block.lines.tolist() == [1, 3, 4]
    assert tallies(reader) == (4, 1, 0, 0)
    put(path, "de-1\tein\nde-2 zwei\n")
    with pytest.raises(CorpusError, match=f"^{path}, line 2: no tab"):
        list(reader)


def test_tsv_columns_by_name(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", "\ufeffkey\ttext\nk\tein\nl\t\n")
    reader = CorpusReader(path, column="text", id_column="key", header=True)
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
        ({"format": "plain", "column": 2}, ["plain", "tsv"]),
        ({"format": "bucc", "header": True}, ["bucc", "tsv"]),
    ],
)
def test_columns_that_are_not_there(tmp_path, arguments, expected):
    path = put(tmp_path / "a.tsv", "key\ttext\nk\tein\n")
    with pytest.raises(CorpusError) as caught:
        read(path, **arguments)
    assert all(part in str(caught.value) for part in [str(path), *expected]), str(caught.value)


@QUICK
@given(sentences=st.lists(TEXT | st.just("a\nb"), max_size=8), ascii=st.booleans())
def test_jsonl_holds_any_sentence(tmp_path: Path, sentences: list[str], ascii: bool) -> None:
    lines = [
        json.dumps({"id": f"i{n}", "text": s}, ensure_ascii=ascii) + "\n"
        for n, s in enumerate(sentences)
    ]
    reader = CorpusReader(put(tmp_path / "a.ndjson", "".join(lines)))
    assert drain(reader) == [s for s in sentences if visible(s).strip()]
    assert reader.lines == len(sentences)
    assert [i for b in reader for i in b.ids] == [
        f"i{n}" for n, s in enumerate(sentences) if visible(s).strip()
    ]


def test_jsonl_keys(tmp_path: Path) -> None:
    rows = [{"text": "a", "de": "x", "n": 7}, {"text": "", "de": "y", "n": "q"}]
    path = put(tmp_path / "a.jsonl", "\n\n".join(map(json.dumps, rows)))
    reader = CorpusReader(path)
    (block,) = reader
    assert (block.ids, block.sentences) == (["1"], ["a"])
    assert tallies(reader) == (3, 2, 0, 0), "a blank line and an empty text"
    block = read(path, column="de", id_column="n")
    assert (block.ids, block.sentences, block.lines.tolist()) == (["7", "q"], ["x", "y"], [1, 3])
    assert read(put(path, '{"text": "a", "id": null}')).ids == ["1"]
    with pytest.raises(CorpusError, match="'key' is missing"):
        read(path, id_column="key")
    put(path, '{"a": {"de": "x"}}\n{"a": {"de": null}}\n{"a": {"de": "y"}}\n')
    assert read(path, column="a.de").lines.tolist() == [1, 3], "null is empty, as in Parquet"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"txt": "a", "n": 1}', "'text' is missing; there are: txt, n"),
        ('{"a": {"de": "x"}, "n": 1}', "'text' is missing; there are: a.de, n"),
        ('{"text": "a", "id": [1]}', "list, not text"),
        ('{"text": "a", "id": true}', "bool, not text"),
    ],
)
def test_broken_jsonl(tmp_path: Path, line: str, expected: str) -> None:
    path = put(tmp_path / "a.jsonl", '{"text": "fine"}\n' + line + "\n")
    with pytest.raises(CorpusError) as caught:
        read(path)
    assert f"{path}, line 2: " in str(caught.value) and expected in str(caught.value)


def test_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a\u2028b", None, "", "c\nd", "é", "f", "g"]
    path = table(tmp_path / "a.parquet", n=list(range(7)), text=texts, id=["x", *"yzabc", None])
    reader = CorpusReader(path, block=2)
    blocks = list(reader)
    assert [len(b) for b in blocks] == [1, 1, 2, 1]
    assert drain(reader) == ["a\u2028b", "c\nd", "é", "f", "g"]
    assert [i for b in blocks for i in b.ids] == ["x", "a", "b", "c", "7"]
    assert [int(n) for b in blocks for n in b.lines] == [1, 4, 5, 6, 7]
    assert tallies(reader) == (7, 2, 0, 0)
    assert read(path, id_column="n").ids == ["0", "3", "4", "5", "6"]
    feed(monkeypatch, path.read_bytes(), Pipe)
    assert read("-", format="parquet").sentences == drain(reader)


def test_parquet_text_types(tmp_path: Path) -> None:
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
        assert str(path) in str(caught.value)
    with pytest.raises(CorpusError, match="decompress"):
        read(put(tmp_path / "a.parquet.gz", gzip.compress(whole)))


def test_no_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DependencyError, match=r'pip install "bitext-miner\[parquet\]"'):
        read(put(tmp_path / "a.parquet", b""))


def test_parquet_with_any_byte_of_its_directory_damaged(tmp_path: Path) -> None:
    """Some damages crash pyarrow when it opens the metadata of a column."""
    whole = table(tmp_path / "a.parquet", text=["Guten Tag.", None, "Danke."]).read_bytes()
    code = """if True:
        import sys
        from miner.errors import MinerError
        from miner.text.corpus import read
        path, whole = sys.argv[1], open(sys.argv[1], "rb").read()
        for place in range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"), len(whole)):
            for step in (1, 128):
                byte = bytes([(whole[place] + step) % 256])
                open(path, "wb").write(whole[:place] + byte + whole[place + 1 :])
                try:
                    read(path)
                except MinerError:
                    pass
    """
    damaged = put(tmp_path / "b.parquet", whole)
    done = subprocess.run([sys.executable, "-c", code, damaged], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_parquet_with_a_giant_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path / "a.parquet", text=["x" * 5000])
    assert len(read(path).sentences) == 1
    monkeypatch.setattr("miner.text.parquet.MOST", 4096)
    with pytest.raises(CorpusError, match="has cells longer"):
        read(path)
