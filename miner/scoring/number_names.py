"""Months, Roman numerals and fractions, as a number on one side and a name on the other."""

import re
from decimal import Decimal

from miner.text.number_values import han, roman
from miner.text.number_words import (
    ABOVE,
    BESIDE_DATE,
    DIGIT_FRACTION,
    FOREIGN_MONTHS,
    FRACTION,
    MONTHS,
    PARTS,
)
from miner.text.numerals import Numeral, plain_digits

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
    if not (any(map(may_have_ordinals, texts)) and all(map(_ROMAN.search, texts))):
        return False
    left, right = map(ordinals, texts)
    return bool(left - right and right - left)


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
