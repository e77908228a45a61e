"""Transliteration: names of one side are matched in another script."""

from typing import Any

import numpy as np
import pytest

from miner.errors import ArtifactError
from miner.kernels import segments
from miner.kernels.letters import LONGEST, WORDS
from miner.scoring.transliteration import ARRAYS, FIRST, Names, codes_of, normalised, spell
from miner_train.language_texts import LanguageText
from miner_train.learn_names import WORD, learn_names

LATIN, CYRILLIC = "abdegiklmnoprstuv", "абдегиклмнопрстув"


class Pieces:
    """Word tokenizer with the methods that a model of names uses."""

    digest = ""

    def __init__(self, texts: list[str]):
        self.words = sorted({f"▁{word.lower()}" for text in texts for word in text.split()})

    def spellings(self) -> list[str]:
        return self.words

    def __call__(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        lists = [[self.words.index(f"▁{word.lower()}") for word in text.split()] for text in texts]
        offsets = np.cumsum([0, *map(len, lists)])
        return np.array([i for one in lists for i in one], dtype=np.int32), offsets


def bitext(seed: int, count: int) -> tuple[list[str], list[str]]:
    """Make sentences with names; every second one is translated, not transliterated."""
    generator = np.random.default_rng(seed)
    spelled = str.maketrans(LATIN, CYRILLIC)
    sides: tuple[list[str], list[str]] = ([], [])
    for _ in range(count):
        name = "".join(generator.choice(list(LATIN), generator.integers(4, 8)))
        other = "ыщэю" if generator.random() < 0.5 else name.translate(spelled)
        sides[0].append(f"жыл {other}" + " хэц" * generator.integers(0, 5))
        sides[1].append(f"there lived {name.capitalize()} once")
    return sides


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    sides = bitext(1, 600)
    plain = ["there lived one once"] * 5
    text = (sides[0] + ["жыл хэц"] * 5, sides[1] + plain)
    return learn_names([LanguageText(("xx", "en"), ([], []), text)])


def test_names_that_nobody_saw_are_found(arrays: dict[str, np.ndarray]) -> None:
    source = ["жыл мадрид хэц", "жыл мадрид хэц", "жыл хэц", "there lived Madrid once"]
    target = ["there lived Madrid once", "there lived Bogota once", *source[-1:] * 2]
    pieces = Pieces(source + target)
    names = Names(arrays, pieces, "m")
    rows = np.arange(len(source))
    share = names.share(pieces(source), pieces(target), rows, rows)
    assert share[0] > 0.45 and share[1:3].max() < 0.2
    assert share[3] == 0  # both sides in Latin letters
    # Whichever side is the source, and in whatever batch.
    assert np.array_equal(names.share(pieces(target), pieces(source), rows, rows), share)
    alone = [names.share(pieces(source), pieces(target), rows[i:], rows[i:])[0] for i in rows]
    assert alone == share.tolist()


def test_most_names_and_no_text(arrays: dict[str, np.ndarray]) -> None:
    source, target = ["мадрид", "", "мадрид"], [" ".join(["Madrid"] * 50), "Madrid", ""]
    pieces = Pieces(source + target)
    rows = np.arange(3)
    share = Names(arrays, pieces, "m").share(pieces(source), pieces(target), rows, rows)
    assert WORDS / (WORDS + 1) > share[0] > 0.8 * WORDS / (WORDS + 1)
    assert share[1:].tolist() == [0, 0]


def test_nothing_to_learn_from() -> None:
    assert learn_names([]) == {}
    latin = (["es lebte Madrid einmal"] * 9, ["there lived Madrid once"] * 9)
    assert learn_names([LanguageText(("de", "en"), ([], []), latin)]) == {}
    # A single name, which occurs in all sentences.
    one = (["жыл мадрид"] * 9, ["there lived Madrid"] * 9)
    assert learn_names([LanguageText(("xx", "en"), ([], []), one)]) == {}


def test_no_more_letters_than_codes() -> None:
    rare = [chr(0x20000 + i) for i in range(1 << segments.FOREIGN_BITS)]
    more = ["".join(rare[i : i + 256]) for i in range(0, len(rare), 256)] * 3
    own, other = bitext(1, 300)
    texts = (own + more, other + ["one"] * len(more))
    letters = learn_names([LanguageText(("xx", "en"), ([], []), texts)])["letters"]
    assert FIRST + len(letters) == 1 << segments.FOREIGN_BITS
    assert set(map(ord, CYRILLIC)) <= set(letters.tolist())


def test_phrases_without_spaces_are_not_taken_for_words(monkeypatch: pytest.MonkeyPatch) -> None:
    generator, learned = np.random.default_rng(2), segments.learn
    burmese = [chr(0x1000 + i) for i in range(len(LATIN))]
    texts: tuple[list[str], list[str]] = ([], [])
    for i in range(300):
        name = generator.choice(len(LATIN), generator.integers(4, 8)).tolist()
        # By itself, or inside a phrase.
        around = generator.choice(burmese, (2, 60 * (i % 3 > 0))).tolist()
        texts[0].append("".join([*around[0], *(burmese[one] for one in name), *around[1]]))
        texts[1].append("there lived " + "".join(LATIN[one] for one in name).capitalize())
    longest = []

    def learn(foreign: segments.Words, latin: segments.Words) -> Any:
        longest.append(int(np.diff(foreign[1]).max()))
        return learned(foreign, latin)

    monkeypatch.setattr("miner_train.learn_names.learn", learn)
    assert learn_names([LanguageText(("my", "en"), ([], []), texts)])
    assert max(longest) <= WORD + LONGEST


@pytest.mark.parametrize(
    ("letters", "expected"),
    [("É", "e"), ("ß", "ss"), ("Щ", "щ"), ("ά", "α"), ("한", "\u1112\u1161\u11ab"), ("ｶ", "カ")]
    + [("\u064e", ""), ("-", " "), ("7", " "), ("क", "क"), ("ि", "ि"), ("ー", "ー")]
    + [("İ", "i"), ("\u0301", "")],
)
def test_letters_are_normalised(letters: str, expected: str) -> None:
    assert normalised(letters) == expected


def test_texts_are_spelled() -> None:
    codes = codes_of(np.array([ord("щ")], dtype=np.uint32))
    flat, offsets = spell(["Ab щ", "", "ж"], codes)
    assert flat.tolist() == [1, 2, 0, 28, 27] and offsets.tolist() == [0, 4, 4, 5]


def test_faulty_arrays(arrays: dict[str, np.ndarray]) -> None:
    pieces = Pieces(["a"])
    faults = [
        ("gains", arrays["gains"][1:]),
        ("gains", arrays["gains"].astype(str)),
        ("weights", np.full(5, np.nan, np.float32)),
        ("letters", arrays["letters"][:1]),
        ("ordinary", arrays["ordinary"].astype(str)),
    ]
    for name, array in faults:
        with pytest.raises(ArtifactError, match="m: its model of names cannot be used"):
            Names({**arrays, name: array}, pieces, "m")
    with pytest.raises(ArtifactError):
        Names({name: arrays[name] for name in ARRAYS[1:]}, pieces, "m")
