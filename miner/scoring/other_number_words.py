"""Numbers of one side that differ from the words of the other: 25 and thirty, drei and four."""

import re
from decimal import Decimal

from miner.scoring.number_names import NEAR_FRACTION, fraction, ordinals, percent
from miner.scoring.number_units import conversions, is_time
from miner.text.number_words import FRACTION
from miner.text.numeral import Numeral, Value
from miner.text.numerals import is_grouped, numerals
from miner.text.spelled_numbers import english_numbers, idiomatic, may_spell, spelled

_DIGIT = re.compile(r"\d")
# Numbers of a side that are compared in words at most.
_SPELLED_AT_MOST = 3


def other_word(side: list[Numeral], text: str, words: str) -> bool:
    """Tell whether a pair's only number stands beside another fraction or Roman numeral.

    ``side``: the number, if ``words`` lack it: 50 % and a third, chapter 4 and chapter V.
    """
    if not side or side[0].digits == "1" or is_time(side[0]) or len(side[0].parts) > 1:
        return False
    (one,) = side
    share = percent(one, text)
    if share is not None and (there := [*FRACTION.finditer(words)]):
        return not any(abs(share - fraction(part)) <= NEAR_FRACTION for part in there)
    if text[one.start - 1 : one.start].isalnum() or may_spell(words):
        return False
    return len(ordinals(words)) == 1 and not ordinals(text)


# Words beside which a number is not the other side's: a half, or 15 days for two weeks.
_SHIFTED = re.compile(
    r"\b(?:half|quarters?|eighths?|weeks?|fortnights?|past|dozens?|others?)\b", re.IGNORECASE
)


def other_spelled(source: str, target: str) -> bool:
    """Tell whether both sides have as many numbers, on one in words of any language, that differ.

    "drei Hunde" and "4 dogs" differ; "два с половиной" and "quinze jours" are left open.
    """
    texts = source, target
    if not all(_DIGIT.search(text) or may_spell(text) for text in texts):
        return False
    words = [spelled(text) for text in texts]
    if not any(words) or not all(one.values for side in words for one in side):
        return False
    if any(_shifted(text, side) for text, side in zip(texts, words, strict=True)):
        return False
    left, right = (_certain(text, side) for text, side in zip(texts, words, strict=True))
    if not left or not right or len(left) != len(right) or len(left) > _SPELLED_AT_MOST:
        return False
    loose = {value for text in texts for value in _loose(text)}
    one, other = (
        [a for a in side if not any(_may_be(a, b, loose) for b in there)]
        for side, there in ((left, right), (right, left))
    )
    return bool(one and other) and not [*conversions(one, source, other, target)]


def _shifted(text: str, words: list[Numeral]) -> bool:
    """Tell whether a word changes a number outside of the ``words`` that were read."""
    return any(
        not any(one.start <= found.start() < one.end for one in words)
        for found in _SHIFTED.finditer(text)
    )


# Signs of a school before its grade, and of a month behind its number.
_GRADES = "中高小"
_MONTH = re.compile(" ?[月월]")


def _certain(text: str, words: list[Numeral]) -> list[Numeral]:
    """Return the numbers of a text in digits and words; none if one is uncertain."""
    digits = numerals(text) if _DIGIT.search(text) else []
    unclear = any(
        _unclear(one)
        or _MONTH.match(text, one.end)
        or (one.start and text[one.start - 1] in _GRADES)
        for one in digits
    )
    return [] if unclear else [*digits, *words]


def _unclear(one: Numeral) -> bool:
    """Tell whether digits may be several numbers, or none."""
    several = len(one.parts) > 1 and not is_time(one) and not is_grouped(one)
    return several or one.digits in ("0", "1")


def _loose(text: str) -> set[object]:
    """Return the values of the English words that are numbers of an idiom: one, second, both."""
    idioms = (one for one in english_numbers(text) if idiomatic(text, one))
    return {value for one in idioms for value in one.values}


def _may_be(one: Numeral, other: Numeral, loose: set[object]) -> bool:
    """Tell whether numbers may be the same; one may be the hour of a time in both clocks."""
    mine, theirs = (_with_afternoon(number) for number in (one, other))
    if mine & loose or not mine.isdisjoint(theirs):
        return True
    times = [value for value in mine | theirs if isinstance(value, tuple)]
    if is_time(one) and is_time(other):
        return False
    minutes = any(minute for _, minute, _ in times)  # seven, beside 7:45
    return minutes or not _hours(mine).isdisjoint(_hours(theirs))


def _with_afternoon(one: Numeral) -> set[Value]:
    """Return the values of a number; 19 in digits may be seven o'clock."""
    values = {*one.values[: 1 if is_grouped(one) else None], *one.more}
    late = [each for each in values if isinstance(each, Decimal) and 12 < each <= 24]
    return values | {value - 12 for value in late if one.digits}


def _hours(values: set[Value]) -> set[Value]:
    hours = {
        Decimal(value[0] + late) for value in values if isinstance(value, tuple) for late in (0, 12)
    }
    return values | hours


# Days of a week, as 24/7 is not.
_DAYS = re.compile(r"\b(?:two|three|four|five|six) days\b", re.IGNORECASE)


def other_days(side: list[Numeral], text: str, words: str) -> bool:
    """Tell whether a pair's only numbers are 24/7 beside another number of days."""
    return bool(side) and all(always(one, text) for one in side) and bool(_DAYS.search(words))


def always(one: Numeral, text: str) -> bool:
    """Tell whether a number is part of 24/7, which texts often spell as words."""
    return any(text.startswith("24/7", one.start - back) for back in (0, 3) if one.start >= back)
