"""miner.text.invisible agrees with Unicode; normal forms have no invisible character."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.text.invisible import visible
from miner.text.near_copies import bare, plain
from miner.text.output import one_line
from miner.text.text_format import is_blank
from miner.text.words import plain_form

# Visible format characters: signs before and around Arabic, Syriac and Kaithi numbers.
SEEN = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
JOINERS = "\u200c\u200d"
EVERY = [chr(code) for code in range(0x110000)]
FORMAT = [one for one in EVERY if unicodedata.category(one) == "Cf" and one not in SEEN]
# Invisible characters of other categories: variation selectors, fillers, inherent vowels.
OTHER = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u3164\ufe00\ufe0f\uffa0\U000e0100"
CONTROLS = [one for one in EVERY if unicodedata.category(one) in ("Cc", "Zl", "Zp")]
SPACES = [one for one in CONTROLS if one.isspace() or one >= "\x80" or one == "\0"]


@pytest.mark.parametrize("form", [visible, plain_form, plain, lambda text: bare(text).decode()])
def test_what_cannot_be_seen_decides_nothing(form) -> None:
    for one in {*FORMAT, *OTHER, *CONTROLS} - {*SPACES}:
        for text in (f"{one}Daten{one}schutz: ja{one}", f"Daten{one}{one}schutz: {one}ja"):
            assert form(text) == form("Datenschutz: ja"), hex(ord(one))


@pytest.mark.parametrize("form", [plain_form, plain, lambda text: bare(text).decode()])
def test_controls_that_are_spaces(form) -> None:
    for one in SPACES:
        assert form(f"zwei{one}Wörter{one}") == form("zwei Wörter"), hex(ord(one))


def test_the_mark_of_an_object_is_a_space() -> None:
    assert visible("zwei\ufffcWörter") == "zwei Wörter"


def test_joiners_stay_where_a_script_needs_them() -> None:
    for text in ("می\u200cخواهم", "क्\u200dष", "അവന്\u200d", "ක්\u200dෂ"):
        assert visible(text) == text
    assert visible("می\u200c\u200d\u200cخ\u200e\u200c.") == "می\u200cخ."
    assert visible("\u200cا\u200c ب") == "ا ب"
    assert visible("👩\u200d🔬 ❤\ufe0f") == "👩🔬 ❤"
    # Persian is typed with and without them; the normal form is the same.
    assert plain_form("می\u200cخواهم") == plain_form("میخواهم")
    assert bare("می\u200cخواهم") == bare("میخواهم") != bare("می خواهم")


@given(st.text(st.sampled_from("aک क्ß é" + JOINERS + "\u00ad\u200f\x0b\x85") | st.characters()))
def test_the_visible_text_is_its_own(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    for form in (visible, plain_form, plain):
        assert form(visible(text)) == form(text)
    assert is_blank(text) == is_blank(visible(text))


def test_blank_text_has_nothing_visible() -> None:
    assert all(map(is_blank, ["", " \t", "\u200b", " \ufeff\u00ad ", "\0\x0b\x85", "\u200d"]))
    assert not any(map(is_blank, ["a", "\u200b.", "\ufeff漢", "\u0301"]))


def test_text_without_letters_has_its_own_form() -> None:
    assert bare("!!\u200b!") == bare("!!!") != bare("???")
    assert plain("!!\u200b!") == plain("!!!") != plain("???")


def test_output_keeps_what_breaks_no_line() -> None:
    text = "Daten\u00adschutz \u200fa\u200cb \x92"
    assert one_line(text) == text
    assert one_line("a\tb\nc\x0bd\x1ce\x85f\u2028g\0h") == "a b c d e f g h"
