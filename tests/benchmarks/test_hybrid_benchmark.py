"""Text and tables of the benchmark of the hybrid engine."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from benchmarks.speed import hybrid_engine
from miner.knn.engines import Int8Engine
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet


def test_altered_sentences_are_new_and_lack_a_word() -> None:
    texts = ["a b c d", "too short", "e f g h i"]
    known = set(texts)
    made = list(islice(hybrid_engine.altered(texts, known, np.random.default_rng(1)), 5))
    assert len(set(made)) == 5 and not set(made) & set(texts)
    assert all(len(text.split()) in (3, 4) for text in made)


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
