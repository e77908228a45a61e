"""Corruptions of English sentences that change the meaning by one fact, as xsim++ makes them.

A translation and its corruption are a contrast case: a good score prefers the translation (Chen et
al. 2023, xsim++; Karpinska et al. 2022, DEMETR). Evaluations measure on such cases, and training
learns from them. The rules know words, not grammar: a rule that finds no safe change returns None.
"""

import hashlib
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from miner.text import english_words as english

# Rule (text, material, generator) that returns the corrupted text, or None if it does not apply.
Rule = Callable[[str, "Material", random.Random], str | None]

# Minimum number of words in a clause, and in the sentence without it.
CLAUSE, REST = 3, 4
# Share of capitalised words from which a sentence counts as a title, without names.
TITLE = 0.6
# Maximum number of clauses and names collected from other sentences.
MATERIAL = 20_000

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CAPITALISED = re.compile(r"[A-ZÀ-ÖØ-Þ][\w-]*[^\W_](?: [A-ZÀ-ÖØ-Þ][\w-]*[^\W_])*")
# Context before a word that is capitalised because it opens a sentence or a quotation.
_OPENING = re.compile(r"(?:^|[.!?:;…\"“„«(\[*]|\s['‘-])\s*$")
_BREAK = re.compile(r"\s*[,;:–—]\s+|\s+-\s+|\s+(?=(?:but|because|which|while|when|who)\s)")
_LINKS = re.compile(r"\b(?:and|or|nor)\b")
_FINAL = re.compile(r"[\s.!?…\"'”’»)\]]*$")


@dataclass(frozen=True)
class Material:
    """Text of other sentences that corruptions insert.

    ``names``: names by their number of words. ``clauses``: parts of sentences, without the first
    and last part.
    """

    names: dict[int, tuple[str, ...]]
    clauses: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Iterable[str]) -> "Material":
        """Collect names and clauses, each once, from sentences in their order."""
        names: dict[int, dict[str, None]] = {}
        clauses: dict[str, None] = {}
        for text in sentences:
            for match in _names(text):
                name = match.group()
                names.setdefault(len(name.split()), {})[name] = None
            spans = _clauses(text)
            # The first clause starts with the sentence's capital; the last one ends with its full
            # stop.
            for start, end in spans[1:-1]:
                clauses[text[start:end]] = None
            if len(clauses) >= MATERIAL:
                break
        kept = {size: tuple(group)[:MATERIAL] for size, group in sorted(names.items())}
        return cls(kept, tuple(clauses)[:MATERIAL])


def corrupt(
    text: str, kind: str, material: Material, generator: random.Random | None = None
) -> str | None:
    """Corrupt an English sentence by one rule of `KINDS`; None where the rule does not apply.

    Without a ``generator`` the choice is determined by text, kind and material.
    """
    corrupted = KINDS[kind](text, material, generator or seeded(kind, text))
    return None if corrupted is None or corrupted == text else corrupted


def seeded(*content: str) -> random.Random:
    """Return a random generator seeded with a digest of the content."""
    return random.Random(hashlib.sha256("\0".join(content).encode("utf-8", "replace")).digest())


def _number(text: str, material: Material, generator: random.Random) -> str | None:
    """Replace a number, number word, month or weekday with another of its kind."""
    candidates: list[tuple[re.Match[str], tuple[str, ...]]] = [
        (match, ()) for match in _NUMBER.finditer(text)
    ]
    for match in _WORD.finditer(text):
        for row in (*english.NUMBER_WORDS, english.MONTHS, english.WEEKDAYS):
            word = match.group()
            # Lower-case "may" and "march" are verbs.
            if word in row or (row[0].islower() and word.lower() in row):
                candidates.append((match, row))
    if not candidates:
        return None
    match, row = generator.choice(candidates)
    if row:
        word = match.group()
        others = [other for other in row if other.lower() != word.lower()]
        return _replaced(text, match, _like(word, generator.choice(others)))
    # Draw another first digit, never a leading zero.
    first, rest = match.group()[0], match.group()[1:]
    other = generator.choice([digit for digit in "123456789" if digit != first])
    return _replaced(text, match, other + rest)


