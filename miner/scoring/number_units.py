"""Numbers that are alike in other units: 180 °C and 350 °F, 1h30 and 90 minutes, 0.5 and 50%."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product

from miner.text.number_words import CONVERSIONS
from miner.text.numerals import Numeral

# Relative error of a converted unit, and numbers of a text that are tried.
_ROUNDED, _TRIED = Decimal("0.06"), 20


def is_time(one: Numeral) -> bool:
    """Tell whether a number may be a time of day, as 8:30."""
    return bool(one.values) and isinstance(one.values[0], tuple)


def conversions(
    left: list[Numeral], source: str, right: list[Numeral], target: str
) -> Iterator[tuple[Numeral, Numeral]]:
    """Yield numbers that stand in other units on the other side: 73 m and 240 ft."""
    if len(left) + len(right) > _TRIED:
        return
    others = [*right]
    for one in left:
        for place, other in enumerate(others):
            if (
                _converts(one, source, other)
                or _converts(other, target, one)
                or _neighbours(one, source, other, target)
                or _neighbours(other, target, one, source)
            ):
                yield one, others.pop(place)
                break


_UNIT = [
    (re.compile(rf"[ \u00a0-]?(?:{words})(?!\w)", re.IGNORECASE), factors)
    for words, factors in CONVERSIONS
]
_FAHRENHEIT = re.compile(r" ?(?:°|º|degrees?)? ?F(?:ahrenheit)?\b| degrees?\b")


# English units and metric ones of the same kind, behind a number.
_ENGLISH_UNIT = re.compile(
    r"[ \u00a0-]?(?:(miles?|yards?|feet|foot|ft|inch(?:es)?)|(pounds?|lbs?)"
    r"|(°F|degrees? Fahrenheit))(?!\w)"
)
_METRIC_UNIT = re.compile(
    r"[ \u00a0-]?(?:([km]?m|cm|км|см)|(k?g|кг)|(°C|degrees? Celsius))(?![\w²³/^])"
)


def other_unit(one: Numeral, text: str, other: Numeral, others: str) -> bool:
    """Tell whether equal numbers are of an English unit and of a metric one: 5 miles and 5 km."""
    for a, b in (
        (_ENGLISH_UNIT.match(text, one.end), _METRIC_UNIT.match(others, other.end)),
        (_METRIC_UNIT.match(text, one.end), _ENGLISH_UNIT.match(others, other.end)),
    ):
        if a and b and a.lastindex == b.lastindex:
            return True
    return False


# Feet and inches behind a number, as in 5'11".
_INCHES = re.compile(
    r"[ \u00a0]?(?:['′’]|ft\.?|feet|foot)[ \u00a0]?(\d\d?)[ \u00a0]?(?:″|”|\"|''|’’|in)"
)
# English units of time and money, and how many of a smaller or of how large a part of a larger unit
# they are, exactly: 2 Wochen are 14 days.
_TIMES = tuple(
    (re.compile(rf"[ \u00a0-]?(?:{words})(?!\w)"), tuple(map(Decimal, factors.split())))
    for words, factors in (
        ("hours?", "60"),
        ("minutes?|mins?", "60"),
        ("days?", "24 7 30 365"),
        ("weeks?", "7"),
        ("months?", "12 30"),
        ("years?", "12"),
        ("decades?", "10"),
        ("centur(?:y|ies)", "100"),
        ("cents?|ct|pence", "100"),
    )
)
# Units of a length of time behind a number: hours (the group) and minutes, in many languages.
_DURATION = re.compile(
    r"[ \u00a0-]?(?:((?:h|hrs?|hours?|Std\.?|Stunden?|heures?|horas?|or[ae]|uur|tim(?:mar|er)"
    r"|hodin\w*|godzin\w*|час\w*|годин\w*)(?!\w)|小时|小時|時間|시간)"
    r"|(?:min(?:\.|s|ut\w*)?|мин\w*|хв\w*)(?!\w)|分|분)",
    re.IGNORECASE,
)
# Text between the hours and the minutes of a length of time.
_HOURS_AND = re.compile(r"[ \u00a0,]*(?:and|und|et|y|e|en|och|og|a|i|и|і)?[ \u00a0]*")
# A share of a hundred behind a number.
_PERCENT = re.compile(r"[ \u00a0\u202f]?(?:[%％٪]|per ?cent)")
# Metric units, and the power of ten of each.
_METRIC = re.compile(r"[ \u00a0-]?(km|cm|mm|m|kg|mg|g)(?![\w²³/^])")
_POWERS = {"km": 3, "m": 0, "cm": -2, "mm": -3, "kg": 3, "g": 0, "mg": -3}


def _neighbours(one: Numeral, text: str, other: Numeral, others: str) -> bool:
    """Tell whether two numbers are alike in neighbouring units: 2 Wochen, 14 days; 1 km, 1000 m."""
    if one.sign != other.sign or one.digits == other.digits:
        return False
    # A unit may have been read as a word of magnitude.
    places = [a.start + len(a.digits) if a.digits else a.end for a in (one, other)]
    mine, theirs = ([v for v in a.values if isinstance(v, Decimal)] for a in (one, other))
    units = _METRIC.match(text, places[0]), _METRIC.match(others, places[1])
    if units[0] and units[1] and units[0][1][-1] == units[1][1][-1]:
        power = _POWERS[units[0][1]] - _POWERS[units[1][1]]
        return any(a.scaleb(power) == b for a, b in product(mine, theirs)) and power != 0
    factors = next((found for unit, found in _TIMES if unit.match(text, places[0])), ())
    if any(a == b * f or b == a * f for a, b, f in product(mine, theirs, factors)):
        return True
    theirs += [v for v in other.more if isinstance(v, Decimal)]
    return bool(_PERCENT.match(text, one.end)) and any(
        a == b * 100 for a, b in product(mine, theirs) if b % 1
    )


def durations(side: list[Numeral], text: str) -> list[tuple[list[Numeral], set[Decimal]]]:
    """Find lengths of time: their numbers and possible minutes. 1h30, 1.5 h, 1 hour 30 minutes."""
    found: list[tuple[list[Numeral], set[Decimal]]] = []
    hours = None
    for one in side:
        numbers = [value for value in one.values if isinstance(value, Decimal)]
        digits = one.parts[0] if is_time(one) and len(one.parts) == 1 else one.digits
        unit = _DURATION.match(text, one.start + len(digits))
        if is_time(one) and len(one.parts) == 1:
            numbers = [Decimal(one.parts[0])]
        minutes = {value * 60 if unit[1] else value for value in numbers} if unit else set()
        if is_time(one) and len(one.parts) == 2:
            minutes.add(Decimal(one.parts[0]) * 60 + Decimal(one.parts[1]))
        if not minutes:
            continue
        if hours and unit and not unit[1] and _HOURS_AND.fullmatch(text, hours, one.start):
            before, total = found.pop()
            found.append(([*before, one], {a + b for a, b in product(total, minutes)}))
        else:
            found.append(([one], minutes))
        hours = unit.end() if unit and unit[1] else None
    return found


def _converts(one: Numeral, text: str, other: Numeral) -> bool:
    """Tell whether ``one``, in an English unit, may be ``other`` in another unit."""
    inches = _INCHES.match(text, one.end)
    factors = next((factors for unit, factors in _UNIT if unit.match(text, one.end)), ())
    factors = ("0.3048",) if inches else factors
    heat = _FAHRENHEIT.match(text, one.end)
    if not factors and not heat:
        return False
    both = product(*([v for v in a.values if isinstance(v, Decimal)] for a in (one, other)))
    for mine, metric in both:
        if inches:
            mine += Decimal(inches[1]) / 12
        if heat and abs((mine - 32) / Decimal("1.8") - metric) <= 3 + abs(mine) / 50:
            return True
        for factor in factors:
            ratio = metric / (mine * Decimal(factor)) if mine > 0 else Decimal(0)
            # Whichever power of ten lies between the units, as of feet and centimetres.
            if any(abs(ratio.scaleb(-power) - 1) <= _ROUNDED for power in range(-3, 4)):
                return True
    return False
