"""miner_train.vocabulary: words, morphs and trigrams by frequency (for pieces see test_data)."""

import dataclasses
import random
import sys
from collections import Counter

import pytest

from miner.encoder.word_units import WordTokenizer
from miner.errors import CorpusError, DependencyError
from miner_train.config import TrainConfig
from miner_train.vocabulary import train_morphs, train_trigrams, train_words

WORDS = TrainConfig(encoder="word")
TRIGRAMS = TrainConfig(encoder="trigram")
MORPHS = TrainConfig(encoder="word", segmentation="morfessor")


def listed(vocabulary: bytes) -> list[str]:
    assert vocabulary.endswith(b"\n")
    return vocabulary.decode().split("\n")[:-1]


def by_count(counts: Counter[str]) -> list[str]:
    return [text for text, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def test_words_of_both_columns_by_frequency() -> None:
    sides = [["b a, B", "Ünï a"], ["b, c", ""]]
    assert train_words(sides, WORDS) == ("b\n,\na\nc\nünï\n".encode(), None)
    few = dataclasses.replace(WORDS, types=3, fold_case=False)
    assert listed(train_words(sides, few)[0]) == [",", "a", "b"]


@pytest.mark.parametrize("sides", [[[], []], [["", " \t"], ["\u200b"]]])
def test_no_text(sides: list[list[str]]) -> None:
    with pytest.raises(CorpusError, match="no text to learn a vocabulary from"):
        train_words(sides, WORDS)
    with pytest.raises(CorpusError, match="no text to learn a vocabulary from"):
        train_trigrams(sides, TRIGRAMS)


STEMS = ["walk", "talk", "jump", "look", "play", "open", "turn", "work", "call", "push"]
TALK = [f"{stem}{end}" for stem in STEMS for end in ("", "ing", "ed", "s", "er", "ers")]


def test_morphs_recur_in_many_words(capfd: pytest.CaptureFixture[str]) -> None:
    sides = [[" ".join(TALK)] * 3, ["walking , jumpers x" + "y" * 500]]
    before = random.getstate()
    vocabulary, segmentation = train_words(sides, MORPHS)
    assert segmentation is not None
    assert random.getstate() == before
    assert capfd.readouterr() == ("", ""), "no bar of dots"
    morphs = listed(vocabulary)
    assert {*STEMS, "ing", "ed", ",", "x" + "y" * 500} <= set(morphs)
    assert not {"walking", "jumped"} & set(morphs)
    tokenizer = WordTokenizer(vocabulary, True, segmentation)
    shown, ids = tokenizer.surfaces("Jumping, talked")
    assert shown == ["jump", "ing", ",", " talk", "ed"]
    assert (ids >= 0).all()
    counts = Counter(
        text.strip() for side in sides for one in side for text in tokenizer.surfaces(one)[0]
    )
    assert morphs == by_count(counts)
    few = dataclasses.replace(MORPHS, types=200)
    assert listed(train_words(sides, few)[0]) == morphs[:200]


def test_morphs_follow_from_words_and_seed() -> None:
    first = train_morphs(TALK, 1)
    random.seed(99)
    assert train_morphs(TALK, 1) == first
    assert first == b"".join(sorted(first.splitlines(True), key=lambda line: words(line)))


def words(line: bytes) -> bytes:
    return line.split(b" ", 1)[1].replace(b" + ", b"").strip()


def test_morphs_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "morfessor", None)
    with pytest.raises(DependencyError, match=r"pip install .*\[morfessor\]"):
        train_words([["a b"]], MORPHS)


def test_trigrams_of_both_columns_by_frequency() -> None:
    found = listed(train_trigrams([["AB  a", "ab"], ["b", ""]], TRIGRAMS))
    assert found == [" ab", "ab ", " a ", " b ", "b a"]
    few = dataclasses.replace(TRIGRAMS, types=1, fold_case=False)
    assert listed(train_trigrams([["AB", "ab", "AB c"]], few)) == [" AB"]
