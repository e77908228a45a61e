"""Months, Roman numerals, fractions and halves, as numbers on one side and words on the other."""

import re
from dataclasses import replace
from decimal import Decimal

from miner.scoring.number_units import is_time, named_unit
from miner.text.number_values import han, roman
from miner.text.number_words import (
    ABOVE,
    BESIDE_DATE,
    DIGIT_FRACTION,
    FOREIGN_MONTHS,
    FRACTION,
    HALF_BEHIND,
    MAGNITUDE,
    MONTHS,
    PARTS,
    POWERS,
)
from miner.text.numeral import Numeral, plain_digits

_DIGIT = re.compile(r"\d")
# Months as numbers, of which a date with points may have two, and as English names.
_DATE = re.compile(
    r"(?<!\d)(?:(\d\d?) ?[月월]|(?:tháng|Tháng) (\d\d?)(?!\d)|\d{4}-(\d\d)-\d\d(?!\d)"
    r"|(\d\d?)[./-] ?(\d\d?)[./-] ?(?:1[5-9]|20)\d\d(?!\d))"
)
_HAN_MONTH = re.compile(
    "(?<![一二三四五六七八九十第])([一二三四五六七八九]|十[一二]?)月(?=[一二三四五六七八九十份、。,，]|の)"
)
# Characters between the name of a month and its day or year at most.
_BESIDE = 8
_ANY_NAME = re.compile("Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec")
_NAME = re.compile(rf"(?<!\w)(?:{'|'.join(name.title() for name in MONTHS)})(?!\w)")
# Two digits of a Roman numeral.
_TWO_DIGITS = re.compile("[IVX]{2}")
# Roman numerals, as far as they are no usual abbreviations, and English ordinals of centuries. One
# letter counts behind a capitalised word.
_ROMAN = re.compile(
    r"(?<![\w.])(?=[IVX]{2})(X{0,3}(?:IX|IV|V?I{0,3}))(?=(?:er?|ème|-?го)?(?!\w))"
    r"|(?<!\d)(\d\d?)(?:st|nd|rd|th)[ -]centur|\b[A-Z][a-z]+ ([VX])\b"
)


def other_months(source: str, target: str) -> bool:
    """Tell whether the months of one side's dates are none of those that the other side names."""
    for numbers, names in ((source, target), (target, source)):
        if not _ANY_NAME.search(names):
            continue
        plain = plain_digits(numbers)
        months = {int(each) for one in _DATE.findall(plain) for each in one if each}
        months |= {int(han(one)[0]) for one in _HAN_MONTH.findall(plain)}
        for one in BESIDE_DATE.finditer(plain):
            name = (one[1] or one[2]).lower()  # of "İ" two characters
            months |= FOREIGN_MONTHS.get(name.replace("\u0307", ""), set())
        if months:
            named = {
                MONTHS[one[0].lower()]
                for one in _NAME.finditer(names)
                if _DIGIT.search(names, max(0, one.start() - _BESIDE), one.end() + _BESIDE)
            }
            if named and months.isdisjoint(named):
                return True
    return False


def may_have_ordinals(text: str) -> bool:
    """Tell fast whether a text may have what :func:`ordinals` finds."""
    roman = "I" in text or "V" in text or "X" in text
    return (roman and _TWO_DIGITS.search(text) is not None) or "centur" in text


def other_ordinals(source: str, target: str) -> bool:
    """Tell whether each side has a Roman numeral, of a king or a century, that the other lacks."""
    texts = source, target
    named = " I" in source and " I" in target
    if named and (_other_first(source, target) or _other_first(target, source)):
        return True
    if not (any(map(may_have_ordinals, texts)) and all(map(_ROMAN.search, texts))):
        return False
    left, right = map(ordinals, texts)
    return bool(left - right and right - left)


# Name of the first, which the other side must name alike.
_FIRST_OF_NAME = re.compile(r"\b([A-ZÀ-Ý][^\W\d_]{2,}) I(?![\w'’])")
_LETTER_I = re.compile(r"\bI\b")
_NAMED = re.compile(r"\b([A-ZÀ-Ý][^\W\d_]{2,}) [IVX]{2,}(?!\w)")


def _other_first(one: str, other: str) -> bool:
    """Tell whether a name is the first on one side and a later one on the other: Elizabeth I."""
    first = _FIRST_OF_NAME.search(one)
    later = _NAMED.search(other)
    if not (first and later) or _NAMED.search(one) or _LETTER_I.search(other):
        return False
    return first[1][:3].lower() == later[1][:3].lower()


def ordinals(text: str) -> set[int]:
    """Return the values of Roman numerals and of English ordinals of centuries."""
    found = _ROMAN.findall(text)
    return {int(digits) if digits else roman(word or letter) for word, digits, letter in found}


_PERCENT = re.compile(r" ?per ?cent", re.IGNORECASE)
# Difference of a percentage and of a fraction in words at most: 30 % is about a third.
NEAR_FRACTION = Decimal("0.05")


