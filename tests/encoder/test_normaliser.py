"""Normalisation before tokenisation: SentencePiece's rules, Serbian in Latin letters, digits."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from miner.encoder.normaliser import Normaliser
from miner.encoder.script_folding import in_one_script
from miner.text.invisible import visible
from tests.support.tokens import texts


def cleaned(sentence: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", visible(sentence))


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


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Љубав и џеп: ево ђака, њој ћу рећи.", "Ljubav i džep: evo đaka, njoj ću reći."),
        ("Фијакер жури, шеф чека; хоћу цвет.", "Fijaker žuri, šef čeka; hoću cvet."),
        # Without a letter unique to Serbian: it may be another language.
        ("Мама дома", "Мама дома"),
        ("Он живёт в Москве", "Он живёт в Москве"),
        ("٣٤٥ و ۶۷", "345 و 67"),
        ("१२ ১৩ ௧௪ ๑๕ １６", "12 13 14 15 16"),
        ("Straße x² ½", "Straße x² ½"),
        ("مُحَمَّدٌ رَسُولُ", "محمد رسول"),
        ("ســـلام عليكم", "سلام عليكم"),
        ("قُرْآن آ أ ؤ ئ ٱ", "قرآن آ أ ؤ ئ ٱ"),
        ("שָׁלוֹם לְךָ, בְּנִי־הַקָּטָן", "שלום לך, בני־הקטן"),
        ("\ufb2a\ufb31\ufb4f", "שבאל"),
        ("\ufee3\ufeae\ufea3\ufe92\ufe8e \ufefb \ufdf2", "مرحبا لا الله"),
        # Yeh and kaf of an Arabic keyboard in Persian, and vice versa.
        ("كتاب را به من بدهيد، پدر", "کتاب را به من بدهید، پدر"),
        ("سڑک پر گاڑي ہے", "سڑک پر گاڑی ہے"),
        ("أین المدرسة فی مدینتک", "أين المدرسة في مدينتك"),
        # Ambiguous: letters of neither language, or of both.
        ("كتاب علي", "كتاب علي"),
        ("تأثیر کتاب", "تأثیر کتاب"),
        ("چاي الصورة", "چاي الصورة"),
    ],
)
def test_reads_in_one_script(text: str, read: str) -> None:
    assert in_one_script([text]) == [read]


@given(st.text(alphabet="abčšđžljnj АБаб 12", max_size=20))
def test_other_text_stays(text: str) -> None:
    assert in_one_script([text]) == [text]
