"""miner.text.corruptions: an English sentence with one changed fact, or None."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.text.corruptions import KINDS, Material, corrupt, seeded

SENTENCES = [
    "Last year, Maria Weber moved to Lisbon with her two children, who were still small.",
    "The price rose by 12 percent, said the minister, but the company did not agree.",
    "After the meeting in Oslo, the delegation visited Bergen, because Anders Lie had asked them.",
    "He is a good teacher.",
]
MATERIAL = Material.of(SENTENCES)


def every(text: str, kind: str) -> set[str | None]:
    """Return the corruptions by many generators."""
    return {corrupt(text, kind, MATERIAL, random.Random(seed)) for seed in range(60)}


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("negation", "They did not agree.", {"They did agree."}),
        ("negation", "They can’t come.", {"They can come."}),
        ("negation", "We cannot pay.", {"We can pay."}),
        ("negation", "I don't know.", {"I do know."}),
        ("negation", "Never say so.", {"Say so."}),
        ("negation", "The door is open.", {"The door is not open."}),
        ("negation", "Is the door open?", {None}),
        ("negation", "There is no door.", {None}),
        ("negation", "Doors open.", {None}),
        ("antonym", "Prices ROSE.", {"Prices FELL."}),
        ("antonym", "Before noon.", {"After noon."}),
        ("antonym", "Blue tables.", {None}),
        ("gender", "I saw her yesterday.", {"I saw him yesterday."}),
        ("gender", "I saw her.", {"I saw him."}),
        ("gender", "Her dog ran.", {"His dog ran."}),
        ("gender", "A king.", {"A queen."}),
        ("tense", "It was late.", {"It is late."}),
        ("names swapped", "We flew from Rome to Bern.", {"We flew from Bern to Rome."}),
        ("names swapped", "We saw Rome, Bern and Nice.", {None}),
        ("names swapped", "Rome is old.", {None}),
        ("name replaced", "Everyone loves nobody.", {None}),
        ("name replaced", "Rome Falls To Bern", {None}),  # a title
        ("word added", "Go home.", {None}),
        ("clause omitted", "Go home, or do not.", {None}),
        ("number", "We may march on.", {None}),
    ],
)
def test_rules(kind: str, text: str, expected: set[str | None]) -> None:
    assert every(text, kind) == expected


def test_numbers_stay_numbers_of_their_kind() -> None:
    assert every("In 1905.", "number") == {f"In {first}905." for first in "23456789"}
    found = every("Two dogs met on Monday.", "number")
    assert "Three dogs met on Monday." in found and "Two dogs met on Friday." in found


def test_material_comes_from_other_sentences() -> None:
    assert MATERIAL.names[1] == ("Lisbon", "Oslo", "Bergen")
    assert MATERIAL.names[2] == ("Maria Weber", "Anders Lie")
    assert "said the minister" in MATERIAL.clauses
    assert corrupt(SENTENCES[1], "name replaced", MATERIAL) is None
    assert every("Last week we saw John Smith.", "name replaced") == {
        "Last week we saw Maria Weber.",
        "Last week we saw Anders Lie.",
    }
    clauses = every(SENTENCES[3], "clause added")
    assert "He is a good teacher, said the minister." in clauses
    assert corrupt(SENTENCES[3], "clause added", Material.of([])) is None


def test_clauses() -> None:
    assert every(SENTENCES[1], "clause omitted") >= {
        "The price rose by 12 percent, but the company did not agree.",
        "The price rose by 12 percent, said the minister.",
        "Said the minister, but the company did not agree.",
    }


def test_articles_fit_an_added_word() -> None:
    found = every("He owns a house.", "word added")
    assert "He owns an empty house." in found and "He owns a small house." in found


@given(st.text(max_size=80), st.sampled_from(sorted(KINDS)), st.integers(0, 99))
def test_any_text_is_changed_or_left_alone(text: str, kind: str, seed: int) -> None:
    found = corrupt(text, kind, MATERIAL, random.Random(seed))
    assert found is None or found != text


@given(st.sampled_from(SENTENCES), st.sampled_from(sorted(KINDS)))
def test_the_text_alone_decides(text: str, kind: str) -> None:
    assert corrupt(text, kind, MATERIAL) == corrupt(text, kind, Material.of(SENTENCES))
    assert seeded(kind, text).random() == seeded(kind, text).random() != seeded(kind).random()
