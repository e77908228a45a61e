"""Languages of corpora, identified from a sample."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.near_copies import sentences

from miner.encoder.known_languages import KnownLanguage
from miner.scoring.language_identifier import Identifier, identifier
from miner.scoring.language_notes import doubts
from miner.scoring.languages import HEAD, SPREAD, Identified, identify, identify_pair, sample
from miner.text.language_codes import describe, language_code, language_pair, primary


def test_the_languages_of_a_corpus() -> None:
    german, english = sentences("de"), sentences("en")
    found = identify(german)
    assert found.code == found.seen == "de" and str(found).startswith("German (de) ")
    assert not found.contradicted
    mixed = identify(german + english[:30])
    assert {code for code, _ in mixed.shares} >= {"de", "en"}
    assert sum(share for _, share in mixed.shares) == pytest.approx(1)
    assert " and English (en) " in str(mixed)


def test_a_given_language_counts_and_may_be_contradicted() -> None:
    wrong = identify(sentences("de"), "fr-CA")
    assert wrong.code == "fr" and wrong.seen == "de" and wrong.contradicted
    assert str(wrong) == "French (fr) as given"
    for code in ("de", "deu", "de-AT"):
        assert not identify(sentences("de"), code).contradicted
    # Close languages are mistaken for each other.
    danish = Identified((("da", 0.8), ("no", 0.2)), "nb", 900)
    assert danish.code == "nb" and danish.seen == "da" and not danish.contradicted
    assert Identified((("da", 0.95), ("no", 0.05)), "nb", 900).contradicted
    assert not Identified((("da", 0.95), ("no", 0.05)), "nb", 90).contradicted
    assert not Identified((("da", 0.4), ("sv", 0.4)), "nb", 900).contradicted
    assert str(Identified((("da", 0.4), ("sv", 0.3)))) == (
        "unknown (Danish (da) 40% and Swedish (sv) 30%)"
    )


@pytest.mark.parametrize("texts", [[], ["", "1999", "-- 3.14 --"]])
def test_text_without_letters_is_in_no_language(texts: list[str]) -> None:
    found = identify(texts)
    assert found.code is None and str(found) == "unknown" and not found.contradicted
    assert identify(texts, "de").code == "de"


def test_the_unpacked_model_is_kept_and_replaced_when_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("miner.encoder.cached_arrays.folder", lambda: tmp_path)
    found = []
    for damage in (b"garbage", None):  # and the first call finds no cache
        found.append(Identifier().evidence(["Guten Tag", "Bonjour à tous"]).scores)
        (kept,) = tmp_path.iterdir()
        if damage is not None:
            (kept / "table.npy").write_bytes(damage)
    np.testing.assert_array_equal(found[0], found[1])
    assert (kept / "table.npy").stat().st_size > 1 << 20


def test_a_menu_in_another_language_does_not_decide(german: list[str]) -> None:
    """Pages whose first line is English, as documents of one text and as long lines."""
    menu = (
        "Home About us Contact Privacy policy Terms of use Sign in Search the site Help Imprint "
        * 2
    )
    pages = [menu + separator + " ".join(german) for separator in ("\n", " ")]
    for page in pages:
        assert identify([page] * 5).code == "de"
    model = identifier()
    scores = model.evidence([menu[:100] + " ".join(german[:4])]).scores[0]
    assert scores[model.columns("de")].max() > scores[model.columns("en")].max()


@given(st.lists(st.text(), max_size=20))
def test_any_text(texts: list[str]) -> None:
    found = identify(texts)
    shares = [share for _, share in found.shares]
    assert shares == sorted(shares, reverse=True)
    assert not shares or sum(shares) == pytest.approx(1)
    assert identify(texts) == found


@given(st.integers(0, 10**7))
def test_the_sample_has_the_head_and_a_spread(count: int) -> None:
    rows = sample(count)
    assert len(rows) <= HEAD + SPREAD and (np.diff(rows) > 0).all()
    if count:
        assert rows[0] == 0 and rows[-1] == count - 1
        assert np.diff(rows).max(initial=0) <= max(1, -(-count // (SPREAD - 1)))


def test_titles_in_kanji_count_as_the_rest_of_the_text() -> None:
    titles = ["東京都", "日本国憲法", "大学入学試験", "高等専門学校", "産業技術"]
    assert identify([*titles, "私は学生です。"]).shares == (("ja", 1.0),)
    (code, share), *_ = identify([*titles, "我们明天去北京开会。"]).shares
    assert share == 1 and primary("zh") in {code, "zh"} and "ja" not in code


@pytest.mark.parametrize(
    ("source", "target", "codes"),
    [
        ("Der Hund", "The dog", ("de", "en")),
        ("The dog", "Der Hund", ("en", "de")),
        ("Guten Tag", "Good day", ("de", "en")),
        ("Le chat est noir", "Die Katze ist schwarz", ("fr", "de")),
        ("犬", "dog", (None, "en")),
        ("5", "Guten Tag", (None, "de")),
    ],
)
def test_a_few_words_are_in_usual_languages(source: str, target: str, codes: Any) -> None:
    assert tuple(one.code for one in identify_pair([source], [target])) == codes


def test_a_pair_with_much_text_or_given_languages_is_in_those() -> None:
    found = identify_pair(["Le chat"], ["The dog"], ("de", None))
    assert [one.code for one in found] == ["de", "en"]
    french = ["Bonjour à tous et bienvenue dans ce cours."] * 20
    assert [one.code for one in identify_pair(french, french)] == ["fr", "fr"]


def test_codes() -> None:
    assert [primary(code) for code in ("de-AT", "DE_de", "deu", "ger", "xx")] == ["de"] * 4 + ["xx"]
    assert describe("deu") == "German (de)" and describe("xx") == "xx"
    unnamed = [code for code in identifier().codes if "(" not in describe(code)]
    assert not unnamed
    for code in ("de", "ger", "de_AT", "zh-Hant", "qaa", "nv"):
        assert language_code(code) == code
    wrong = {
        "german": "de",
        "gb": "en",
        "jp": "ja",
        "kz": "kk",
        "cz": "cs",
        "gr": "el",
        "ge": "ka",
        "Germn": "de",
        "cn": "zh",
        "Deutsch": "de",
        "farsi": "fa",
        "mandarin": "zh",
        "Simplified Chinese": "zh",
        "日本語": "ja",
        "de_DE.UTF-8": "de",
        "sr_RS@latin": "sr",
    }
    for text, meant in wrong.items():
        with pytest.raises(ValueError, match=rf"no language code; did you mean .*\({meant}\)"):
            language_code(text)
    for text in ("xx", "?!", "", "klingonisch"):
        with pytest.raises(ValueError, match="such as de, en"):
            language_code(text)
    for text in ("und", "mul", "zxx-Latn"):
        with pytest.raises(ValueError, match="names no language; leave it out"):
            language_code(text)
    assert language_pair(None) == (None, None) and language_pair(["de", None]) == ("de", None)
    for pair in ("de", ("de",), ("de", "en", "fr")):
        with pytest.raises(ValueError, match="give two codes"):
            language_pair(pair)


@pytest.mark.parametrize(
    ("codes", "name"),
    [
        ("ms msa may zsm zlm", "Malay"), ("nb no nob nor nb-NO", "Norwegian Bokmål"),
        ("nn nno", "Norwegian Nynorsk"), ("sw swa swh swh_Latn", "Swahili"),
        ("az aze azj azj_Latn", "Azerbaijani"), ("fa fas per pes prs fa-AF", "Persian"),
        ("ar ara arb arb_Arab", "Arabic"), ("zh zho chi cmn zho_Hans zh-TW", "Chinese"),
        ("lv lav lvs", "Latvian"), ("et est ekk", "Estonian"), ("sq sqi alb als", "Albanian"),
        ("mn mon khk", "Mongolian"), ("om orm gaz", "Oromo"), ("gn grn gug", "Guarani"),
        ("tl tgl fil fil-PH", "Tagalog"), ("ro ron rum mo mol", "Romanian"), ("ber", "Berber"),
        ("kab", "Kabyle"), ("he heb iw", "Hebrew"), ("id ind in", "Indonesian"),
        ("hy hye arm", "Armenian"), ("my mya bur", "Burmese"), ("uz uzb uzn", "Uzbek"),
    ],
)  # fmt: skip
def test_codes_of_one_language(codes: str, name: str) -> None:
    first, *others = codes.split()
    assert {primary(code) for code in others} <= {first} and primary(first) == first
    assert describe(first) == f"{name} ({first})"
    assert [language_code(code) for code in codes.split()] == codes.split()


def test_a_language_that_identification_does_not_know_is_not_contradicted() -> None:
    romansh = Identified((("it", 1.0),), "rm", 900)
    assert romansh.code == "rm" and not romansh.contradicted
    assert not Identified((("kab", 1.0),), "ber", 900).contradicted
    assert Identified((("it", 1.0),), "ber", 900).contradicted
    assert Identified((("ko", 1.0),), "kr", 900).contradicted  # Kanuri, or Korea
    assert not Identified((("ha", 1.0),), "kr", 900).contradicted


LATIN_HINDI = ["Yeh bahut accha hai.", "Tum kahan ja rahe ho?", "Kya aap mujhe bata sakte hain?"]
ZAWGYI = ["ကၽြန္ေတာ္ ေက်ာင္းသြားသည္။", "သူ စာဖတ္ေနသည္။"]


@pytest.mark.parametrize(
    ("texts", "usual", "form", "name", "remedy"),
    [
        (LATIN_HINDI, "hi", "hi-Latn", "Hindi or Urdu in Latin letters", "write it in its own"),
        (ZAWGYI, "mya", "my-Qaag", "Burmese in Zawgyi", "convert it to Unicode first"),
    ],
)
def test_forms_of_writing_are_named(
    texts: list[str], usual: str, form: str, name: str, remedy: str
) -> None:
    english = identify(sentences("en"))
    known = {one: KnownLanguage(9, accuracy={"news": 0.99}) for one in ("en", "hi", "my")}
    for code in (None, usual, form):
        found = identify(texts * 20, code)
        assert found.seen == form and found.shares == ((form, 1.0),)
        assert found.code == (primary(usual) if code == usual else form)
        (doubt,) = doubts((found, english), known)
        assert doubt.startswith(f"100% of the source looks like {name} ({form})")
        assert remedy in doubt
    assert str(identify(texts)) == f"{name} ({form}) 100%"
    assert not identifier().columns(form).any() and language_code(form) == form
