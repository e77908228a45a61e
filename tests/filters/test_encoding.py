"""Broken encoding: found, repaired, and never missed by the fast check before ftfy."""

import re
import sys

import ftfy
import numpy as np
import pytest
from ftfy import badness
from hypothesis import given
from hypothesis import strategies as st

from miner.errors import DependencyError
from miner.filters import encoding
from miner.filters.encoding import _SUSPICIOUS, broken, repair, repairer
from miner.filters.filter_types import Batch, Context

WHOLE = [
    "Schöne Grüße aus Österreich – „alles gut“",
    "Cœur, œuvre, l’été à 35 °C : « déjà vu »",
    "¿Qué? ¡Sí! 5 €, 3½, ±2, ©, ™, …",
    "Привет, мир! Ёлка №5 «ура»",
    "Český žluťoučký kůň",
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


@pytest.mark.parametrize(
    "character", ["\ufffd", "\ufeff", "\x00", "\x1b", "\x7f", "\x81", "\uffff"]
)
def test_characters_that_no_text_has(character: str) -> None:
    assert broken(f"Text{character}", "text") == broken("text", f"Text{character}") == 1


def test_repair_leaves_all_else() -> None:
    kept = "\ufeff“x” ﬁ ｆ &lt; \x00 \x0b e\u0301 \u2028"
    assert repair(kept) == kept
    assert repair(f"{kept} FlÃ¶te") == f"{kept} Flöte"


def test_score_of_a_batch() -> None:
    (found,) = encoding.FILTERS
    score = found.build({}, Context())(Batch(["gut", "FlÃ¶te"], ["good", "flute"]))
    np.testing.assert_array_equal(score, [0, 1])


# The characters in ftfy's expression, some of other scripts, and ASCII.
_LOOKED_AT = "".join(
    chr(code) for code in range(0x80, 0xFFFE) if code not in range(0xD800, 0xE000)
    and badness.BADNESS_RE.pattern.find(chr(code)) >= 0
)  # fmt: skip


@given(st.text(st.sampled_from(_LOOKED_AT + "ÂÃabc ?.5вЂŸ语")))
def test_nothing_that_ftfy_finds_is_missed(text: str) -> None:
    if badness.is_bad(text):
        assert _SUSPICIOUS.search(text)
    assert repair(text) == ftfy.fix_encoding(text)


def test_every_alternative_of_ftfy_is_suspicious() -> None:
    """`_SUSPICIOUS` matches in every text that an alternative of ftfy's expression matches.

    Each alternative is a sequence of sets of characters. The test tries all members of one set, or
    all pairs of two neighbouring ones, which proves it for all texts.
    """
    alternatives = re.sub(r"(?m)#.*$", "", badness.BADNESS_RE.pattern).split("|")
    # No set has a | inside, at which this would split it.
    every = [chr(code) for code in range(0x3000)] + [
        chr(c) for c in (0xF8FF, 0xFB01, 0xFB02, 0xFFFD)
    ]
    for alternative in alternatives:
        items = re.findall(r"\[(?:[^\]\\]|\\.)*\]|\\.|\^|\?|\S", alternative.strip())
        sets = []
        for item in items:
            if item == "?":
                sets[-1] = None  # optional, so that it has no certain neighbour
            elif item != "^":
                sets.append([one for one in every if re.fullmatch(item, one)])
        assert sets, alternative
        single = any(found and all(map(_SUSPICIOUS.search, found)) for found in sets)
        assert single or any(
            left and right and all(_SUSPICIOUS.search(one + two) for one in left for two in right)
            for left, right in zip(sets, sets[1:], strict=False)
        ), alternative


@given(st.text(), st.text())
def test_scores_of_any_text(source: str, target: str) -> None:
    assert broken(source, target) in (0, 1)
    assert broken(source, target) == broken(target, source)
    assert repair(repair(source)) == repair(source)


def test_a_very_long_line() -> None:
    assert broken("Ã¶ " * 50_000, "x") == 1 and broken("ö " * 200_000, "x") == 0


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ftfy", None)
    repairer.cache_clear()
    (found,) = encoding.FILTERS
    with pytest.raises(DependencyError, match=r"needs ftfy; run: pip install ftfy"):
        found.build({}, Context())
