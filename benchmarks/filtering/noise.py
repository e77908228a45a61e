"""Synthetic noise of the kinds in WMT's filtering tasks.

Each kind is a function of a pair's position, the corpus, and a generator. It returns the corrupted
pair, or None if it does not apply: a pair without a number has none to change.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

Pair = tuple[str, str]
T = TypeVar("T")

# Maximum tries: wrong targets to choose the one nearest in length from, other pairs to find a
# clause in, and random numbers.
TRIES = 50
# Minimum words of a text to shuffle or cut, and of a clause.
WORDS, CLAUSE = 4, 3
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"\b[^\W\d_]{3,}\b")
# At the start of a sentence, also after an opening quote, capitals do not mark names.
_START = re.compile(r"^\W*$|[.!?:…]\W*$")
_BREAK = re.compile(r"(?<=[,;:])\s+")
_END = re.compile(r"[\s.,;:!?…]*$")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Good text of one domain.

    pairs: in the order of their documents. documents: the document of each pair. third: sentences
    of a third language.
    """

    pairs: Sequence[Pair]
    documents: Sequence[str]
    third: Sequence[str]

    @cached_property
    def names(self) -> list[str]:
        """Distinct names of all pairs, in alphabetical order."""
        return sorted({name for pair in self.pairs for name in names(pair)})

    def other(self, place: int, generator: np.random.Generator) -> int:
        """Return the place of another pair, or -1 if there is none."""
        if len(self.pairs) < 2:
            return -1
        return int((place + generator.integers(1, len(self.pairs))) % len(self.pairs))


Noise = Callable[[int, Corpus, np.random.Generator], Pair | None]


def misaligned(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Replace the target by that of another pair."""
    other = corpus.other(place, generator)
    return _with(corpus.pairs[place], corpus.pairs[other][1]) if other >= 0 else None


def misaligned_alike(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Replace the target by one of similar length: of `TRIES`, the nearest in characters."""
    pair = corpus.pairs[place]
    others = [corpus.other(place, generator) for _ in range(TRIES)]
    targets = [corpus.pairs[other][1] for other in others if other >= 0]
    targets = [target for target in targets if target != pair[1]]
    if not targets:
        return None
    return _with(pair, min(targets, key=lambda target: abs(len(target) - len(pair[1]))))


def neighbour(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Replace the target by that of the next pair of the document."""
    after = place + 1
    if after == len(corpus.pairs) or corpus.documents[after] != corpus.documents[place]:
        return None
    return _with(corpus.pairs[place], corpus.pairs[after][1])


def shuffled(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Shuffle the words of the target."""
    pair = corpus.pairs[place]
    words = pair[1].split()
    if len(words) < WORDS:
        return None
    return _with(pair, " ".join(words[one] for one in generator.permutation(len(words)).tolist()))


def wrong_language(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Replace the target by a sentence of a third language."""
    if not corpus.third:
        return None
    return _with(corpus.pairs[place], _one_of(corpus.third, generator))


def copied(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Copy the source to the target."""
    pair = corpus.pairs[place]
    return _with(pair, pair[0])


def truncated(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Keep the first half of the words of the target."""
    pair = corpus.pairs[place]
    words = pair[1].split()
    return _with(pair, " ".join(words[: len(words) // 2])) if len(words) >= WORDS else None


def over_translated(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Add a clause of another target to the end of the target."""
    pair = corpus.pairs[place]
    longer = _longer(pair[1], place, corpus, 1, generator)
    return _with(pair, longer) if longer else None


def under_translated(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Add a clause of another source to the end of the source."""
    source, target = corpus.pairs[place]
    longer = _longer(source, place, corpus, 0, generator)
    return (longer, target) if longer else None


def number_changed(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Change a number of the target that both sides have to another with as many digits."""
    source, target = corpus.pairs[place]
    known = {*_NUMBER.findall(source), *_NUMBER.findall(target)}
    shared = [
        found for found in _NUMBER.finditer(target) if found.group() in _NUMBER.findall(source)
    ]
    if not shared:
        return None
    chosen = _one_of(shared, generator)
    digits = len(chosen.group())
    # A sentence may contain every number of one digit.
    for _ in range(TRIES):
        number = "".join(map(str, generator.integers(0, 10, digits).tolist()))
        if number not in known and (digits == 1 or number[0] != "0"):
            return _with((source, target), _replaced(target, chosen, number))
    return None


def name_swapped(place: int, corpus: Corpus, generator: np.random.Generator) -> Pair | None:
    """Change a name of the target that both sides have to another name of the corpus."""
    source, target = corpus.pairs[place]
    shared = _names(source, target)
    if not shared:
        return None
    others = [name for name in corpus.names if name not in source and name not in target]
    if not others:
        return None
    found, other = _one_of(shared, generator), _one_of(others, generator)
    return _with((source, target), _replaced(target, found, other))


def names(pair: Pair) -> list[str]:
    """Return the names of a pair: words of three letters or more on both sides.

    A name begins with a capital inside a sentence on both sides, and has a lower-case letter.
    """
    return [found.group() for found in _names(*pair)]


def _names(source: str, target: str) -> list[re.Match[str]]:
    """Return the matches of the names in the target."""
    known = {found.group() for found in _capitals(source)}
    return [found for found in _capitals(target) if found.group() in known]


def _capitals(text: str) -> list[re.Match[str]]:
    return [
        found
        for found in _NAME.finditer(text)
        if found.group()[0].isupper()
        and not found.group().isupper()
        and not _START.search(text[: found.start()])
    ]


def _longer(
    text: str, place: int, corpus: Corpus, side: int, generator: np.random.Generator
) -> str | None:
    """Add a clause of another pair to the text, before its final marks."""
    for _ in range(TRIES):
        other = corpus.other(place, generator)
        if other < 0:
            return None
        # A clause from the start of a sentence loses its capital.
        said = corpus.pairs[other][side]
        clauses = [_END.sub("", one) for one in _BREAK.split(said[:1].lower() + said[1:])]
        clauses = [one for one in clauses if len(one.split()) >= CLAUSE and one not in text]
        if clauses:
            body = _END.sub("", text)
            clause = _one_of(clauses, generator)
            return f"{body}, {clause}{text[len(body) :].rstrip()}"
    return None


def _with(pair: Pair, target: str) -> Pair | None:
    """Return the pair with another target; None if the target is the same."""
    return None if target == pair[1] else (pair[0], target)


def _replaced(text: str, found: re.Match[str], by: str) -> str:
    return f"{text[: found.start()]}{by}{text[found.end() :]}"


def _one_of(values: Sequence[T], generator: np.random.Generator) -> T:
    return values[int(generator.integers(len(values)))]


KINDS: dict[str, Noise] = {
    "misaligned": misaligned,
    "misaligned, equal length": misaligned_alike,
    "next pair's target": neighbour,
    "words shuffled": shuffled,
    "wrong language": wrong_language,
    "copied": copied,
    "truncated": truncated,
    "over-translated": over_translated,
    "under-translated": under_translated,
    "number changed": number_changed,
    "name swapped": name_swapped,
}
