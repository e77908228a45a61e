"""Numbers of one side that differ from the words of the other: 25 and thirty, drei and four."""

import re
from decimal import Decimal

from miner.scoring.number_names import NEAR_FRACTION, fraction, ordinals, percent
from miner.scoring.number_units import conversions, is_time
from miner.text.number_words import ENGLISH_WORDS, FRACTION, LOOSE_WORDS
from miner.text.numerals import Numeral, number_words, numerals
from miner.text.spelled_numbers import may_spell, spelled

_DIGIT = re.compile(r"\d")
# Numbers of a side that are compared in words at most.
_SPELLED_AT_MOST = 3
# Words that change the number before them: two and a half.
_HALF = re.compile(r"\b(?:half|quarters?|eighths?)\b", re.IGNORECASE)


def other_word(side: list[Numeral], text: str, words: str) -> bool:
    """Tell whether a pair's only number stands beside another one in words: 25 and thirty.

    ``side``: the number, if ``words`` lack it. They have one number word, English or Roman, that is
    no part of an idiom and no unit that converts.
    """
    if not side or side[0].digits == "1" or is_time(side[0]):
        return False
    if len(side[0].parts) > 1 < len(side[0].values):
        return False
    if any(number.values for number in spelled(words)):
        return False
    (one,) = side
    share = percent(one, text)
    if share is not None and (there := [*FRACTION.finditer(words)]):
        return not any(abs(share - fraction(part)) <= NEAR_FRACTION for part in there)
    if _HALF.search(words) or text[one.start - 1 : one.start].isalnum():
        return False
    hour = {value - 12 for value in one.values if isinstance(value, Decimal) and value <= 24}
    starts = {match.start() for match in ENGLISH_WORDS.finditer(words)}
    found = [
        word
        for word in number_words(words)
        if word.start in starts
        and words[word.start : word.end].lower() not in LOOSE_WORDS
        and hour.isdisjoint(word.values)
    ]
    roman = ordinals(words)
    if len(found) + len(roman) != 1 or ordinals(text):
        return False
    return bool(roman) or not [*conversions([one], text, found, words)]


# Words beside which a number is not the other side's: a half, or 15 days for two weeks.
_SHIFTED = re.compile(r"\b(?:half|quarters?|weeks?|fortnights?|past|dozens?)\b", re.IGNORECASE)


def other_spelled(source: str, target: str) -> bool:
    """Tell whether both sides have as many numbers, on one in words of any language, that differ.

    "drei Hunde" and "4 dogs" differ; "два с половиной" and "quinze jours" are left open.
    """
    if not all(_DIGIT.search(text) or may_spell(text) for text in (source, target)):
        return False
    words = spelled(source), spelled(target)
    if not any(words) or any(_SHIFTED.search(text) for text in (source, target)):
        return False
    if not all(one.values for side in words for one in side):
        return False
    left, right = (_certain(text, side) for text, side in zip((source, target), words, strict=True))
    if not left or not right or len(left) != len(right) or len(left) > _SPELLED_AT_MOST:
        return False
    loose = {value for text in (source, target) for value in _loose(text)}
    one, other = (
        [a for a in side if _hours(a).isdisjoint(loose.union(*map(_hours, there)))]
        for side, there in ((left, right), (right, left))
    )
    return bool(one and other) and not [*conversions(one, source, other, target)]


def _certain(text: str, words: list[Numeral]) -> list[Numeral]:
    """Return the numbers of a text in digits and words; none if one is uncertain."""
    digits = numerals(text) if _DIGIT.search(text) else []
    english = []
    if not words:
        spoken = {match.start() for match in ENGLISH_WORDS.finditer(text)}
        english = [one for one in number_words(text) if one.start in spoken]
        english = [one for one in english if not LOOSE_WORDS & {*_pieces(text, one)}]
    unclear = any(len(one.parts) > 1 or one.power or one.digits in ("0", "1") for one in digits)
    return [] if unclear else [*digits, *words, *english]


def _pieces(text: str, one: Numeral) -> list[str]:
    return text[one.start : one.end].lower().replace("-", " ").split()


def _loose(text: str) -> set[object]:
    """Return the values of the English words that are numbers of an idiom: one, second, both."""
    return {
        value
        for one in number_words(text)
        if LOOSE_WORDS & {*_pieces(text, one)}
        for value in one.values
    }


def _hours(one: Numeral) -> set[object]:
    """Return the values of a number, with the hours of a time in both clocks."""
    values: set[object] = {*one.values, *one.more}
    for value in [value for value in values if isinstance(value, tuple)]:
        values |= {Decimal(value[0]), Decimal(value[0] + 12)}
    return values


# Days of a week, as 24/7 is not.
_DAYS = re.compile(r"\b(?:two|three|four|five|six) days\b", re.IGNORECASE)


def other_days(side: list[Numeral], text: str, words: str) -> bool:
    """Tell whether a pair's only numbers are 24/7 beside another number of days."""
    return bool(side) and all(always(one, text) for one in side) and bool(_DAYS.search(words))


def always(one: Numeral, text: str) -> bool:
    """Tell whether a number is part of 24/7, which texts often spell as words."""
    return any(text.startswith("24/7", one.start - back) for back in (0, 3) if one.start >= back)
