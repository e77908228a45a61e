"""miner.text.layout and formats: rows with replaced texts, suffixes of outputs."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.raw_lines import put

from miner.errors import CorpusError
from miner.text.formats import BitextFormat, check_suffix, file_format
from miner.text.layout import Block
from miner.text.rows import Rows


def with_texts(line: bytes, source: str, target: str, path: Path, **named) -> bytes:
    layout = Rows(path, bitext_format=BitextFormat(**named)).layout
    return layout.with_texts((line,), source, target)[0]


def test_other_texts_leave_other_columns_as_they_are(tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"id\tt\ts\tmore\n1\ta\tb\t 0.50\n")
    named = {"path": path, "header": True, "source_column": "s", "target_column": "t"}
    line = "1\tübel\tb\t 0.50 \r\u2028".encode()
    assert with_texts(line, "B", "ü\tA\n", **named) == "1\tü A \tB\t 0.50 \r\u2028".encode()
    assert with_texts(line, "b", "übel", **named) == line
    assert with_texts(b" \xff\t\t", " \ufffd", "", path=path) == " \ufffd\t\t".encode()
    assert with_texts(b" \t ", "", "", path=path) == b" \t "  # a blank row has no columns
    assert with_texts(b"", "", "", **named) == b""


def test_other_texts_of_json(tmp_path: Path) -> None:
    """The rest is unchanged: numbers, duplicate keys, escapes and white space."""
    named = {"path": put(tmp_path / "a.jsonl", b'{"source": "a", "target": "b"}\n')}
    rest = rb'{ "target":"b", "n": [1.10, 1e400, -0],"n":1.0, "more": "\ud800\/","source" :"%s" } '
    line = rest % rb"a\u00e4"
    assert with_texts(line, "a\u00e4", "b", **named) == line
    assert with_texts(line, 'new\n"\u00df', "b", **named) == rest % 'new\\n\\"\u00df'.encode()
    swapped = with_texts(b'{"source": "x", "target": "y", "source": "z"}', "a", "b", **named)
    assert swapped == b'{"source": "x", "target": "b", "source": "a"}'
    assert with_texts(b"", "", "", **named) == b""


json_texts = st.dictionaries(st.text(), st.none() | st.floats() | st.text() | st.lists(st.text()))


@given(json_texts, st.text(), st.text(), st.booleans(), st.sampled_from([None, 1]))
def test_only_the_texts_of_json_change(
    tmp_path_factory, others, source, target, ascii_only, indent
) -> None:
    path = tmp_path_factory.getbasetemp() / "texts.jsonl"
    path.write_bytes(b"")
    layout = Rows(path).layout
    record = {**others, "source": "old", "target": "old"}
    text = json.dumps(record, ensure_ascii=ascii_only, indent=indent).replace("\n", " ")
    line = text.encode("utf-8", "replace")
    (out,) = layout.with_texts((line,), source, target)
    expected = json.loads(line) | {"source": source, "target": target}
    assert repr(json.loads(out)) == repr(expected)  # by repr, since NaN differs from itself
    assert layout.with_texts((out,), "old", "old") == (line,)


def test_other_texts_of_two_files_of_different_formats(tmp_path: Path) -> None:
    plain, table = put(tmp_path / "a", b"x\ty\n"), put(tmp_path / "b.tsv", b"b\tmore\n")
    layout = Rows(plain, table).layout
    raw = (b"x\ty", b"b\tmore")
    assert layout.texts(Block(1, [raw])).source == ["x\ty"]
    assert layout.with_texts(raw, "x\ty", "b") == raw
    assert layout.with_texts(raw, "x\tz", "c") == (b"x z", b"c\tmore")


def test_more_cells(tmp_path: Path) -> None:
    cells = {"filter": "a\tb", "value": 0.1234567}
    layout = Rows(put(tmp_path / "a.tsv", b"a\tb\n")).layout
    assert layout.with_cells((b"a\tgr\xfcn\t",), cells) == b"a\tgr\xfcn\t\ta b\t0.123457"
    assert layout.with_cells((b"",), {"value": 3}) == b"\t3"
    assert layout.with_cells((b"a",), {"value": float("inf")}) == b"a\tinf"
    two = Rows(put(tmp_path / "a", b"a\n"), put(tmp_path / "b", b"b\n")).layout
    assert two.with_cells((b"a\tb", b"c"), {"value": 3}) == b"a b\tc\t3"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.booleans())
def test_more_keys_leave_the_line_as_it_stands(tmp_path_factory, value, ascii_only) -> None:
    path = tmp_path_factory.getbasetemp() / "keys.jsonl"
    path.write_bytes(b"")
    layout = Rows(path).layout
    text = json.dumps(value, ensure_ascii=ascii_only)
    line = text.encode("utf-8", "replace")
    out = layout.with_cells((b" " + line + b" ",), {"filter": "length", "value": float("inf")})
    found = json.loads(out)
    assert found["filter"] == "length" and found["value"] is None
    if isinstance(value, dict):
        assert out.startswith(b" " + line[:-1])
    else:
        assert found["line"] == f" {line.decode()} "


keys = st.sampled_from(["source", "target", "n", 'a"', "value", "value_2"])


@given(st.lists(st.tuples(keys, st.text() | st.floats())), st.booleans(), st.booleans())
def test_rows_by_name_are_the_same_unparsed(tmp_path_factory, pairs, ascii_only, scored) -> None:
    path = tmp_path_factory.getbasetemp() / "named.jsonl"
    path.write_bytes(b"")
    layout = Rows(path).layout
    members = [("source", "x\\y"), ("target", '"'), *pairs]
    text = ", ".join(
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=ascii_only)}" for key, value in members
    )
    line = f"{{{text}}}".encode("utf-8", "replace")
    found = json.loads(layout.named_line((line,), {"value": float("nan")} if scored else {}))
    expected = json.loads(line)
    if scored:
        free = (key for key in ("value", "value_2", "value_3") if key not in expected)
        expected[next(free)] = None
    assert [*found.items()][:2] == [(side, expected[side]) for side in ("source", "target")]
    assert repr(found) == repr(expected)  # by repr, since NaN differs from itself


def test_lines_that_are_no_rows_by_name_are_parsed(tmp_path: Path) -> None:
    layout = Rows(put(tmp_path / "a.jsonl", b"")).layout
    row = {"source": "a", "target": "b"}
    for line, more in (
        (b'{"target": "b", "source": "a"}', {}),
        (b'{"source": "a", "target": "b", "n": [1]}', {"n": [1]}),
        (b'{"source": "x", "target": "b", "source": "a"}', {}),
        (b'{"source": "a", "target": "b"} ', {}),
        (b'{"source": "a", "target": "b", "c": "\\ud800"}', {"c": "\ufffd"}),
        (b'{"source": "a", "target": "b", "c": "\xff"}', {"c": "\ufffd"}),
    ):
        assert json.loads(layout.named_line((line,), {})) == row | more
    broken = b'{"source": "a", "target": "b", }'
    assert json.loads(layout.named_line((broken,), {}))["line"] == broken.decode()


def test_broken_json_is_kept_as_text(tmp_path: Path) -> None:
    layout = Rows(
        put(tmp_path / "a.jsonl", b""),
        bitext_format=BitextFormat(source_column="source", target_column="target"),
    ).layout
    for line in (
        b"",
        b'{"a": ',
        b"nonsense \xff",
        b"[[1, 2]]",
        b"[" * (10 * sys.getrecursionlimit()),
    ):
        found = json.loads(layout.with_cells((line,), {"value": 1}))
        assert found == {"line": line.decode("utf-8", "replace"), "value": 1}


GOOD = """- out dir.csv/out .hidden a.txt a.tsv a.TSV a.tsv.gz a.jsonl.zst a.ndjson a.bucc.xz a.gz
clean.de clean.en.gz clean.zh-Hant clean.pt_BR part.01 clean.2026-11-22 pairs.parquet"""
BAD = """a.csv a.CSV a.tmx a.tmx.gz a.xlsx a.zip a.tar.gz a.html a.json a.clean a.7z a.lz4
a.parquet.gz a.npy a.h5"""


@pytest.mark.parametrize("name", [*GOOD.split(), *BAD.split()])
def test_suffixes_of_outputs(name: str) -> None:
    if name in GOOD.split():
        check_suffix(name, (".parquet",))
        return
    with pytest.raises(ValueError, match=r"\.txt \.tsv .* \.parquet, .* \.gz \.bz2"):
        check_suffix(name, (".parquet",))


@pytest.mark.parametrize("name", ["a.csv", "A.CSV.gz"])
def test_comma_separated_values_are_refused(name: str) -> None:
    with pytest.raises(CorpusError, match="comma-separated .* --format tsv if tabs"):
        file_format(name)
    assert file_format(name, "tsv") == "tsv"


def test_tables_are_known_only_to_commands_that_write_them() -> None:
    with pytest.raises(ValueError, match=r"\.parquet is not written"):
        check_suffix("a.parquet")
