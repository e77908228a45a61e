"""Text and tables of the benchmark of the hybrid engine."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from benchmarks.speed import hybrid_engine, hybrid_tables
from miner.knn.engines import Int8Engine
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet

POINT = {"a side": 1000, "seconds": 2.0, "cpu seconds": 3.0, "peak MiB": 1234}
STAGES = {"neighbours": 1.0, "scores": 0.5, "estimate": 0.5}


def test_altered_sentences_are_new_and_lack_a_word() -> None:
    texts = ["a b c d", "too short", "e f g h i"]
    known = set(texts)
    made = list(islice(hybrid_engine.altered(texts, known, np.random.default_rng(1)), 5))
    assert len(set(made)) == 5 and not set(made) & set(texts)
    assert all(len(text.split()) in (3, 4) for text in made)


def test_tables() -> None:
    engine = {"cpu seconds": 9.0, "f1": 0.9}
    both = {name: {"training": engine, "test": engine} for name in ("fused", "hybrid")}
    kept = {"kept": 10, "found": 9}
    quality = {"threads": 2, "rows": [{"pair": "de-en", "training": kept, "test": kept, **both}]}
    assert any("9 of 10: 0.9000" in line for line in hybrid_tables.quality(quality))
    failed: dict[str, Any] = {"a side": 2000, "failed": "no memory"}
    more = {"stages": STAGES, "pairs": 7, "recall": {"found": 3, "likely": 4}}
    rows = [
        {
            "name": "hybrid",
            "points": [{**POINT, **more}, failed],
            "exponents": {"seconds": 1.1, "CPU seconds": None},
        }
    ]
    results = {"threads": 2, "real": [5, 6], "rows": rows}
    for table in (hybrid_tables.search(results), hybrid_tables.growth(results)):
        text = "\n".join(table)
        assert "1,234 MiB" in text and "failed: no memory" in text and "seconds n^1.1." in text
    rows[0]["exponents"]["CPU seconds"] = 1.2
    text = "\n".join(hybrid_tables.steps(results))
    assert "n^1.2" in text and "| neighbours |" in text
    assert "3 of 4" in "\n".join(hybrid_tables.growth(results))
    sections = {
        name: {"results": quality if name == "quality" else results}
        for name in hybrid_tables.SECTIONS
    }
    assert hybrid_tables.tables({"sections": sections}, lambda record: "made here")


def test_some_steps_stand_for_all() -> None:
    generator = np.random.default_rng(2)
    both = [
        VectorSet(generator.normal(size=(n, 8)).astype(np.float16), np.arange(n)) for n in (90, 70)
    ]
    lists = Lists.empty(90, 4), Lists.empty(70, 4)
    search = hybrid_engine.SomeSteps((both[0], both[1]), None, lists, Int8Engine(1), 1 << 20, 64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hybrid_engine, "CLUSTERS", 5)
        search.run(None, lambda share: None)
    assert len(search.spent["cluster"]) == 5 and search.count["cluster"] == search.number
    search.spent = {"cluster": [7.0, 2.0, 4.0]}
    wanted = {"cluster: preparation": 4.0, "cluster: steps": 3.0 * search.number}
    assert search.estimate() == wanted
