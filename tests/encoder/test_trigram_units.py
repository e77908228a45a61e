"""miner.encoder.trigram_units and its kernel: trigrams, their keys, their hash table."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miner.encoder.normaliser import Normaliser
from miner.encoder.trigram_units import TrigramTokenizer, pack_trigrams
from tests.support.tokens import lines, lists, texts


def trigrams_reference(sentence: str, vocabulary: dict[str, int]) -> list[int]:
    """Trigram ids of one sentence by :func:`miner.kernels.units.trigrams`."""
    padded = f" {sentence} "
    return [vocabulary.get(padded[i : i + 3], -1) for i in range(len(sentence))]


@settings(max_examples=300)
@given(texts, st.booleans())
@example(["a", "", "ab"], True)
def test_trigrams_agree_with_the_reference(sentences: list[str], fold: bool) -> None:
    read = Normaliser.by_rule(fold)(sentences)
    padded = [f" {one} " for one in read]
    known = sorted({one[i : i + 3] for one in padded for i in range(len(one) - 2)})[::2]
    known += ["\U0010ffff\U0010ffff\U0010ffff", "\0\0\0"]
    tokenizer = TrigramTokenizer(lines(dict.fromkeys(known)), fold)
    number = {trigram: i for i, trigram in enumerate(dict.fromkeys(known))}
    expected = [trigrams_reference(one, number) for one in read]
    assert lists(tokenizer(sentences)) == [[i for i in own if i >= 0] for own in expected]


@given(st.lists(st.text(min_size=3, max_size=3), unique=True))
def test_keys_of_trigrams_are_distinct_and_in_the_order_of_text(trigrams: list[str]) -> None:
    keys = pack_trigrams(sorted(trigrams))
    assert keys.dtype == np.uint64
    assert (keys[1:] > keys[:-1]).all()
