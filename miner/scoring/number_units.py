"""Numbers that are alike in other units: 180 °C and 350 °F, 1h30 and 90 minutes, 0.5 and 50%."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product

from miner.expressions import expression
from miner.text.number_words import CONVERSIONS, SIGNS, SYMBOLS, UNITS
from miner.text.numerals import Numeral
from miner.text.words import SPACELESS

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


_UNIT = expression(
    r"[ \u00a0-]?(?:"
    + "|".join(rf"(?P<u{i}>{words})" for i, (words, _) in enumerate(CONVERSIONS))
    + rf")(?:(?!\w)|(?<=[{SPACELESS}]))",
    re.IGNORECASE,
)
_FAHRENHEIT = expression(r" ?(?:°|º|degrees?)? ?F(?:ahrenheit)?\b| degrees?\b")


_NAMED_UNIT = expression(
    r"[ \u00a0\u202f-]?(?:"
    + "|".join(rf"(?P<u{i}>{words})" for i, (_, _, words) in enumerate(UNITS))
    + rf")(?:(?![\w²³/^])|(?<=[{SPACELESS}]))"
)


def _behind(one: Numeral) -> int:
    """Return the end of a number's digits, as a unit may have been read as a word of magnitude."""
    return one.start + len(one.digits) if one.digits and one.digits[-1:].isdecimal() else one.end


def _named_unit(one: Numeral, text: str) -> tuple[str, str] | None:
    """Return the kind and the name of the unit after a number (money, dollar), or None."""
    found = _NAMED_UNIT.match(text, _behind(one))
    if found and found.lastgroup:
        return UNITS[int(found.lastgroup[1:])][:2]
    return ("money", SIGNS[one.symbol]) if one.symbol in SIGNS else None


def other_units(pairs: list[tuple[Numeral, Numeral]], source: str, target: str) -> bool:
    """Tell whether equal numbers are of other units of one kind: 5 miles and 5 km."""
    units = [(_named_unit(a, source), _named_unit(b, target)) for a, b in pairs]
    for place, (mine, theirs) in enumerate(units):
        if mine and theirs and mine != theirs and mine[0] == theirs[0]:
            # Equal numbers may have been paired in another order.
            value = pairs[place][0].values[0]
            same = [i for i, (a, _) in enumerate(pairs) if a.values[0] == value]
            if mine not in [units[i][1] for i in same] or theirs not in [units[i][0] for i in same]:
                return True
    return False


