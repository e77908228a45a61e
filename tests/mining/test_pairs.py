"""miner.scoring.pairs: pairs are cut, written, and read back unchanged."""

import gzip
import importlib
import json
from pathlib import Path

import pytest
from pyarrow import parquet
from support.mined_pairs import Build, build, mine, pairs, rows  # noqa: F401 (fixtures)

from miner.scoring.pairs import Pairs
from miner.text.bitext import read_bitext

writing = importlib.import_module("miner.scoring.pairs")

Mined = list[tuple[float, str, str]]


def read_tsv(path: Path) -> Mined:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
    return [(float(score), left, right) for score, left, right in rows]


def test_top(pairs: Pairs) -> None:
    assert rows(pairs.top(3)) == rows(pairs)[:3]
    assert len(pairs.top(0)) == len(pairs.top(-1)) == 0
    assert len(pairs.top(10_000)) == len(pairs)


def test_text_reads_back_the_same(pairs: Pairs, tmp_path: Path, german: list[str]) -> None:
    pairs.write(tmp_path / "out.tsv")
    written = read_tsv(tmp_path / "out.tsv")
    assert written == list(pairs.texts())
    assert [score for score, _, _ in written] == pairs.score.tolist(), "to the last bit"
    assert written[0][1] == german[pairs.source_row[0]]
    pairs.write(tmp_path / "out.tsv", ids=True)
    written = read_tsv(tmp_path / "out.tsv")
    assert written == list(pairs.ids())
    assert [(int(s) - 1, int(t) - 1) for _, s, t in written] == rows(pairs)


@pytest.mark.parametrize("ids", [False, True])
def test_bucc_has_ids_alone(pairs: Pairs, tmp_path: Path, ids: bool) -> None:
    pairs.write(tmp_path / "out", bucc=True, ids=ids)
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines == [f"{s}\t{t}" for _, s, t in pairs.ids()]


@pytest.mark.parametrize("ids", [False, True])
def test_json_lines(pairs: Pairs, tmp_path: Path, ids: bool) -> None:
    pairs.write(tmp_path / "out.jsonl.gz", ids=ids)
    with gzip.open(tmp_path / "out.jsonl.gz", "rt", encoding="utf-8") as file:
        found = [tuple(json.loads(line).values()) for line in file]
    assert found == list(pairs.ids() if ids else pairs.texts())
    if not ids:
        assert len(read_bitext(tmp_path / "out.jsonl.gz")) == len(pairs)
    with pytest.raises(ValueError, match=r"rows of tsv would be written there; name it \.tsv"):
        pairs.write(tmp_path / "out.jsonl", bucc=True)


@pytest.mark.parametrize("size", [7, 16_384])
def test_parquet(pairs: Pairs, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BLOCK", size)
    pairs.write(tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    texts, ranks = ["source", "target", "source_id", "target_id"], ["forward_rank", "backward_rank"]
    assert list(table) == ["score", *texts, "margin_ratio", "cosine", *ranks]
    assert list(zip(table["score"], table["source"], table["target"], strict=True)) == list(
        pairs.texts()
    )
    ids = list(zip(table["score"], table["source_id"], table["target_id"], strict=True))
    assert ids == list(pairs.ids())
    for name in ("score", "margin_ratio", "cosine", "forward_rank", "backward_rank"):
        assert table[name] == getattr(pairs, name).tolist()
    pairs.top(0).write(tmp_path / "none.parquet")
    nothing = parquet.read_table(tmp_path / "none.parquet")
    assert nothing.num_rows == 0 and nothing.num_columns == len(table)