def percent(one: Numeral, text: str) -> Decimal | None:
    """Return a percentage as a share of one, None for another number."""
    value = one.values[0]
    named = one.symbol == "%" or _PERCENT.match(text, one.end)
    return value / 100 if named and isinstance(value, Decimal) else None


def fraction(found: re.Match[str]) -> Decimal:
    """Return the value of an English fraction."""
    above, below = _parts(found)
    return Decimal(above) / below


def _parts(found: re.Match[str]) -> tuple[int, int]:
    return (ABOVE[found[1].lower()], PARTS[found[2].lower()]) if found[2] else (1, 2)


def other_fraction(source: str, target: str) -> bool:
    """Tell whether one side's only fraction, in digits, is not the other's, in English words."""
    for digits, words in ((source, target), (target, source)):
        if "/" not in digits and "⁄" not in digits and "分" not in digits:
            continue
        plain = DIGIT_FRACTION.findall(plain_digits(digits))
        there = [*FRACTION.finditer(words)] if len(plain) == 1 else []
        if len(there) != 1 or "/" in words:
            continue
        above, below = plain[0][:2] if plain[0][0] else plain[0][:1:-1]
        one, all_ = (
            int(part) if part.isdecimal() else int(han(part)[0]) for part in (above, below)
        )
        mine, theirs = _parts(there[0])
        if one < all_ and one * theirs != mine * all_:
            return True
    return False


# One word between a number and its magnitude: 4 promised thousand million.
_WORD_BETWEEN = re.compile(r" ?[^\W\d_]{1,16}\.?(?=[ -])| [$€£](?= )")
_DOZEN = re.compile(
    r" (?:[dD]utzend|douzaines?|docenas?|dozzine|dúzias?|dozijn|dussin|tuzin\w*|tuct?[ye]?|дюжин\w*"
    r"|tucat|düzine)(?!\w)| ?(?:打|ダース|다스)"
)
# Text between a number and its decimals that were torn apart: 2, 8 million.
_TORN = (", ", ". ")


def with_halves(side: list[Numeral], text: str) -> list[Numeral]:
    """Add values of a half, a far magnitude word or torn decimals: 7 millones y medio, 2, 8 mil."""
    numbers: list[Numeral] = []
    for row, number in enumerate(side):
        values = [value for value in number.values if isinstance(value, Decimal)]
        if _DOZEN.match(text, number.end):
            values += [value * 12 for value in values]
        half = HALF_BEHIND.match(text, number.end)
        if half:
            behind = MAGNITUDE.match(text, half.end())
            powers = POWERS[behind.lastgroup] if behind and behind.lastgroup else (0,)
            step = Decimal("0.5").scaleb(number.power)
            values += [(value + step).scaleb(power) for value in values for power in powers]
        elif not number.power and (between := _WORD_BETWEEN.match(text, number.end)):
            behind = MAGNITUDE.match(text, between.end())
            powers = POWERS[behind.lastgroup] if behind and behind.lastgroup else ()
            if powers and powers[0] >= 3 and 0 not in powers:
                values += [value.scaleb(power) for value in values for power in powers]
        last = side[row - 1] if row else None
        if last and text[last.end : number.start] in _TORN and last.digits.isdecimal():
            if number.power and len(number.digits) < 3:
                torn = Decimal(f"{last.digits}.{number.digits}") / (Decimal(number.digits) or 1)
                values += [value * torn for value in values]
            elif number.digits == "000":
                values.append(Decimal(last.digits) * 1000)
            if len(values) > len(number.values):
                numbers.pop()
        more = tuple(value for value in values if value not in number.values)
        numbers.append(replace(number, values=number.values + more) if more else number)
    return numbers


# Characters of a number that belongs to a name, with the letter and hyphen before: iPhone7, CoV-2.
_NAME_BEFORE = re.compile(r"[A-Za-zА-Я]-?\Z")


def replaceable(one: Numeral, text: str, other: Numeral, others: str) -> bool:
    """Tell whether a number may stand in the place of another one, so that they contradict.

    A year does not stand in the place of a day, a time or the number of a name.
    """
    for year, number, around, beside in (
        (one, other, text, others),
        (other, one, others, text),
    ):
        name = _NAME_BEFORE.search(beside, max(0, number.start - 2), number.start)
        if _is_year(year, around) and (name or is_time(number) or _is_day(number)):
            return False
        unit = named_unit(year, around) if name else None
        if unit and unit.kind != "money":  # RMB5
            return False
    return True


def _is_year(number: Numeral, text: str) -> bool:
    return (
        number.digits.isdecimal()
        and len(number.digits) == 4
        and number.digits.startswith(("18", "19", "20"))
        and not number.digits.endswith("00")
        and not (number.symbol or number.power or named_unit(number, text))
    )


def _is_day(number: Numeral) -> bool:
    values = [*number.values, *number.more]
    return all(isinstance(value, Decimal) and 0 <= value <= 31 for value in values)
