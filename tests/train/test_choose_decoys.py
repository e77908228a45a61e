"""Decoys of a model, by language, and the record of its languages."""

import numpy as np
import pytest
from support.near_copies import sentences

from miner.encoder.known_languages import KnownLanguage
from miner_train import choose_decoys as choosing
from miner_train.choose_decoys import LONGEST, SHORTEST, choose_decoys
from miner_train.data import UNKNOWN, PairData, Sentences, SplitPairs, text_ids
from miner_train.language_texts import recorded_languages


def split_of(*parts: tuple[str | None, list[str], list[str]]) -> SplitPairs:
    """Return pairs of several language pairs without held-out ones; token ids do not matter."""
    names = sorted(name for name, _, _ in parts if name is not None)
    source = [text for _, side, _ in parts for text in side]
    target = [text for _, _, side in parts for text in side]
    numbers = [UNKNOWN if name is None else names.index(name) for name, _, _ in parts]
    language = np.repeat(np.array(numbers, np.int16), [len(side) for _, side, _ in parts])
    ids: dict[str, int] = {}
    rows = np.arange(len(source))
    nothing = Sentences(np.zeros(0, np.int32), np.zeros(1, np.int64))
    texts = text_ids(source, ids), text_ids(target, ids)
    pairs = PairData(
        nothing, nothing, *texts, np.ones(len(rows), bool), language, np.zeros(len(rows), bool)
    )
    return SplitPairs(pairs, rows, rows[:0], list(ids), names)


def lines(word: str, count: int) -> list[str]:
    return [f"{word} that is long enough, number {i}" for i in range(count)]


def test_decoys_are_distinct_sentences_of_every_language() -> None:
    long = ["x" * (LONGEST + 1), "short"]
    split = split_of(
        ("de-en", lines("de", 50) * 2 + long, lines("en", 50) * 2 + long),
        ("fr-en", lines("fr", 30), lines("en", 30)),
    )
    rows = split.training
    decoys = choose_decoys(split, rows, seed=3)
    assert {code: len(found) for code, found in decoys.items()} == {"de": 50, "en": 50, "fr": 30}
    for code, found in decoys.items():
        assert all(text.startswith(code) and SHORTEST <= len(text) <= LONGEST for text in found)
    assert decoys == choose_decoys(split, rows, seed=3)
    assert "fr" not in choose_decoys(split, rows[:102], seed=3)


def test_numbers_of_decoys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "MOST", 20)
    monkeypatch.setattr(choosing, "EACH", 5)
    both = ("de-en", lines("de", 40), lines("en", 40))
    two = choose_decoys(split_of(both), np.arange(40), seed=1)
    assert {code: len(found) for code, found in two.items()} == {"de": 20, "en": 20}
    split = split_of(both, ("fr-en", lines("fr", 40), lines("more en", 40)))
    three = choose_decoys(split, split.training, seed=1)
    assert {code: len(found) for code, found in three.items()} == {"de": 5, "en": 20, "fr": 5}
    assert three["en"] != choose_decoys(split, split.training, seed=2)["en"]


def test_unnamed_languages_are_identified_or_left_open() -> None:
    german, english = sentences("de"), sentences("en")
    decoys = choose_decoys(split_of((None, german, english)), np.arange(60), seed=1)
    assert set(decoys) == {"de", "en"}
    mixed = split_of((None, german + english, english + german))
    assert set(choose_decoys(mixed, np.arange(120), seed=1)) == {""}
    nothing = split_of()
    assert choose_decoys(nothing, nothing.training, seed=1) == {}


def test_the_languages_are_recorded() -> None:
    split = split_of(
        ("de-en", lines("de", 7), lines("en", 7)), ("eng-fra", lines("en", 3), lines("fr", 3))
    )
    counts = [
        {"name": "web.tsv.xz", "languages": "de-en", "pairs": 5},
        {"name": "books.tsv", "languages": "de-en", "pairs": 3},
        {"name": "web.tsv.gz", "languages": "eng-fra", "pairs": 3},
        {"name": "other.tsv", "pairs": 9},
    ]
    assert recorded_languages(split, counts) == {
        "de": KnownLanguage(7, {"web": 5, "books": 3}),
        "en": KnownLanguage(10, {"web": 8, "books": 3}),
        "fr": KnownLanguage(3, {"web": 3}),
    }
    assert recorded_languages(split_of(), counts) == {}
