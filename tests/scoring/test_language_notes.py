"""Lines about the languages of two texts."""

import dataclasses
from pathlib import Path
from unicodedata import normalize

import pytest

from miner.encoder.encoder import Encoder
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.model import Model, load
from miner.scoring.language_notes import describe_both, doubts, mismatched, one_language, unread
from miner.scoring.languages import Identified

GERMAN, ENGLISH = Identified((("de", 1.0),), None, 900), Identified((("en", 0.98),), None, 900)
FINNISH = Identified((("fi", 1.0),), None, 900)


@pytest.fixture
def model(tiny_model: Path) -> Model:
    weak = KnownLanguage(40, {}, {"Tatoeba": 0.9, "news": 0.5})
    facts = {"de": KnownLanguage(10**6), "en": KnownLanguage(10**6), "fi": weak}
    return dataclasses.replace(load(tiny_model), languages=facts)


def test_both_languages_in_one_line() -> None:
    assert describe_both((GERMAN, ENGLISH)) == "source: German (de) 100%, target: English (en) 98%"


def test_known_languages_raise_no_doubt(model: Model, tiny_model: Path) -> None:
    assert not list(doubts((GERMAN, ENGLISH), model.languages))
    assert not list(doubts((FINNISH, ENGLISH), load(tiny_model).languages))
    assert not list(doubts((FINNISH, ENGLISH), {}))


def test_weak_and_unknown_languages(model: Model) -> None:
    (said,) = doubts((FINNISH, ENGLISH), model.languages)
    assert said.startswith(
        "the model is weak in Finnish (fi) (40 training pairs; 50% of news sentences find their "
        "translation); train a model"
    )
    (said,) = doubts((GERMAN, Identified((), "ko")), model.languages)
    assert said.startswith("the model was not trained on Korean (ko); add it to the model")
    # A few words do not identify a language.
    assert not list(doubts((dataclasses.replace(FINNISH, characters=20), ENGLISH), model.languages))


def test_text_in_several_languages() -> None:
    mixed = Identified((("de", 0.67), ("ru", 0.18), ("ar", 0.09)), None, 900)
    (said,) = doubts((ENGLISH, mixed), {})
    assert said.startswith(
        "the target is in several languages, German (de) 67% and Russian (ru) 18%:"
    )
    for other in ({"given": "de"}, {"characters": 90}, {"shares": (("de", 0.9), ("ru", 0.09))}):
        assert not list(doubts((ENGLISH, dataclasses.replace(mixed, **other)), {}))


def test_two_fair_languages_that_meet_in_english() -> None:
    fair = KnownLanguage(10**5, {}, {"news": 0.8})
    known = {"fi": fair, "de": fair, "en": fair}
    (said,) = doubts((FINNISH, GERMAN), known)
    assert said.startswith("the model is only fair in Finnish (fi) and German (de), which")
    assert said.endswith("estimates of precision are less sure")
    assert not list(doubts((FINNISH, ENGLISH), known))


def test_a_part_in_the_language_of_the_other_side() -> None:
    mixed = Identified((("de", 0.57), ("en", 0.42)), None, 900)
    (said,) = one_language((mixed, ENGLISH))
    assert said.startswith("42% of the source looks like English (en), the language of the other")
    assert list(one_language((ENGLISH, mixed)))[0].startswith("42% of the target")
    assert not mismatched((mixed, ENGLISH)) and mismatched((GERMAN, GERMAN))
    clean = Identified((("de", 0.94), ("en", 0.04)), None, 900)
    assert not list(one_language((clean, ENGLISH)))


def test_languages_given_the_wrong_way_round_are_no_copies() -> None:
    swapped = tuple(
        Identified(((seen, 1.0),), given, 900) for seen, given in (("de", "en"), ("en", "de"))
    )
    assert not list(one_language(swapped))
    first, second = doubts(swapped, {})
    assert "give --source-lang de" in first and "give --target-lang en" in second


@pytest.mark.parametrize(
    ("sentences", "share"),
    [
        (["ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ.", "12."], "100%"),
        (["the dog", "ᏣᎳᎩᏣᎳᎩ"], "50%"),
        (["the dog sleeps", "ᏣᎳ"], ""),
        (["12."], ""),
        ([], ""),
    ],
)
def test_letters_that_no_piece_has(sentences: list[str], share: str, tiny_model: Path) -> None:
    said = list(unread(Encoder.load(tiny_model), sentences))
    assert [one.split()[0] for one in said] == [share] * bool(share)
    assert not list(unread(None, sentences))


def test_commands_warn_of_letters_that_no_piece_has(tiny_model: Path, tmp_path, miner) -> None:
    (tmp_path / "a").write_text("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ.\n", encoding="utf-8")
    (tmp_path / "b").write_text("the dog sleeps.\n", encoding="utf-8")
    told = "100% of the letters are in no piece of the model"
    model = "--model", tiny_model
    _, _, err = miner("index", tmp_path / "a", *model, "-o", tmp_path / "index")
    assert f"warning: {told}" in err
    for command in ("mine", "align"):
        _, _, err = miner(command, tmp_path / "b", tmp_path / "a", *model, "-o", tmp_path / "out")
        assert f"the target: {told}" in err
    _, _, err = miner("explain", "ᏣᎳᎩ.", "the dog.", "--model", "default")
    assert f"warning: the source: {told}" in err


def test_syllables_taken_apart_are_read_as_the_model_reads_them() -> None:
    apart = normalize("NFD", "저는 학생입니다.")
    assert not list(unread(Encoder.load("default"), [apart]))


def test_letters_of_a_later_part_and_of_text_that_is_added(tiny_model, tmp_path, miner) -> None:
    (tmp_path / "a").write_text("the dog sleeps.\n" * 300 + "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ.\n" * 600, "utf-8")
    (tmp_path / "b").write_text("the dog sleeps.\n" * 600, "utf-8")
    (tmp_path / "c").write_text("ᏣᎳᎩ.\n", "utf-8")
    told = "of the letters are in no piece of the model"
    model = "--model", tiny_model
    for text, options, warned in (("a", (), True), ("b", (), False), ("c", ("--add",), True)):
        output = tmp_path / ("ab"[text != "a"] + ".index")
        code, _, err = miner("index", tmp_path / text, *model, *options, "-o", output)
        assert code == 0 and (told in err) == warned, err


def test_what_was_measured_of_the_quality_tells_of_rows_that_are_judged_alone():
    """The note names each language once; its level is about mining."""
    facts = {"accuracy": {"x": 0.3}, "quality_bound": 0.02}
    known = {
        "he": KnownLanguage(9, wrong_kept=0.46, **facts),
        "lv": KnownLanguage(9, wrong_kept=0.035, **facts),
        "en": KnownLanguage(900_000),
    }
    english = Identified((("en", 1.0),), None, 9000)
    for code, words in (("he", ["tells little in Hebrew (he)"]), ("lv", [])):
        sides = Identified(((code, 1.0),), None, 9000), english
        found = [*doubts(sides, known, by_row=True)]
        assert len(found) == len(words) and all(word in found[0] for word in words)
        assert "weak in" in next(doubts(sides, known))
