"""Numbers in text, in any script and notation, with their possible values.

1.000 is 1000 or 1; 3,5 is 3.5; 2万5千 and 25,000 are 25000; "3 Mio." is 3000000; "10 pm" is an
hour, 10 or 22. Two numbers may be the same if they share a value. Values are exact.
"""

import re
from decimal import Decimal

from miner.expressions import expression
from miner.text.joined_numbers import join, read_sign, read_word_before
from miner.text.number_values import LONG, UNIT_POWERS
from miner.text.number_words import (
    AFTER_NOON,
    BEFORE_NOON,
    CLOCK,
    ERAS,
    FOLLOWING,
    FRACTIONS,
    MAGNITUDE,
    MARKS,
    OTHER_MONTH,
    POWERS,
)
from miner.text.numeral import BLANKS, GAPS, MONTH_AWAY, PART, SMALL, Numeral, Value, plain_digits

# Number with its separators. An entity (&#8212;) is not a number.
_TOKEN = expression(
    r"\d(?<!\d\d)(?<!&#\d)(?<!&#x\d)"  # the first digit
    r"(?:\d{0,2}(?:[ \u00a0\u202f\u2009'’]\d{3}(?!\d))+|\d*)(?:(?:[.,٫٬]|·(?!10[\^⁰¹²³⁴-⁹⁻]))\d+)*",
    re.ASCII,
)
# Digits and fractions that `_TOKEN` lacks.
UNUSUAL = expression(f"[{''.join(FRACTIONS)}⁰¹²³⁴-⁹₀-₉]")
_ANY_TOKEN = expression(rf"[{''.join(FRACTIONS)}]|[⁰¹²³⁴-⁹]+|[₀-₉]+|{_TOKEN.pattern}", re.ASCII)
_SEPARATOR = expression(r"\D", re.ASCII)
# Groups of three digits; groups of two before the last three, as in India.
_GROUPED = expression(r"[1-9]\d{0,2}(?:\D\d{3})+|[1-9]\d?(?:\D\d\d)+\D\d{3}", re.ASCII)
_GROUPING, _DECIMAL = " \u00a0\u202f\u2009'’٬", "٫·"

_UNIT = f"[{''.join(UNIT_POWERS)}]"
# Digits mixed with units: 3억 5000만. In 5千克 and 6兆焦 the unit is a prefix: 5 kg, 6 MJ.
_MIXED = expression(
    rf"(?:\d[\d,.]{{0,40}}[ \u00a0]?(?:[多余餘]|个(?=[万亿](?!元)))?"
    rf"(?:(?![千兆][克米瓦焦赫帕字比]|[百千万]分)(?!만큼){_UNIT})+[ \u00a0]?)+"
    r"(?:(?<![ \u00a0])\d[\d,]*|(?<=[만억조천] )\d[\d,]*)?",
    re.ASCII,
)
_ATTACKS = expression(" ?(?:事件|恐怖|袭|襲|事|テロ|同時|테러)")
_RATE = expression(r"(\d)割(\d)分(?:(\d)厘)?", re.ASCII)
_CHUNK = expression(rf"(\d[\d,.]{{0,40}})[ \u00a0]?[多余餘个]?({_UNIT}*)", re.ASCII)
# Endings of a year that is a century: 1800s, Scandinavian 1800-talet, Finnish 1800-luku.
_CENTURY = expression(r"['’]{0,2}s|-(?:tal|lu[vk]u)|年代|後|后")
_HOURS = expression(r" ?(?:hours|hrs|GMT|UTC)\b")
# Half past an hour, behind the hour.
_HALF_PAST = expression(r"(?<=[时時点點시]) ?[半반]")


# Maximum consecutive magnitude words, as in "a hundred thousand million".
_STACKED = 3
_FRACTIONS = {sign: Decimal(above) / Decimal(below) for sign, (above, below) in FRACTIONS.items()}
_SMALL_DIGITS = str.maketrans(SMALL, "01234567890123456789")
# Scripts whose texts may use another calendar; characters around a year that are searched for its
# name.
_AROUND = 40
_THAI, _ARABIC, _HEBREW, _ETHIOPIC = (
    re.compile(f"[{one}]") for one in ("ก-๙", "ء-۹", "א-ת", "ሀ-ፚ")
)


def numerals(text: str) -> list[Numeral]:
    """Find the numbers written with digits, in order."""
    original, text = text, plain_digits(text)
    numbers: list[Numeral] = []
    position = 0
    token = _TOKEN if text.isascii() or not UNUSUAL.search(text) else _ANY_TOKEN
    while match := token.search(text, position):
        for number in _read(text, original, match):
            read_sign(text, number)
            read_word_before(text, number)
            if numbers:
                join(text, numbers[-2:], number)
            numbers.append(number)
        position = max(match.end(), numbers[-1].end)
    return numbers