def _negation(text: str, material: Material, generator: random.Random) -> str | None:
    """Remove a negation, or negate an auxiliary verb where there is none.

    Questions are left alone, since their verb stands before its subject.
    """
    words = list(_WORD.finditer(text))
    for position, match in enumerate(words):
        word = match.group().replace("’", "'")
        low = word.lower()
        if low in english.CONTRACTIONS:
            return _replaced(text, match, _like(word, english.CONTRACTIONS[low]))
        if low.endswith("n't"):
            return _replaced(text, match, word[:-3])
        after_word = position and text[words[position - 1].end() : match.start()] == " "
        if low == "never" or (low == "not" and after_word):
            return _without(text, match)
    candidates = [
        match
        for match in words[1:]
        if match.group() in english.AUXILIARIES and text[match.end() : match.end() + 1] == " "
    ]
    if not candidates or text.rstrip().endswith("?") or english.NEGATIVE & {*text.lower().split()}:
        return None
    match = generator.choice(candidates)
    return f"{text[: match.end()]} not{text[match.end() :]}"


def _gender(text: str, material: Material, generator: random.Random) -> str | None:
    """Exchange a pronoun or noun for its counterpart of the other gender."""
    candidates = [
        match for match in _WORD.finditer(text) if match.group().lower() in english.GENDERS
    ]
    if not candidates:
        return None
    match = generator.choice(candidates)
    word = match.group()
    other = english.GENDERS[word.lower()]
    if word.lower() == "her":
        after = _WORD.match(text, match.end() + 1)
        noun = text[match.end() : match.end() + 1] == " " and after is not None
        if not noun or (after is not None and after.group().lower() in english.AFTER_OBJECT):
            other = "him"
    return _replaced(text, match, _like(word, other))


def _exchange(
    table: dict[str, str], text: str, material: Material, generator: random.Random
) -> str | None:
    """Replace one word according to a table."""
    candidates = [match for match in _WORD.finditer(text) if match.group().lower() in table]
    if not candidates:
        return None
    match = generator.choice(candidates)
    return _replaced(text, match, _like(match.group(), table[match.group().lower()]))


def _name_replaced(text: str, material: Material, generator: random.Random) -> str | None:
    """Replace a name with a name of another sentence, with the same number of words if possible."""
    names = _names(text)
    if not names:
        return None
    match = generator.choice(names)
    name = match.group()
    of_size = material.names.get(len(name.split()), ()) or material.names.get(1, ())
    for _ in range(10):
        other = generator.choice(of_size) if of_size else name
        if not set(other.split()) & set(text.split()):
            return _replaced(text, match, other)
    return None


def _names_swapped(text: str, material: Material, generator: random.Random) -> str | None:
    """Exchange two different names of the sentence for each other."""
    names = _names(text)
    pairs = [
        (first, second)
        for number, first in enumerate(names)
        for second in names[number + 1 :]
        if not set(first.group().split()) & set(second.group().split())
        # "Rome, Bern and Paris" mean the same in any order.
        and _WORD.search(_CAPITALISED.sub("", _LINKS.sub("", text[first.end() : second.start()])))
    ]
    if not pairs:
        return None
    first, second = generator.choice(pairs)
    middle = text[first.end() : second.start()]
    return f"{text[: first.start()]}{second.group()}{middle}{first.group()}{text[second.end() :]}"


def _clause_omitted(text: str, material: Material, generator: random.Random) -> str | None:
    """Drop a clause, with the comma or conjunction at its beginning."""
    spans = _clauses(text)
    every = len(text.split())
    candidates = []
    for number, (start, end) in enumerate(spans):
        size = len(text[start:end].split())
        if size >= CLAUSE and every - size >= REST and size <= 0.6 * every:
            candidates.append(number)
    if not candidates:
        return None
    number = generator.choice(candidates)
    if number == 0:
        rest = text[spans[1][0] :]
        rest = re.sub(r"^(and|but|because|which|while|when|who)\s+", "", rest)
        return rest[:1].upper() + rest[1:]
    return text[: spans[number - 1][1]] + text[spans[number][1] :]


