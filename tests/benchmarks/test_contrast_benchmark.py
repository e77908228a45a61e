"""Benchmark of changed facts: each rule changes one fact and nothing else."""

import pytest

from benchmarks.filtering.changed_facts import ENGLISH, FOREIGN, changed
from benchmarks.filtering.contrast import PARTS

NUMBERS = ["Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"]
MANY = {f"Two {n}." for n in ("hundred", "million", "billion")}
TENS = ("trente", "quarante", "cinquante", "soixante")


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("negation", "Tom didn't sleep.", {"Tom did sleep."}),
        ("negation", "I can't go, Tom.", {"I can go, Tom."}),
        ("negation", "Never say that.", {"Say that."}),
        ("negation", "He is tired.", {"He is not tired."}),
        ("negation", "I know him.", {"I don't know him."}),
        ("negation", "Is he tired?", {None}),
        ("negation", "I don't know nobody.", {None}),
        ("number words", "Two thousand.", {f"{n} thousand." for n in NUMBERS} | MANY),
        ("digits", "Room 207.", {f"Room 20{n}." for n in range(1, 10) if n != 7}),
        ("digits", "No number.", {None}),
        ("opposites", "Hot tea.", {"Cold tea."}),
        ("persons", "I agree.", {"You agree."}),
        ("persons", "Is she here?", {"Is he here?"}),
        ("times", "We march in summer.", {"We march in winter."}),
    ],
)  # fmt: skip
def test_english_rules(kind, text, expected):
    assert changed(text, ENGLISH[kind]) in expected


@pytest.mark.parametrize(
    ("language", "kind", "text", "expected"),
    [
        ("de", "negation", "Ich kann nicht kommen.", {"Ich kann kommen."}),
        ("de", "negation", "Ich habe keinen Hund.", {"Ich habe einen Hund."}),
        ("fr", "negation", "Je n'ai pas faim.", {"Je ai faim."}),
        ("es", "negation", "No tengo hambre.", {"Tengo hambre."}),
        ("fr", "number words", "Elle a vingt ans.", {f"Elle a {n} ans." for n in TENS}),
        ("es", "times", "Hola.", {None}),
    ],
)  # fmt: skip
def test_foreign_rules(language, kind, text, expected):
    assert changed(text, FOREIGN[language][kind]) in expected


def test_settings_are_not_chosen_on_text_that_is_reported():
    sets = [{(name, code) for name in part for code in part[name]} for part in PARTS.values()]
    assert sets[0] and sets[1]
    assert not sets[0] & sets[1]
