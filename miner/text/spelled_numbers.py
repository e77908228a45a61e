"""Numbers in words of many languages, read without knowing the language.

`number_words.tsv` has the words of each language and says how it was made. Words that stand beside
each other and share a language are one number, where they can be added and multiplied to one: two
hundred and five, dwa tysiące trzysta. In scripts without spaces a small number counts only before
a counter: 三人.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from miner.expressions import expression
from miner.text.counted_numbers import COUNT, COUNTED, counted
from miner.text.number_words import (
    FOLLOWING,
    FORMS,
    MAGNITUDE,
    POWERS,
    table,
)
from miner.text.numeral import Numeral


class Word(NamedTuple):
    """Number word with its possible values; a multiplier, such as hundred, ``times`` the others."""

    values: tuple[Decimal, ...]
    times: bool = False


BEHIND_DIGIT = expression(r"\d[ -]?$")
# Characters between the ends of a range at most, and the least word of magnitude that they share.
_RANGE, _LARGE = 6, 1000
# Words of a number that are read at most, and values of a number at most.
_LONG, _MOST = 12, 4
# Languages whose digit stands before the ten: dua belas, خمسة وعشرون.
_DIGIT_FIRST = ("ar", "af", "id", "ms")
# Languages that do not say twenty-five in this order, and others that say ten-five.
_NOT_TEN_FIRST, _TEN_FIRST = ("ar", "af", "da", "de", "nl", "sl"), ("am", "az", "kz", "tr", "vi")
_ENGLISH, _FRENCH = "en", "fr"
# Proof that "ten" is not the Polish or Czech word for this.
_ENGLISH_TEXT = re.compile(
    r"\b(?:the|of|and|is|are|was|were|at|for|have|has|had|he|she|you|they|with|from|people|years"
    r"|days|hours|minutes|times|dollars|dogs|percent)\b"
)

# Words by language, None for one that changes a number in ways that are not read; and words that
# prove no number, as they are other words elsewhere.
_WORDS: dict[str, dict[str, Word | None]] = {}
_DOUBTFUL: set[str] = set()


def _read_table() -> None:
    for line in table("number_words.tsv"):
        code, *cells = line.split("\t")
        values: dict[str, Decimal] = {}
        for number, *names in map(str.split, cells):
            if number[0] == "+":
                values |= (joined := _joined(names[0], values, Decimal(number[1:] or 1)))
                for name, value in joined.items():
                    _WORDS.setdefault(name, {}).setdefault(code, Word((value,)))
                continue
            word = None if number == "?" else Word((Decimal(number.strip("x")),), number[0] == "x")
            for name in names:
                plain = name.lstrip("?")
                if word is None or name != plain:
                    _DOUBTFUL.add(plain)
                _WORDS.setdefault(plain, {})[code] = word
                if word and not word.times:
                    values[plain] = word.values[0]


def _joined(form: str, values: dict[str, Decimal], times: Decimal) -> dict[str, Decimal]:
    """Return the words of a form such as {u}und{t}, with their values."""
    found = {form: Decimal(0)}
    for place, numbers in (("{u}", range(2, 10)), ("{t}", range(20, 100, 10)), ("{n}", range(100))):
        if place in form:
            names = [(name, value) for name, value in values.items() if value in numbers]
            found = {
                text.replace(place, name): total + value
                for text, total in found.items()
                for name, value in names
            }
    return {text: value * times for text, value in found.items()}


_read_table()
# Words that may prove a number: those without doubt, and fractions, before a word of magnitude.
_KNOWN = _WORDS.keys() - _DOUBTFUL | {
    name
    for name, read in _WORDS.items()
    if any(word and word.values[0] % 1 for word in read.values())
}
# A word, with the vowel signs of Indic scripts.
_MARKED = "".join(f"{chr(block)}-{chr(block + 0x63)}" for block in range(0x900, 0xD80, 0x80))
_WORD = re.compile(rf"(?:[^\W\d_]|[{_MARKED}])+(?:['’](?=[яю])[^\W\d_]+)?")
# Text between the words of one number: veinte y dos, setenta e dois, بیست و پنج.
_BETWEEN = re.compile(r"[ -](?:(?:y|e|et|i|og|och|en|und|és|ja|și|a|и|va|ve|și|και|and|و)[ -])?")
_UNIT_BEHIND = expression(rf"[ -](?:(?:y|e|et|i|og|och|en|și|a) )?(?:{FORMS['unit_behind']})")
_WORD_BEFORE = re.compile(r"([^\W\d_]+) (?:(?:y|e|et|i|og|och|en|und|és|a|и|va|ve|και|and) )?\Z")
# English words that are counted where a blank stands before them: thirty second cousins.
_APART = frozenset(("first", "second", "single", "couple", "pair", "quarter"))
_AND_BEFORE = ("و", "ו")
# Marks beside words.
_MARKS = ".,?!-।"
_BEFORE, _BEHIND = FORMS["minutes_before"], FORMS["minutes_behind"]
_MINUTES_BEFORE = expression(rf"(?<!\w)({'|'.join(sorted(_BEFORE, key=len, reverse=True))}) \Z")
_MINUTES_BEHIND = expression(
    r"(?: uhr| heures?| horas?| óra)?(?:(?<=[一二三四五六七八九十两])| )(?:horas )?"
    rf"({'|'.join(sorted(_BEHIND, key=len, reverse=True))})(?![^\W\d_])"
)
# Characters between the words of a clock and its hour.
_NEAR = 24


@dataclass(slots=True)
class _Group:
    """Number words that stand beside each other, from character ``start`` to ``end`` of a text.

    ``readings`` has, by language code, the words, None for one that cannot be read. ``doubtful``:
    each word also has another meaning, so that they prove no number.
    """

    start: int
    end: int
    readings: dict[str, list[Word | None]]
    doubtful: bool


@lru_cache(maxsize=16)  # a pair is looked at several times
def may_spell(text: str) -> bool:
    """Tell fast whether a text may have a number in words by :func:`spelled`."""
    words = text.lower()
    for mark in _MARKS:
        words = words.replace(mark, " ")
    return not _KNOWN.isdisjoint(words.split()) or (
        not text.isascii() and COUNT.search(text) is not None and bool(COUNTED.search(text))
    )


def spelled(text: str) -> list[Numeral]:
    """Find numbers in words, in order. A number whose value is uncertain has no values."""
    lower = text.lower()
    numbers = []
    for group in _groups(lower):
        if group.doubtful or (lower[group.start : group.end] == "ten" and not _is_english(lower)):
            continue
        times = any(read[0] and read[0].times for read in group.readings.values())
        if times and BEHIND_DIGIT.search(lower, max(0, group.start - 2), group.start):
            continue  # a part of that number: 5 million
        part = lower[group.start - 1 : group.start] == "-"  # of a word: dece-cinque
        open_end = part or any(e.match(lower, group.end) for e in (MAGNITUDE, _UNIT_BEHIND))
        read = [_values(code, words) for code, words in group.readings.items()]
        values = tuple(dict.fromkeys(value for each in read for value in each))
        open_end |= _is_open(lower, group.start)
        known = () if open_end or len(values) > _MOST else values
        more = _parts(group.readings[_ENGLISH]) if _ENGLISH in group.readings else ()
        number = Numeral(group.start, group.end, known, more, firm=False)
        numbers.append(_clock(lower, number))
    for one, after in pairwise(numbers):
        large = [value for value in after.values if isinstance(value, Decimal) and value >= _LARGE]
        if large and after.start - one.end <= _RANGE and one.values and one.values[0] not in large:
            one.values = ()  # six to seven thousand
    if not text.isascii() and COUNT.search(text):
        numbers += [_clock(text, one) for one in counted(text)]
    return numbers


def _is_open(lower: str, start: int) -> bool:
    """Tell whether the word before a group may be a part of its number: mil quinientos."""
    before = _WORD_BEFORE.search(lower, max(0, start - _NEAR), start)
    return before is not None and (before[1] in _AND_BEFORE or bool(MAGNITUDE.fullmatch(before[1])))


def _is_english(lower: str) -> bool:
    return _ENGLISH_TEXT.search(lower) is not None or " " not in lower


def english_numbers(text: str) -> list[Numeral]:
    """Find all that may be a number in English words, with the values of its parts."""
    return [
        Numeral(group.start, group.end, _parts(group.readings[_ENGLISH]), firm=False)
        for group in _groups(text.lower())
        if _ENGLISH in group.readings
    ]


def idiomatic(text: str, one: Numeral) -> bool:
    """Tell whether a number has only words that are often part of an idiom: second, both."""
    return _DOUBTFUL.issuperset(re.split("[ -]", text[one.start : one.end].lower()))


@lru_cache(maxsize=16)
def _groups(lower: str) -> list[_Group]:
    """Return the groups of number words of a text in lower case."""
    groups: list[_Group] = []
    last: _Group | None = None
    for match in _WORD.finditer(lower):
        word, (start, end) = match[0], match.span()
        joined = word not in _WORDS and word[0] in _AND_BEFORE and word[1:] in _WORDS
        words = _WORDS.get(word[joined:])
        shared = last.readings.keys() & words.keys() if last and words else ()
        apart = word in _APART and lower[start - 1 : start] == " "
        if (
            last
            and shared
            and words
            and not (apart or _is_fraction(last))
            and _BETWEEN.fullmatch(lower, last.end, start)
        ):
            doubtful = word in _DOUBTFUL
            longer = {code: [*last.readings[code], words[code]] for code in shared}
            last.readings, last.end = longer, end
            last.doubtful &= doubtful
            continue
        near = last and start - last.end <= _RANGE and word[:2] in FOLLOWING
        if last and near and not shared and (power := _magnitude(lower, last, end)):
            half = any(read[-1] and read[-1].values[0] % 1 for read in last.readings.values())
            for before in last.readings.values():
                before.append(power)
            last.end, last.doubtful = end, last.doubtful and not (half and len(power.values) == 1)
            continue
        if words is not None:
            first: list[Word | None] = [None] if joined else []
            lists = {code: [*first, value] for code, value in words.items()}
            last = _Group(start, end, lists, word in _DOUBTFUL)
            groups.append(last)
    return groups


def _is_fraction(group: _Group) -> bool:
    """Tell whether a group is a half, which only a word of magnitude continues."""
    only = [read[0] for read in group.readings.values() if len(read) == 1]
    return any(word is not None and word.values[0] % 1 for word in only)


def _magnitude(lower: str, group: _Group, end: int) -> Word | None:
    """Return the word of magnitude from a group up to character ``end``."""
    found = MAGNITUDE.match(lower, group.end)
    if found is None or found.lastgroup is None or found.end() < end:
        return None
    return Word(tuple(Decimal(10) ** power for power in POWERS[found.lastgroup]), True)


def _values(code: str, words: list[Word | None]) -> list[Decimal]:
    """Return the values of words that make one number; none for others."""
    if len(words) > _LONG or any(word is None for word in words):
        return []
    known = [word for word in words if word is not None]
    read = (
        _value(code, [*zip(values, (word.times for word in known), strict=True)])
        for values in product(*(word.values for word in known))
    )
    return [value for value in read if value is not None and value == value.to_integral_value()]


def _value(code: str, words: list[tuple[Decimal, bool]]) -> Decimal | None:
    """Add and multiply number words: 2, 100 and 5 are 205.

    total: value of the sections that end in a thousand or more. current: value of the section.
    """
    total = current = Decimal(0)
    times_before = False
    for row, (value, times) in enumerate(words):
        if times and value == 1:  # no magnitude, as in "5 m"
            if row < len(words) - 1:
                return None
        elif times and value < 1000:
            if current >= value or (not current and len(words) == 1):
                return None
            current = (current or 1) * value
        elif times:
            if not current and not times_before:
                return None
            if value > total:
                total, current = (total + current) * value, Decimal(0)
            else:
                total, current = total + current * value, Decimal(0)
        elif not _adds(code, current, value):
            if code == _FRENCH and current % 100 == 4 and value == 20:  # quatre-vingts
                current += 76
            elif code == _ENGLISH and 10 <= current < 100 <= 10 * value < 1000:
                current = current * 100 + value  # nineteen eighty-four
            else:
                return None
        else:
            current += value
        times_before = times
    return total + current


def _adds(code: str, current: Decimal, value: Decimal) -> bool:
    """Tell whether a number word is added to the words before it."""
    if not current or value % 1:
        return True
    last = current % 100
    if value < 10:
        least = 10 if code in _TEN_FIRST else 20
        return not last or (last >= least and not last % 10 and code not in _NOT_TEN_FIRST)
    if value < 100 and code == _FRENCH and last in (60, 80):
        return value < 20
    if code in _DIGIT_FIRST and not value % 10 and value < 100:
        return 0 < last < 10
    return value < 100 and not last


def _parts(words: list[Word | None]) -> tuple[Decimal, ...]:
    """Return the value of English number words, and of the parts that may stand alone.

    Two hundred and five is 205 or, before an unknown word of magnitude, 2.
    """
    parts = _values(_ENGLISH, words)
    for row in range(1, len(words) + 1):
        if row == len(words) or (words[row] or Word(())).times:
            parts += _values(_ENGLISH, words[:row])
    parts += [value for word in words if word and word.values[0] == 12 for value in word.values]
    if not parts:
        parts = [value for word in words if word for value in word.values]
    return tuple(dict.fromkeys(parts))


def _clock(lower: str, one: Numeral) -> Numeral:
    """Read a quarter or half beside an hour in words: Viertel nach drei, tres y media."""
    if len(one.values) != 1 or not isinstance(one.values[0], Decimal) or one.values[0] > 12:
        return one
    behind = _MINUTES_BEHIND.match(lower, one.end)
    before = _MINUTES_BEFORE.search(lower, max(0, one.start - _NEAR), one.start)
    if not (before or behind):
        return one
    minutes = _BEHIND[behind[1]] if behind else _BEFORE[before[1]] if before else 0
    hour, minute = divmod(int(one.values[0]) * 60 + minutes, 60)
    one.values = tuple((hour % 12, minute, late) for late in (False, True))
    one.start, one.end = (
        before.start() if before else one.start,
        behind.end() if behind else one.end,
    )
    return one