def _clause_added(text: str, material: Material, generator: random.Random) -> str | None:
    """Insert a clause of another sentence before the final punctuation."""
    if not material.clauses or len(text.split()) < REST:
        return None
    clause = generator.choice(material.clauses)
    if clause in text:
        return None
    final = _FINAL.search(text)
    end = final.start() if final else len(text)
    return f"{text[:end]}, {clause}{text[end:]}"


def _word_added(text: str, material: Material, generator: random.Random) -> str | None:
    """Insert an adjective between a determiner and its noun."""
    words = list(_WORD.finditer(text))
    candidates = [
        (determiner, noun)
        for determiner, noun in zip(words, words[1:], strict=False)
        if determiner.group().lower() in english.DETERMINERS
        and text[determiner.end() : noun.start()] == " "
        and noun.group().islower()
        and len(noun.group()) > 2
        and noun.group() not in english.NO_NOUN
    ]
    modifiers = [word for word in english.MODIFIERS if word.lower() not in text.lower().split()]
    if not candidates or not modifiers:
        return None
    determiner, _ = generator.choice(candidates)
    modifier = generator.choice(modifiers)
    article = determiner.group()
    if article.lower() in ("a", "an"):
        article = _like(article, "an" if modifier[0] in "aeiouAEIOU" else "a")
    return f"{text[: determiner.start()]}{article} {modifier}{text[determiner.end() :]}"


# Corruptions by name.
KINDS: dict[str, Rule] = {
    "number": _number,
    "negation": _negation,
    "antonym": partial(_exchange, english.ANTONYMS),
    "name replaced": _name_replaced,
    "names swapped": _names_swapped,
    "clause omitted": _clause_omitted,
    "clause added": _clause_added,
    "word added": _word_added,
    "gender": _gender,
    "tense": partial(_exchange, english.TENSES),
}


def _names(text: str) -> list[re.Match[str]]:
    """Find names in a sentence: runs of capitalised words. A title has none.

    The first word of a sentence is always capitalised, so it counts only with a second capitalised
    word.
    """
    words = _WORD.findall(text)
    capitals = sum(word[0].isupper() for word in words)
    if capitals > TITLE * len(words):
        return []
    names = []
    for match in _CAPITALISED.finditer(text):
        name = match.group()
        first = _OPENING.search(text, 0, match.start()) is not None
        parts = name.split()
        if (first and len(parts) == 1) or any(
            part.strip(".") in english.NO_NAMES for part in parts
        ):
            continue
        # "The European Union", "But John": the first word may not belong to the name.
        if parts[0].lower() in english.OPENERS:
            continue
        names.append(match)
    return names


def _clauses(text: str) -> list[tuple[int, int]]:
    """Split a sentence at commas, dashes and conjunctions; return spans without the final marks.

    A span starts after the comma, and at its conjunction.
    """
    final = _FINAL.search(text)
    end = final.start() if final else len(text)
    spans, start = [], 0
    for match in _BREAK.finditer(text, 0, end):
        if match.start() > start:
            spans.append((start, match.start()))
            start = match.end()
    if end > start:
        spans.append((start, end))
    return spans


def _replaced(text: str, match: re.Match[str], word: str) -> str:
    return f"{text[: match.start()]}{word}{text[match.end() :]}"


def _without(text: str, match: re.Match[str]) -> str:
    """Cut a word with the space before it, or after it at the start of the text."""
    before, after = text[: match.start()], text[match.end() :]
    if before.endswith(" "):
        return before[:-1] + after
    after = after.lstrip()
    return before + after[:1].upper() + after[1:]


def _like(word: str, other: str) -> str:
    """Write ``other`` with the capitals of ``word``."""
    if len(word) > 1 and word.isupper():
        return other.upper()
    return other[:1].upper() + other[1:] if word[:1].isupper() else other
