"""miner.encoder.normaliser: many sentences in one call."""

import re

from hypothesis import example, given, settings

from miner.encoder.normaliser import Normaliser
from tests.support.tokens import texts


def cleaned(sentence: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", sentence)


@settings(max_examples=300)
@given(texts)
@example(["", ""])
@example([" a ", "\u0301a", "e", "\u0301"])
@example(["a\ue000", "b"])
def test_many_sentences_are_normalised_like_single_ones(sentences: list[str]) -> None:
    for fold in (True, False):
        normalise = Normaliser.by_rule(fold)
        expected = [normalise._normalizer.normalize(cleaned(one)) for one in sentences]
        assert normalise(sentences) == expected


def test_normalisation() -> None:
    found = Normaliser.by_rule(True)(["  Ünï\tStraße ", "\ufb01", "x\ny\r\nz"])
    assert found == ["ünï straße", "fi", "x y z"]
    assert Normaliser.by_rule(False)(["Ünï"]) == ["Ünï"]


def test_no_character_becomes_a_line_feed() -> None:
    """A line feed would end a line of a vocabulary."""
    everything = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    assert "\n" not in "".join(Normaliser.by_rule(True)(["".join(everything)]))