# Feet and inches behind a number, as in 5'11".
_INCHES = expression(
    r"[ \u00a0]?(?:['′’]|ft\.?|feet|foot|Fuß)[ \u00a0]?(\d\d?)[ \u00a0]?(?:″|”|\"|''|’’|in|Zoll)"
)
# English units of time and money, and how many of a smaller or of how large a part of a larger unit
# they are, exactly: 2 Wochen are 14 days.
_TIMES = tuple(
    (expression(rf"[ \u00a0-]?(?:{words})(?!\w)"), tuple(map(Decimal, factors.split())))
    for words, factors in (
        ("seconds?|secs?", "60"),
        ("hours?", "60 24"),
        ("minutes?|mins?", "60"),
        ("days?", "24 7 30 365"),
        ("weeks?", "7 4 52"),
        ("months?", "12 30 4 3"),
        ("years?", "12 52"),
        ("decades?", "10"),
        ("centur(?:y|ies)", "100"),
        (
            "[Cc]ents?|ct|pence|centimes|céntimos|centavos|centesimi|sentti[äa]|cen?tů|gro[ss]z[ey]|"
            r"цент\w*|копе\w+|kuruş|öre|øre|分钱|セント|센트",
            "100",
        ),
    )
)
# Units of a length of time behind a number: hours (the group) and minutes, in many languages.
_DURATION = expression(
    r"[ \u00a0-]?(?:((?:h|hrs?|hours?|Std\.?|Stunden?|heures?|horas?|or[ae]|uur|tim(?:mar|er)"
    r"|hodin\w*|godzin\w*|час\w*|годин\w*)(?!\w)|小时|小時|時間|시간)"
    r"|(?:min(?:\.|s|ut\w*)?|мин\w*|хв\w*)(?!\w)|分|분)",
    re.IGNORECASE,
)
# Text between the hours and the minutes of a length of time.
_HOURS_AND = expression(r"[ \u00a0,]*(?:and|und|et|y|e|en|och|og|a|i|и|і)?[ \u00a0]*")
# A share of a hundred behind a number.
_PERCENT = expression(r"[ \u00a0\u202f]?(?:[%％٪]|per ?cent)")
# Metric units, and the power of ten of each.
_SHORT = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "h": 2, "d": -1, "c": -2, "m": -3}
_SHORT |= {"µ": -6, "n": -9}
_LONG = {
    "": 0,
    "kilo": 3,
    "kiló": 3,
    "quil": 3,
    "chilo": 3,
    "кило": 3,
    "кіло": 3,
    "キロ": 3,
    "킬로": 3,
    "千": 3,
}
_LONG |= {"centi": -2, "zenti": -2, "centí": -2, "санти": -2, "センチ": -2, "厘": -2, "公": 3}
_LONG |= {"milli": -3, "mili": -3, "milí": -3, "милли": -3, "мілі": -3, "ミリ": -3, "毫": -3}
_STEMS = {"met": "m", "mét": "m", "mèt": "m", "metr": "m", "метр": "m", "メートル": "m", "米": "m"}
_STEMS |= {"gram": "g", "грам": "g", "グラム": "g", "克": "g", "lit": "l", "лит": "l", "літ": "l"}
_STEMS |= {"リットル": "l", "升": "l", "미터": "m", "그램": "g", "리터": "l"}
# Whole words with a unit and a power of ten.
_WHOLE = {"㎝": ("m", -2), "㎜": ("m", -3), "㎞": ("m", 3), "㎏": ("g", 3), "公里": ("m", 3)}
_WHOLE |= {"公斤": ("g", 3), "t": ("g", 6), "т": ("g", 6), "吨": ("g", 6), "トン": ("g", 6)}
_WHOLE |= dict.fromkeys(("ton", "tons", "tonne", "tonnes", "Tonne", "Tonnen"), ("g", 6))
_WHOLE |= dict.fromkeys(("kilo", "kilos", "Kilo", "кг"), ("g", 3)) | {"км": ("m", 3), "м": ("m", 0)}
_WHOLE |= {"см": ("m", -2), "мм": ("m", -3), "г": ("g", 0), "л": ("l", 0), "мл": ("l", -3)}
_METRIC = expression(
    rf"[ \u00a0-]?(?:({'|'.join(_WHOLE)})|([{''.join(_SHORT)}]?)(m|g|l|Wh?|Hz|B)"
    rf"|({'|'.join(word for word in _LONG if word)})?({'|'.join(_STEMS)})[^\W\d_]{{0,6}}?)"
    rf"(?:(?![\w²³/^])|(?<=[{SPACELESS}]))",
    re.IGNORECASE,
)


def _scaled(found: re.Match[str]) -> tuple[str, int]:
    """Return a metric unit without its prefix, and the prefix's power of ten."""
    whole, prefix, unit, long, stem = found.groups()
    if whole:
        return _WHOLE[whole] if whole in _WHOLE else _WHOLE[whole.lower()]
    if stem:
        return _STEMS[stem.lower()], _LONG[(long or "").lower()]
    return unit, _SHORT.get(prefix, 0)


def _neighbours(one: Numeral, text: str, other: Numeral, others: str) -> bool:
    """Tell whether two numbers are alike in neighbouring units: 2 Wochen, 14 days; 1 km, 1000 m."""
    if one.sign != other.sign or one.digits == other.digits:
        return False
    places = _behind(one), _behind(other)
    mine, theirs = ([v for v in a.values if isinstance(v, Decimal)] for a in (one, other))
    units = _METRIC.match(text, places[0]), _METRIC.match(others, places[1])
    if units[0] and units[1]:
        (unit, first), (another, second) = _scaled(units[0]), _scaled(units[1])
        if unit == another and first != second:
            # A kilobyte may be of 1,024 bytes.
            steps = Decimal(1024) ** ((first - second) // 3) if unit == "B" else None
            return any(
                a.scaleb(first - second) == b or (steps and a * steps == b)
                for a, b in product(
                    mine, theirs + [v for v in other.more if isinstance(v, Decimal)]
                )
            )
    factors = next((found for unit, found in _TIMES if unit.match(text, places[0])), ())
    if any(a == b * f or b == a * f for a, b, f in product(mine, theirs, factors)):
        return True
    theirs += [v for v in other.more if isinstance(v, Decimal)]
    percent = _PERCENT.match(text, one.end) and not _PERCENT.match(others, other.end)
    return bool(percent) and any(a == b * 100 for a, b in product(mine, theirs) if b % 1)


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
    unit = _UNIT.match(text, one.end)
    factors = CONVERSIONS[int(unit.lastgroup[1:])][1] if unit and unit.lastgroup else ()
    factors = ("0.3048",) if inches else factors
    heat = _FAHRENHEIT.match(text, one.end)
    if one.sign != other.sign or SYMBOLS.keys() & {one.symbol, other.symbol}:
        factors = ()
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
