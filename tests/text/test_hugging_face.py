"""Hugging Face data sets on disk, and the columns of ParaCrawl and HPLT."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from miner import filter as filter_rows
from miner.errors import CorpusError, DependencyError
from miner.text.bitext import read_bitext
from miner.text.corpus import read
from miner.text.formats import BitextFormat
from miner.text.patterns import matching
from miner.text.remote import remote_matching

PAIRS = [("Es regnet.", "It rains."), ("Ja, nein?", "Yes, no?"), ("Zwei", "Two")]
ROWS = [{"id": n, "translation": {"de": s, "en": t}} for n, (s, t) in enumerate(PAIRS)]
NESTED = BitextFormat("translation.de", "translation.en")


def arrow(path: Path, rows: list[dict]) -> Path:
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pylist(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return path


def parquet(path: Path, rows: list[dict]) -> Path:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet as library

    path.parent.mkdir(parents=True, exist_ok=True)
    library.write_table(pa.Table.from_pylist(rows), path)
    return path


def jsonl(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("write", [arrow, parquet, jsonl])
def test_a_column_of_translations(write, tmp_path: Path) -> None:
    path = write(tmp_path / f"data.{write.__name__}", ROWS)
    found = read_bitext(path, None, NESTED)
    assert list(zip(found.source, found.target, strict=True)) == PAIRS
    rows = filter_rows(path, filters=["length"], layout=NESTED)
    assert [(row["source"], row["target"]) for row in rows] == PAIRS and rows[1]["id"] == 1
    assert read(path, column="translation.en").sentences == [target for _, target in PAIRS]
    with pytest.raises(CorpusError, match=r"'translation.fr'.* there are: id, translation"):
        read_bitext(path, None, BitextFormat("translation.de", "translation.fr"))


def test_a_directory_is_the_files_of_its_one_split(tmp_path: Path, miner) -> None:
    place = tmp_path / "set"
    for number in range(2):
        rows = [{"source": f"satz {n} {number}", "target": f"line {n} {number}"} for n in range(3)]
        arrow(place / f"train/data-{number:05}-of-00002.arrow", rows)
    (place / "dataset_info.json").write_text("{}", encoding="utf-8")
    assert [Path(path).name for path in matching(str(place))] == [
        "data-00000-of-00002.arrow", "data-00001-of-00002.arrow"
    ]  # fmt: skip
    code, _, err = miner("score", place, "--score", "length", "-o", tmp_path / "out")
    assert code == 0, err
    parquet(place / "data/test-00000-of-00001.parquet", ROWS)
    with pytest.raises(CorpusError, match="has several splits, such as"):
        matching(str(place))
    (tmp_path / "empty").mkdir()
    code, _, err = miner("score", tmp_path / "empty")
    assert code == 1 and "Is a directory" in err


def test_the_hub_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DependencyError, match="huggingface_hub"):
        remote_matching("hf://datasets/user/name/data/train-*.parquet")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Serve a data set of two files from a stand-in for the hub, in memory."""
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.memory import MemoryFileSystem

    class Hub(MemoryFileSystem):
        protocol = "hf"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return MemoryFileSystem._strip_protocol(path.replace("hf://", "memory://hub/"))

        def unstrip_protocol(self, name: str) -> str:
            return name.replace("/hub/", "hf://")

    fsspec.register_implementation("hf", Hub, clobber=True)
    monkeypatch.setitem(sys.modules, "huggingface_hub", ModuleType("huggingface_hub"))
    for number, rows in enumerate((ROWS[:2], ROWS[2:])):
        path = parquet(tmp_path / "part.parquet", rows)
        name = f"hf://datasets/user/name/de-en/train-{number:05}-of-00002.parquet"
        Hub().pipe_file(name, path.read_bytes())
    Hub().pipe_file("hf://datasets/user/name/README.md", b"# A data set\n")
    return "hf://datasets/user/name"


