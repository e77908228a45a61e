"""Broken encoding: detected, repaired, and never missed by the fast check before ftfy."""

import ftfy
import numpy as np
import pytest
from ftfy import badness
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.filters.encoding import _SUSPICIOUS, broken, decoded, repaired
from miner.filters.filter_types import Batch, Context
from miner.filters.registry import FILTERS

repair = decoded

WHOLE = [
    "Schöne Grüße aus Österreich – „alles gut“",
    "Cœur, œuvre, l’été à 35 °C : « déjà vu »",
    "¿Qué? ¡Sí! 5 €, 3½, ±2, ©, ™, …",
    "Привет, мир! Ёлка №5 «ура»",
    "Český žluťoučký kůň",
    "Uma «MAÇû e um “IRMÔ".replace("û", "Ã»").replace("Ô", "Ã”"),
    "90 Å² und 3 Å³",
    "ÅÄÖ ÆØÅ ÂÃ MÃE SÃO PAULO",
    "你好，世界。「東京」",
    "مرحبا بالعالم",
    "नमस्ते दुनिया",
    "สวัสดี",
    "ﬁne “quotes” ｆｕｌｌ &amp; e\u0301",
    "👍🏽 ok",
    "",
]


@pytest.mark.parametrize("text", WHOLE)
def test_what_is_whole_stays(text: str) -> None:
    assert broken(text, "fine") == broken("fine", text) == 0
    assert repair(text) == text


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Schöne Grüße", "latin-1"),
        ("l’été à Orléans", "cp1252"),
        ("Привет, мир", "latin-1"),
        ("Он сказал «нет»", "cp1251"),
        ("“quoted” text", "cp1252"),
        ("東京", "latin-1"),
    ],
)
def test_mojibake_is_found_and_repaired(text: str, codec: str) -> None:
    wrong = text.encode().decode(codec, "replace")
    assert broken(wrong, "fine") == broken("fine", wrong) == 1
    if "\ufffd" not in wrong:
        assert repair(wrong) == text


def test_twice_and_in_part() -> None:
    wrong = "Größe".encode().decode("latin-1").encode().decode("latin-1")
    assert repair(wrong) == "Größe"
    assert repair("Größe und FlÃ¶te") == "Größe und Flöte"
    assert repair("a\u0093b\u0094") == "a“b”"
    assert repair("Â£5, 20Â°, Â© 2020") == "£5, 20°, © 2020"


@pytest.mark.parametrize(
    "character", ["\ufffd", "\ufeff", "\x00", "\x1b", "\x7f", "\x81", "\uffff"]
)
def test_characters_that_no_text_has(character: str) -> None:
    assert broken(f"Text{character}", "text") == broken("text", f"Text{character}") == 1


def test_repair_leaves_all_else() -> None:
    kept = "“x” ﬁ ｆ &lt;b&gt; <i>e\u0301</i> \u2028"
    assert repaired(kept) == kept
    assert repaired(f"{kept} FlÃ¶te") == f"{kept} Flöte"


def test_repair_of_characters_and_entities() -> None:
    assert repaired("\ufeffa\x00b\x0bc\x7f\x1ed") == "a b c d"
    assert repaired("&frac12; &sup2; &#55296; &#xD800;") == "½ ² &#55296; &#xD800;"
    assert repaired("sch&ouml;n &quot;so&#39; &amp; R&D;&nbsp;") == "schön \"so' & R&D;\xa0"


def test_text_that_both_sides_have_is_not_repaired() -> None:
    assert repaired("FlÃ¶te", "Flute") == "Flöte"
    assert repaired("FlÃ¶te", "The file FlÃ¶te") == "FlÃ¶te"


def test_a_copy_of_the_text_is_no_evidence() -> None:
    text = "Der Tag ist schÃ¶n."
    assert broken(text, text) == 1 and repaired(text, text) == "Der Tag ist schön."


def test_score_of_a_batch() -> None:
    found = FILTERS["encoding"]
    score = found.build({}, Context())(Batch(["gut", "FlÃ¶te"], ["good", "flute"]))
    np.testing.assert_array_equal(score, [0, 1])


# Characters of ftfy's expression, of other scripts, and ASCII.
_LOOKED_AT = "".join(
    chr(code) for code in range(0x80, 0xFFFE) if code not in range(0xD800, 0xE000)
    and badness.BADNESS_RE.pattern.find(chr(code)) >= 0
)  # fmt: skip


@settings(max_examples=400)
@given(st.text(st.sampled_from(_LOOKED_AT + "ÂÃabc ?.5вЂŸ语")))
def test_nothing_that_ftfy_finds_is_missed(text: str) -> None:
    if badness.is_bad(text):
        assert _SUSPICIOUS.search(text)
    # A capital before a quotation mark, as in MAÇÃ», is unchanged.
    found, capital = repair(text), any(map(str.isupper, text))
    assert found == ftfy.fix_encoding(text) or (found == text and capital)


@given(st.text(), st.text())
def test_scores_of_any_text(source: str, target: str) -> None:
    assert broken(source, target) in (0, 1)
    assert broken(source, target) == broken(target, source)
    assert repair(repair(source)) == repair(source)


def test_a_very_long_line() -> None:
    assert broken("Ã¶ " * 50_000, "x") == 1 and broken("ö " * 200_000, "x") == 0
