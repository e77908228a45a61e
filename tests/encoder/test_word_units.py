"""miner.encoder.word_units and its kernel: words, morphs, kinds of characters."""

import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miner.encoder.normaliser import Normaliser
from miner.encoder.word_units import WORD, WordTokenizer, character_kinds
from miner.errors import ArtifactError, DependencyError
from tests.support.tokens import lines, lists, texts


@settings(max_examples=300)
@given(texts, st.booleans())
@example(["ab ba b a"], True)
def test_words_match_the_regular_expression(sentences: list[str], fold: bool) -> None:
    """The vocabulary has every second word of the text, and words that the text lacks."""
    words = [WORD.findall(one) for one in Normaliser.by_rule(fold)(sentences)]
    known = sorted({word for own in words for word in own})[::2] + ["nowhere", "ab c"]
    tokenizer = WordTokenizer(lines(known), fold)
    number = {word: i for i, word in enumerate(known)}
    expected = [[number[word] for word in own if word in number] for own in words]
    assert lists(tokenizer(sentences)) == expected


def test_letters_agree_with_unicode_categories() -> None:
    kinds = character_kinds()
    for code in range(0, 0x30000, 7):
        category = unicodedata.category(chr(code))
        assert (kinds[code] == 2) == (category[0] in "LN" or code == ord("_"))


SEGMENTATION = b"3 un + believ + able\n2 believ + e\n2 able\n1 un + do\n1 do + able\n1 do + ing\n"


def test_morphs() -> None:
    types = ["un", "able", "do", "believ", "!", "xy"]
    tokenizer = WordTokenizer(lines(types), True, SEGMENTATION)
    found = lists(tokenizer(["Undoable!", "unbelievable doing", "xy", ""]))
    # The model has no morph "xy", and splits it into letters.
    assert found == [[0, 2, 1, 4], [0, 3, 1, 2], [], []]
    shown, ids = tokenizer.surfaces("Un\u00ad- Doing \x85")
    assert shown == ["un", "-", " do", "ing"]
    assert ids.tolist() == [0, -1, 2, -1]
    long = "a" * 100_000
    assert tokenizer.surfaces(long)[0] == [long]


@pytest.mark.parametrize(
    "segmentation", [b"", b"x a + b\n", b"0 a\n", b"1\n", b"1 a +  + b\n", b"1 a\n1 a\n", b"1 \xff"]
)
def test_malformed_segmentations_are_refused(segmentation: bytes) -> None:
    with pytest.raises(ArtifactError, match=r"morphs\.txt"):
        WordTokenizer(lines(["a"]), True, segmentation)


def test_a_missing_morfessor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "morfessor", None)
    with pytest.raises(DependencyError, match=r"pip install .*\[morfessor\]"):
        WordTokenizer(lines(["a"]), True, SEGMENTATION)