def test_a_data_set_of_the_hub(hub: str, tmp_path: Path, miner, monkeypatch) -> None:
    """By its address, a folder, a pattern and a file; all are read through copies."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    files = [f"{hub}/de-en/train-{number:05}-of-00002.parquet" for number in range(2)]
    for name in (hub, f"{hub}/de-en", f"{hub}/de-en/train-*.parquet"):
        assert matching(name) == files
    assert matching(files[0]) == files[:1]
    columns = ("--scol", "translation.de", "--tcol", "translation.en")
    code, _, err = miner("score", hub, *columns, "--score", "length", "-o", tmp_path / "out/")
    assert code == 0 and "3 rows of 2 files scored" in err
    rows = filter_rows(files[1], filters=["length"], layout=NESTED)
    assert [(row["source"], row["target"]) for row in rows] == PAIRS[2:]
    with pytest.raises(CorpusError, match=r"hf://datasets/user/none.parquet: cannot be read \("):
        filter_rows("hf://datasets/user/none.parquet", filters=["length"])


def test_columns_of_paracrawl(tmp_path: Path, miner) -> None:
    path = tmp_path / "de-en.tsv"
    lines = [f"http://a/{n}\thttp://b/{n}\t{s}\t{t}\t0.9\n" for n, (s, t) in enumerate(PAIRS)]
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(CorpusError, match="columns 1 and 2 are addresses; give --format paracrawl"):
        read_bitext(path)
    found = read_bitext(path, None, BitextFormat(format="paracrawl"))
    assert list(zip(found.source, found.target, strict=True)) == PAIRS
    common = ("score", path, "--format", "paracrawl", "--score", "length", "-o")
    for name in ("out.tsv", "out.jsonl"):
        code, _, err = miner(*common, tmp_path / name)
        assert code == 0, err
    out = (tmp_path / "out.tsv").read_text("utf-8").splitlines()
    assert [line.rpartition("\t")[0] + "\n" for line in out] == lines, "columns stay where they are"
    row = json.loads((tmp_path / "out.jsonl").read_text("utf-8").splitlines()[2])
    assert (row["source"], row["url1"], row["url2"]) == ("Zwei", "http://a/2", "http://b/2")
    assert row["column5"] == "0.9"


def test_columns_of_hplt(tmp_path: Path, miner) -> None:
    """A header names the columns after ParaCrawl's four, which any output can carry."""
    path = tmp_path / "hplt.tsv"
    body = "".join(f"http://a\thttp://b\t{s}\t{t}\t0.9\twide\n" for s, t in PAIRS)
    path.write_text(f"url1\turl2\tsrc\ttgt\tbicleaner-ai\tcollection\n{body}", encoding="utf-8")
    with pytest.raises(CorpusError, match="line 2: columns 1 and 2 are addresses; give --format"):
        read_bitext(path, None, BitextFormat(header=True))
    carried = ("--header", "--carry", "collection,url1,bicleaner-ai", "-o")
    config = tmp_path / "filters.toml"
    config.write_text('[[filter]]\nname = "length"\n', encoding="utf-8")
    common = ("filter", path, "--config", config)
    out = [tmp_path / "out.de", tmp_path / "out.en"]
    code, _, err = miner(*common, "--format", "paracrawl", *carried, *out)
    assert code == 0, err
    assert (tmp_path / "out.ids").read_text("utf-8") == "wide\thttp://a\t0.9\n" * 3
    assert out[0].read_text("utf-8").splitlines() == [source for source, _ in PAIRS]
    path.write_text(f"url1\turl2\tsource\ttarget\tbicleaner-ai\tcollection\n{body}", "utf-8")
    code, _, err = miner(*common, *carried, tmp_path / "out.jsonl")
    assert code == 0, err
    row = json.loads((tmp_path / "out.jsonl").read_text("utf-8").splitlines()[0])
    assert row["target"] == PAIRS[0][1] and row["bicleaner-ai"] == "0.9"
