"""Trigrams, words and their hash table agree with plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_references import surprise_reference

from miner.encoder.trigram_units import pack_trigrams
from miner.encoder.unit_lists import code_points
from miner.kernels import units
from miner.kernels.ngrams import START, conditional
from miner.scoring.trigram_lm import Trigrams

# Two words with equal fingerprints.
ALIKE = "\u4f60\ubac8\U00020000", "\u4f61\ub226\U0005236b"


@given(st.lists(st.integers(0, 2**64 - 1), unique=True), st.lists(st.integers(0, 2**64 - 1)))
def test_a_table_finds_its_keys_alone(keys: list[int], others: list[int]) -> None:
    slots, places = units.table(np.array(keys, dtype=np.uint64))
    asked = np.array([*keys, *({*others, 0} - set(keys))], dtype=np.uint64)
    found = np.empty(len(asked), np.int32)
    units.find(asked, slots, places, found)
    assert found.tolist() == [*range(len(keys)), *[-1] * (len(asked) - len(keys))]


@given(st.lists(st.text(max_size=9), max_size=5))
def test_keys_of_trigrams_pack_the_text(sentences: list[str]) -> None:
    codes, offsets = code_points(sentences)
    keys = units.trigram_keys(codes, offsets)
    padded = [f" {one} " for one in sentences]
    every = [one[i : i + 3] for one in padded for i in range(len(one) - 2)]
    assert keys.tolist() == pack_trigrams(every).tolist()


def fingerprint(word: str) -> int:
    key = 0xCBF29CE484222325
    for character in word:
        key = (key ^ ord(character)) * 0x100000001B3 % 2**64
    return key


def ids_of(sentences: list[str], vocabulary: list[str], kinds: np.ndarray) -> list[list[int]]:
    """Return the ids of words, -1 for unknown ones, by the kernel."""
    known, starts = code_points(vocabulary)
    keys = np.empty(len(vocabulary), np.uint64)
    units.fingerprints(known, starts, keys)
    assert keys.tolist() == [fingerprint(word) for word in vocabulary]
    codes, offsets = code_points(sentences)
    out, lengths = np.empty(len(codes), np.int32), np.empty(len(sentences), np.int64)
    count = units.words(codes, offsets, kinds, *units.table(keys), known, starts, out, lengths)
    assert count == lengths.sum()
    parts = np.split(out[:count], np.cumsum(lengths))[: len(sentences)]
    return [part.tolist() for part in parts]


@given(
    st.lists(st.text("ab-+ \n", max_size=12), max_size=5),
    st.lists(st.text("ab-+", min_size=1, max_size=3), unique=True, max_size=8),
)
def test_words_are_the_reference(sentences: list[str], vocabulary: list[str]) -> None:
    kinds = np.zeros(128, np.uint8)
    kinds[[ord(one) for one in "ab"]], kinds[[ord(one) for one in "-+"]] = 2, 1
    expected = []
    for sentence in sentences:
        spaced = sentence.replace("-", " - ").replace("+", " + ").split()
        expected.append([vocabulary.index(one) if one in vocabulary else -1 for one in spaced])
    assert ids_of(sentences, vocabulary, kinds) == expected


def test_words_with_one_fingerprint_are_told_apart() -> None:
    assert fingerprint(ALIKE[0]) == fingerprint(ALIKE[1])
    kinds = np.full(0x110000, 2, np.uint8)
    found = ids_of([ALIKE[1], ALIKE[0], ALIKE[0][:2], ""], [*ALIKE], kinds)
    assert found == [[1], [0], [-1], []]
    assert ids_of([ALIKE[1]], [ALIKE[0]], kinds) == [[-1]]


def test_one_sentence_of_many_words() -> None:
    kinds = np.zeros(128, np.uint8)
    kinds[ord("a") : ord("d")] = 2
    sentence = np.random.default_rng(0).choice([*"abc "], 1 << 16)
    expected = ["abc".find(word) if len(word) == 1 else -1 for word in "".join(sentence).split()]
    assert ids_of(["".join(sentence)], ["a", "b", "c"], kinds) == [expected]


@settings(deadline=None)
@given(
    st.lists(st.text("abc", max_size=12), min_size=1, max_size=6).filter(any),
    st.lists(st.text("abcd", max_size=12), max_size=4),
)
def test_surprise_is_the_reference(training: list[str], sentences: list[str]) -> None:
    model = Trigrams.train([[*one] for one in training], "text")
    ids = [[model.numbers.get(word, 0) for word in one] for one in sentences]
    tables = model.words, model.pairs, model.triples
    logs = surprise_reference(ids, *tables)
    expected = [np.exp(-np.mean(own)) for own in logs]
    np.testing.assert_allclose(model.perplexity([[*one] for one in sentences]), expected)
    for own, log in zip(ids, logs, strict=True):
        context = [START, START, *own]
        alone = [conditional(*context[i : i + 3], *tables) for i in range(len(own))]
        assert alone == pytest.approx(log[:-1])
