"""Classes of facts in English sentences: which of them a sentence has, and which are excused.

The words of the classes are compared by the kernels (:mod:`miner.kernels.facts`). Numbers that the
other side has in digits, and idioms that only seem to have a fact, are excused here.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from miner.kernels import facts as kernel
from miner.ragged import offsets_of
from miner.text.numeral import plain_digits

# Expressions, by the kind of fact that they only seem to have, each with parts of theirs, of which
# one is found sooner.
_IDIOMS = {
    "number": (("half",), re.compile(r"\bhalf[ -]past\b", re.IGNORECASE)),
    "negation": (
        ("than", "?", "before", "until"),
        re.compile(
            r"\bno (?:later|sooner|less|more|fewer) than\b"
            r"|n['’]t (?:i|you|he|she|it|we|they|there)\?"
            r"|\bnot\b[^.?!]{0,50}\b(?:before|until)\b",
            re.IGNORECASE,
        ),
    ),
}
# The number of classes such as "two" and "second".
TWO = kernel.NUMBERS + 2
# First words of classes of which one may stand for the other: "ein Viertel", "a quarter".
FORMS = ("one half", "one third", "one quarter", "fourth quarter", "fifteen quarter", "thirty half")


class FactClass(NamedTuple):
    """Class of words: its kind, its words, the classes that it excludes, and how it is tested.

    ``again``: the class that a second of these words in a sentence has, -1 for none. ``excuses``:
    words that may translate the class. ``number``: the one that the words mean below
    `kernel.NUMBERS`, plus that for a part of numbers, -1 for none. Where the other side has it in
    digits it is no fact.
    """

    kind: str
    words: Sequence[str]
    excludes: Sequence[int] = ()
    tested: int = kernel.ADDED | kernel.MISSING
    again: int = -1
    excuses: Sequence[str] = ()
    number: int = -1


class Reader:
    """Finds the classes of facts in English sentences, and the evidence that they give."""

    def __init__(self, classes: Sequence[FactClass]):
        self.classes = classes
        self.kinds = list(dict.fromkeys(one.kind for one in classes))
        owners: dict[str, list[int]] = {}
        for number, one in enumerate(classes):
            for word in dict.fromkeys(one.words):
                owners.setdefault(word, []).append(number)
            for word in dict.fromkeys(one.excuses):
                owners.setdefault(word, []).append(-1 - number)
        self.kind = np.array([self.kinds.index(one.kind) for one in classes], np.int32)
        self.tested = np.array([one.tested for one in classes], np.uint8)
        again = np.array([one.again for one in classes], np.int32)
        hashed = sorted((_hash(word), word) for word in owners)
        self._words = (
            np.array([value for value, _ in hashed], np.uint64),
            offsets_of(np.array([len(owners[word]) for _, word in hashed])).astype(np.int32),
            np.array([number for _, word in hashed for number in owners[word]], np.int32),
            np.array([self._number(word, owners[word]) for _, word in hashed], np.int32),
            again,
            np.array([max(one.number - kernel.NUMBERS, -1) for one in classes], np.int32),
        )
        self.excluded = (
            offsets_of(np.array([len(one.excludes) for one in classes])).astype(np.int32),
            np.array([other for one in classes for other in one.excludes], np.int32),
        )

        forms: dict[int, list[int]] = {}
        for number, one in enumerate(classes):
            value = TWO if "twice" in one.words else one.number
            forms.setdefault(value, []).append(number)
        # Classes of one number, as five and fifth, and others that may stand for each other.
        known = (own for value, own in forms.items() if value not in (-1, kernel.NUMBERS))
        self.forms = [own for own in known if len(own) > 1]
        named = {one.words[0]: number for number, one in enumerate(classes) if one.words}
        pairs = [pair.split() for pair in FORMS]
        self.forms += [[named[a], named[b]] for a, b in pairs if {a, b} <= named.keys()]

    def _number(self, word: str, owners: Sequence[int]) -> int:
        return int(word) if word.isdigit() else max(self.classes[one].number for one in owners)

    def read(self, english: Sequence[str], other: Sequence[str]) -> np.ndarray:
        """Return the marks of all classes in English sentences, ``(n, k) uint8``.

        ``other`` are their other sides. Numbers of a sentence with "half past seven" are excused:
        many languages name the next hour there. So are negations of "no later than", "not
        until" and "isn't it?".
        """
        other = [*map(plain_digits, other)]
        seen = np.zeros((len(english), len(self.classes)), np.uint8)
        kernel.read_facts(*_bytes(english), *_bytes(other), *self._words, seen)
        for kind in _IDIOMS.keys() & set(self.kinds):
            parts, idiom = _IDIOMS[kind]
            rows = [
                i
                for i, text in enumerate(english)
                if any(part in text.lower() for part in parts) and idiom.search(text)
            ]
            classes = np.flatnonzero(self.kind == self.kinds.index(kind))
            seen[np.ix_(np.array(rows, np.int64), classes)] = kernel.EXCUSED
        return seen

    def excuse_forms(self, logits: np.ndarray, seen: np.ndarray) -> None:
        """Excuse a number in ``seen`` where another form of it is likely: year five, fifth year."""
        for own in self.forms:
            named = (seen[:, own] == kernel.PRESENT).any(axis=1)
            rows = np.flatnonzero(named & (logits[:, own] > 0).any(axis=1))
            seen[np.ix_(rows, np.array(own))] = kernel.EXCUSED

    def evidence(self, logits: np.ndarray, seen: np.ndarray, tested: np.ndarray) -> np.ndarray:
        """Return the evidence of each kind against sentences, ``(n, kinds, 3) float32``."""
        out = np.zeros((len(seen), len(self.kinds) * kernel.EVIDENCE), np.float32)
        kernel.evidence(logits, seen, self.kind, tested, *self.excluded, out)
        return out.reshape(len(seen), len(self.kinds), kernel.EVIDENCE)


def _bytes(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    flat = np.frombuffer(b"".join(encoded), np.uint8)
    return flat, offsets_of(np.fromiter(map(len, encoded), np.int64, len(encoded)))


def _hash(word: str) -> int:
    """Return the 64-bit FNV-1a hash of a word."""
    value = 14695981039346656037
    for byte in word.encode():
        value = ((value ^ byte) * 1099511628211) % (1 << 64)
    return value