def is_grouped(one: Numeral) -> bool:
    """Tell whether a number has groups of three digits that can only be thousands or decimals."""
    return _GROUPED.fullmatch(one.digits) is not None


def _read(text: str, original: str, match: re.Match[str]) -> list[Numeral]:
    """Read the number that begins with a token, which may also be a list of numbers."""
    start, end = match.span()
    token = match[0]
    if token in _FRACTIONS:
        return [Numeral(start, end, (_FRACTIONS[token],), digits=token)]
    if token[0] in SMALL:
        token = token.translate(_SMALL_DIGITS)
        return [Numeral(start, end, (_value(token),), digits=token)]
    after = text[end : end + 3]
    if after[:1] in GAPS:
        after = after[1:]
    letter, both = after[:1].lower(), after[:2].lower()
    word = both in FOLLOWING or (letter in FOLLOWING and not both[1:].isalpha())
    followed = word or letter in MARKS
    before = text[start - 1 : start] if start else ""
    if not followed and before not in (".", ",") and token.isdecimal():
        number = Numeral(start, end, (_value(token),), digits=token)
        if len(token) < 5:
            _calendar(original, number, int(token))
        if token == "911" and _ATTACKS.match(text, end):
            number.firm = False
        if before in "- " and text[max(0, start - 6) : start - 1].lower() == "covid":
            number.firm = False
        return [number]
    if followed or token[1:2] == "." or token[2:3] == ".":
        clock = CLOCK.match(text, start)
        if clock and clock.end() >= end and int(clock["hour"]) <= 24:
            point = token[len(clock["hour"]) :][:1] == "." and not clock["half"]
            mixed = point and (MAGNITUDE.match(text, end) or _MIXED.match(text, start))
            if not mixed:
                return [_clock(text, clock)]
        rate = _RATE.match(text, start)
        if rate:  # 3割2分5厘 is 32.5 %
            share = Decimal(f"0.{''.join(filter(None, rate.groups()))}")
            return [Numeral(start, rate.end(), (share, share * 100), digits=rate[0])]
        mixed = _MIXED.match(text, start)
        if mixed and mixed.end() > end:
            return [_mixed(mixed)]
    readings = _readings(token)
    if not readings:
        parts = (
            (start + part.start(), start + part.end(), part[0]) for part in PART.finditer(token)
        )
        return [Numeral(low, high, (_value(part),), digits=part) for low, high, part in parts]
    if (
        before in (".", ",")
        and token.isdecimal()
        and not text[max(0, start - 2) : start - 1].isalnum()
    ):
        readings.append((token, -len(token)))
    powers = [0]
    for _ in range(_STACKED if followed else 0):
        magnitude = MAGNITUDE.match(text, end)
        if magnitude is None or magnitude.lastgroup is None:
            break
        powers = [power + new for power in powers for new in POWERS[magnitude.lastgroup]]
        end = magnitude.end()
    if max(powers) and len(token) == 4 and token.startswith(("19", "20")):
        powers.append(0)  # "v roce 2024 milion lidí"
    if max(powers) and len(readings) > 1 and readings[0][0].endswith("000"):
        del readings[1:]  # "20.000 millones" is not 20 million
    values = tuple([_value(digits, power + new) for digits, power in readings for new in powers])
    number = Numeral(start, end, values, power=max(powers), digits=token)
    if followed and isinstance(values[0], Decimal):
        number.more += (values[0] * 10,) if after[0] in "割成" else ()
        if after[0] in _FRACTIONS:
            number.values, number.more = (
                (values[0] + _FRACTIONS[after[0]],),
                (*number.more, *values),
            )
            number.end = text.index(after[0], end) + 1
    if len(token) < 5 and not number.power and token.isdecimal() and number.end == end:
        _calendar(original, number, int(token))
    return [number]


def _value(digits: str, power: int = 0) -> Value:
    """Return the value of digits times a power of ten."""
    if len(digits) > LONG:
        return digits.lstrip("0")
    return Decimal(f"{digits}E{power}" if power else digits)


def _readings(token: str) -> list[tuple[str, int]]:
    """Return the readings of a number with separators, as (digits, power); none for a list."""
    marks = _SEPARATOR.findall(token)
    if not marks:
        return [(token, 0)]
    last, kinds = marks[-1], {*marks}
    whole, decimals = token.rsplit(last, 1)
    digits = _SEPARATOR.sub("", token)
    readings = []
    if last not in _DECIMAL and len(kinds) == 1 and _GROUPED.fullmatch(token):
        readings.append((digits, 0))
    if last not in _GROUPING and (
        len(marks) == 1
        or (len(kinds) == 2 and last not in marks[:-1] and _GROUPED.fullmatch(whole))
    ):
        readings.append((digits, -len(decimals)))
    if not readings and last in _GROUPING:
        readings.append((digits, 0))
    return readings


