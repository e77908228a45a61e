"""Lines about the languages of two texts."""

import dataclasses
from pathlib import Path

import pytest

from miner.encoder.known_languages import KnownLanguage
from miner.encoder.model import Model, load
from miner.scoring.language_notes import describe_both, doubts, mismatched, one_language
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
    # A few words do not tell.
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
