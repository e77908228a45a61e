"""Carried columns of mined pairs, read again from files of any format."""

import json
from pathlib import Path

import pytest

import miner
from miner.errors import CorpusError
from miner.text.output import open_output
from miner.text.write_bitext import write_bitext

KEEP = miner.Keep(default_precision=None, estimate=False)


@pytest.fixture
def texts(german: list[str], english: list[str], tmp_path: Path) -> tuple[Path, Path]:
    """Write JSONL with ids and addresses, and TSV with a header, both with empty lines."""
    source, target = tmp_path / "a.jsonl.gz", tmp_path / "b.tsv"
    with open_output(source) as file:
        for number, text in enumerate(german):
            row = {"id": f"x{number}", "text": text, "url": f"http://a/{number}", "n": number}
            file.write(json.dumps(row) + "\n\n")
    lines = ["url\ttext\tlicence", *(f"http://b/{n}\t{text}\tcc" for n, text in enumerate(english))]
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return source, target


def mined(texts: tuple[Path, Path], model: str, *carry: str) -> miner.Mined:
    side = {"column": "text", "header": True}
    return miner.mine(*texts, encoder=model, keep=KEEP, carry=carry, **side)


def test_columns_of_both_sides(verifying, texts, german, english, tmp_path: Path) -> None:
    found = mined(texts, verifying[0].model_name, "all")
    assert list(found.pairs.more) == ["source_id", "url1", "n1", "target_id", "url2", "licence2"]
    for pair in found:
        row = german.index(pair["source"])
        assert [pair["source_id"], pair["n1"]] == [f"x{row}", f"{row}"]
        assert pair["url1"] == f"http://a/{row}"
        assert pair["url2"] == f"http://b/{english.index(pair['target'])}"
        assert pair["licence2"] == "cc"
    some = mined(texts, verifying[0].model_name, "url").pairs
    assert list(some.more) == ["url1", "url2"] and len(some) == len(found) > 30
    for suffix in ("tsv", "jsonl", "parquet", "tmx"):
        some.write(tmp_path / f"out.{suffix}")
        assert "http://a/7" in written(tmp_path / f"out.{suffix}")
    some.write(tmp_path / "out.de", tmp_path / "out.en", ids=True)
    ids = (tmp_path / "out.ids").read_text("utf-8").splitlines()
    assert [line.split("\t")[2:] for line in ids] == [[row["url1"], row["url2"]] for row in some]
    assert ids[0].split("\t")[:2] == [some[0]["source_id"], some[0]["target_id"]]
    found.pairs.write(tmp_path / "out.de", tmp_path / "out.en", ids=True)
    assert len((tmp_path / "out.ids").read_text("utf-8").split("\n")[0].split("\t")) == 6


def written(path: Path) -> str:
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        from pyarrow import parquet

        return str(parquet.read_table(path).to_pydict())
    return path.read_text("utf-8")


def test_columns_that_are_not_there(verifying, texts, german, english) -> None:
    model = verifying[0].model_name
    with pytest.raises(CorpusError, match="no column 'uri' to carry; there are: url, n, licence"):
        mined(texts, model, "uri")
    with pytest.raises(CorpusError, match="source: can be read only once"):
        miner.mine(german, english, encoder=model, carry=["url"])
    found = miner.mine(german, english, encoder=model, keep=KEEP, carry=["id"])
    assert [*found.pairs.more] == ["source_id", "target_id"]


def test_columns_of_filtered_rows(verifying, german, english, tmp_path: Path, miner_run) -> None:
    rows = [
        {"source": source, "target": target, "url": f"u{number}", "by": "me"}
        for number, (source, target) in enumerate(zip(german, english, strict=True))
    ]
    (tmp_path / "f.toml").write_text("[[filter]]\nname = 'length'\n", encoding="utf-8")
    for name in ("in.jsonl", "in.parquet", "in.tmx"):
        write_bitext(rows, [str(tmp_path / name)], ("de", "en"))
        common = (tmp_path / name, "--config", tmp_path / "f.toml", "--carry", "url", "-o")
        miner_run("filter", *common, tmp_path / "out.de", tmp_path / "out.en")
        ids = (tmp_path / "out.ids").read_text("utf-8").splitlines()
        assert ids == [row["url"] for row in rows]
        miner_run("filter", *common, tmp_path / "out.jsonl")
        lines = (tmp_path / "out.jsonl").read_text("utf-8").splitlines()
        assert {tuple(json.loads(line)) for line in lines} == {("source", "target", "url")}
    with pytest.raises(AssertionError, match="no column 'uri' to carry; there are: source, target"):
        miner_run("filter", tmp_path / "in.jsonl", "--carry", "uri", "-o", tmp_path / "x.tsv")


@pytest.fixture
def miner_run(request: pytest.FixtureRequest):
    """Run a command that must succeed."""
    command = request.getfixturevalue("miner")

    def run(*arguments: object) -> None:
        code, _, err = command(*arguments)
        assert code == 0, err

    return run
