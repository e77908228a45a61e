"""Text and tables of the benchmark of the hybrid engine."""

from itertools import islice

import numpy as np

from benchmarks.speed import hybrid_engine


def test_altered_sentences_are_new_and_lack_a_word() -> None:
    texts = ["a b c d", "too short", "e f g h i"]
    known = set(texts)
    made = list(islice(hybrid_engine.altered(texts, known, np.random.default_rng(1)), 5))
    assert len(set(made)) == 5 and not set(made) & set(texts)
    assert all(len(text.split()) in (3, 4) for text in made)
