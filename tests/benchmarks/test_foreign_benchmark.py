"""The benchmark of encoders of other libraries: its cut of a mining set, its batches, its lines."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")

from benchmarks.models import foreign, foreign_tables, small_transformer
from miner.evaluation.mining_sets import MiningSet
from miner.text.corpus import read


def test_a_cut_keeps_pairs_and_no_half_of_one(tmp_path: Path) -> None:
    place = tmp_path / "de-en"
    place.mkdir()
    for split in foreign.SPLITS:
        for language in ("de", "en"):
            lines = "".join(f"{language}-{row}\tsentence {row}\n" for row in range(300))
            (place / f"de-en.{split}.{language}").write_text(lines, encoding="utf-8")
        gold = "".join(f"de-{row}\ten-{row}\n" for row in range(40))
        (place / f"de-en.{split}.gold").write_text(gold, encoding="utf-8")
    foreign.cut(tmp_path, "de-en", 0.25, tmp_path / "cut")
    found = MiningSet("cut", tmp_path / "cut", "de-en")
    gold = found.gold("test")
    ids = [set(read(found.need(f"test.{one}"), format="bucc").ids) for one in ("de", "en")]
    assert len(gold) == 10 and all(40 < len(side) < 120 for side in ids)
    for side, own in enumerate(ids):
        of_gold = {one for one in own if int(one.split("-")[1]) < 40}
        assert of_gold == {pair[side] for pair in gold}


def test_batches_are_of_like_length() -> None:
    pairs = [("a" * (1 + row % 90), "b") for row in range(small_transformer.BATCH * 60)]
    spans = []
    for batch in islice(small_transformer._batches(pairs), 60):
        lengths = [len(source) for source, _ in batch]
        spans.append(max(lengths) - min(lengths))
    assert sum(spans) / len(spans) < 10


def test_lines() -> None:
    row = {"test": {"f1": 0.5}, "reached": {"0.9": {"precision": 0.91, "recall": 0.4}}}
    rates = {"bare": 100.0, "adapter": 98.0, "student": 49_000.0}
    one = {
        "pair": "de-en",
        "transformer": {"minutes": 9.0, "threads": 1, "pairs seen": 64_000},
        "cut": 0.05,
        "learned from": 20_000,
        "rows": {"fit": row},
        "sentences/s of CPU time": rates,
    }
    record = {"sections": {"de-en": {"results": one}}}
    text = "\n".join(foreign_tables.tables(record, lambda record: "made here"))
    assert "| transformer, fitted | 0.500 | 0.910 |" in text and "made here" in text
    assert "98 through the adapter (+2.0% time)" in text and "(500 times the transformer)" in text
    assert "F1 0.5000  asked: reached  0.9: 0.910" in foreign.shown("de-en", {"fit": row})