def _clock(text: str, match: re.Match[str]) -> Numeral:
    """Read a time of day. A bare hour may be a number, and so may 10.30."""
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    past = None if match["minute"] else _HALF_PAST.match(text, match.end())
    minute = 30 if past else minute
    half = (match["half"] or match["half2"] or "")[:1].lower()
    before = text[max(0, match.start() - 3) : match.start()].rstrip(BLANKS)
    late = {half == "p"} if half else {hour > 12} if hour > 12 or hour == 0 else {False, True}
    late = {True} if before.endswith(AFTER_NOON) else late
    late = {False} if before.endswith(BEFORE_NOON) or hour == 24 else late
    values: list[Value] = [(hour % 12, minute, is_late) for is_late in sorted(late)]
    more: list[Value] = []
    if not minute:
        # A full hour may be written as a number on the other side, in the 12- or 24-hour clock. Two
        # less usual values never agree, so 22:00 is not 10 am.
        number = Decimal(hour)
        if match["minute"] or (hour <= 12 and len(late) == 1):
            more = [number]
        else:
            values.append(number)
        if hour > 12:
            more.append(Decimal(hour - 12))
        elif True in late and hour < 12:
            more.append(Decimal(hour + 12))
    if match["minute"] and match[0][len(match["hour"])] == ".":
        values.append(Decimal(match["hour"] + "." + match["minute"]))
    end = past.end() if past else match.end()
    return Numeral(match.start(), end, tuple(values), tuple(more), digits=text[match.start() : end])


def _mixed(match: re.Match[str]) -> Numeral:
    """Read digits mixed with East Asian units."""
    total = section = Decimal(0)
    power = 0
    for digits, units in _CHUNK.findall(match[0]):
        plain = digits.replace(",", "").rstrip(".")
        small = sum(UNIT_POWERS[unit] for unit in units if UNIT_POWERS[unit] < 4)
        large = sum(UNIT_POWERS[unit] for unit in units if UNIT_POWERS[unit] >= 4)
        if plain.count(".") > 1 or len(plain) > LONG:
            return Numeral(*match.span(), (match[0],), digits=match[0], firm=False)
        section += Decimal(f"{plain}E{small}")
        power = max(power, small + large)
        if large:
            total, section = total + section.scaleb(large), Decimal(0)
    text = match[0]
    end = match.start() + len(text.rstrip())
    parts = PART.findall(text)
    # 조 may also be a clause or a group, and 천 and 만 occur in other words.
    lone = (Decimal(parts[0]),) if len(parts) == 1 and text.rstrip()[-1] in "조천" else ()
    return Numeral(match.start(), end, (total + section,), lone, power, digits=text)


def _calendar(text: str, one: Numeral, year: int) -> None:
    """Add the Gregorian year, and its last two digits; leave days of other calendars open."""
    near = max(0, one.start - MONTH_AWAY), one.end + MONTH_AWAY
    plain = text.isascii()
    other = (1200 < year < 1500 or 5500 < year < 5900) if plain else year < 33
    if other and OTHER_MONTH.search(text, *near):
        one.firm = False
    if year < 25 and plain:
        return
    hour, minute = divmod(year, 100)
    if one.end - one.start == 4 and hour <= 24 and minute < 60:  # 0500, 1134 GMT
        alone = year < 1000 or (not minute and _HOURS.match(text, one.end))
        one.more += ((hour % 12, minute, 12 <= hour < 24),) + (Decimal(hour),) * bool(alone)
    if 1000 < year <= 2100:
        one.more += (Decimal(minute),) * (minute > 0)
        if _CENTURY.match(text, one.end):  # "1800s" is a century, and "2000s" are the 00s
            one.more += (Decimal(hour + 1), Decimal(minute))
    if plain and one.firm:
        return
    before = text[max(0, one.start - 2) : one.start].strip()
    japanese = before[-1:] in ERAS and text[one.end : one.end + 1] == "年"
    era = ERAS[before[-1:]] if japanese else ERAS.get(before)
    years = [year + era] if era else []
    around = max(0, one.start - _AROUND), one.end + _AROUND
    if 2400 <= year <= 2600 and _THAI.search(text, *around):
        years.append(year - 543)
    elif 1200 <= year <= 1450 and (not one.firm or _ARABIC.search(text, *around)):
        lunar = int(year * 0.970224 + 621.57)
        years += [year + 621, year + 622, lunar, lunar - 1, lunar + 1]
        one.firm = False
    elif 5500 <= year <= 5900 and (not one.firm or _HEBREW.search(text, *around)):
        years += [year - 3760, year - 3761]
    elif 1900 <= year <= 2030 and _ETHIOPIC.search(text, *around):
        years += [year + 7, year + 8]
    one.values += tuple(map(Decimal, years))
