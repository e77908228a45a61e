"""Numbers in text, in any script and notation, with their possible values.

1.000 is 1000 or 1; 3,5 is 3.5; 2万5千 and 25,000 are 25000; "3 Mio." is 3000000; "10 pm" is an
hour, 10 or 22. Two numbers may be the same if they share a value. Values are exact.
"""

import re
from dataclasses import dataclass
from decimal import Decimal

from miner.expressions import expression
from miner.text.number_values import (
    GEEZ,
    HAN,
    LONG,
    UNIT_POWERS,
    english_values,
    ethiopic,
    han,
    roman,
)
from miner.text.number_words import (
    AFTER_NOON,
    BEFORE_NOON,
    CLOCK,
    ENGLISH_WORDS,
    ERAS,
    FIRST,
    FOLLOWING,
    FRACTIONS,
    HALF_BEFORE,
    LETTER_ERAS,
    MAGNITUDE,
    MAGNITUDE_BEFORE,
    MARKS,
    MONTH,
    MONTHS,
    OTHER_MONTH,
    POWERS,
    ROMAN,
    SYMBOLS,
)

# Value of a numeral: a number; the digits of a very long one; or hour (of twelve), minute and half
# of the day.
Value = Decimal | str | tuple[int, int, bool]

# Zeros of other scripts, each followed by its other digits, and full-width marks between digits.
_ZEROS = "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀႐០᠐᥆᧐᪀᪐᭐᮰᱀᱐꘠꣐꤀꧐꧰꩐꯰０"
_OTHERS = "".join(f"{zero}-{chr(ord(zero) + 9)}" for zero in _ZEROS)
_FOREIGN = expression(f"[{_OTHERS}]")
_WIDE = expression(f"[{_OTHERS}]|(?<=[{_OTHERS}0-9])[．：，・](?=[{_OTHERS}0-9])")
_FULL = {"．": ".", "：": ":", "，": ",", "・": "."}
# Number with its separators. An entity (&#8212;) is not a number.
_TOKEN = expression(
    r"\d(?<!\d\d)(?<!&#\d)(?<!&#x\d)"  # the first digit
    r"(?:\d{0,2}(?:[ \u00a0\u202f\u2009'’]\d{3}(?!\d))+|\d*)(?:(?:[.,٫٬]|·(?!10[\^⁰¹²³⁴-⁹⁻]))\d+)*",
    re.ASCII,
)
# Digits and fractions that `_TOKEN` lacks.
UNUSUAL = expression(f"[{''.join(FRACTIONS)}⁰¹²³⁴-⁹₀-₉]")
_ANY_TOKEN = expression(rf"[{''.join(FRACTIONS)}]|[⁰¹²³⁴-⁹]+|[₀-₉]+|{_TOKEN.pattern}", re.ASCII)
_PART = expression(r"\d+", re.ASCII)
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

_BEHIND_DIGIT = expression(r"\d[ -]?$")

_MINUS, _DASHES = "-−‐‑－", "–—"
# Characters before which a minus counts, and signs behind a number that make it a hyphen.
_OPENING, _AFTER = " \u00a0\u202f\u3000([{（<>=/*,;:|\"'“„«", ("%", "‰", "°")
_EITHER = ("+/-", "+/−", "+ / -", "+ / - ")
_RANGE = f"{_MINUS}{_DASHES}/⁄~〜～至"
# Text between ten and its exponent.
_RAISED = ("", "⁻", "^", "^-", "**")
_TIMES_SIGN = ("·", "×", "x", "*", "⋅", "∙", "х")
_BLANKS = " \u00a0\u202f\u3000\u200e\u200f\u061c"
# Words between two parts of a number: 2 million and 500 thousand.
_AND = ("", "and", "und", "et", "y", "e", "i", "и", "og", "och", "en")
# Maximum consecutive magnitude words, as in "a hundred thousand million".
_STACKED = 3
# Maximum characters between two numbers that share a magnitude: "3 to 5 million".
_GAP = 12
_GAPS = (" ", "\u00a0", "\u202f", "-")
_FRACTIONS = {sign: Decimal(above) / Decimal(below) for sign, (above, below) in FRACTIONS.items()}
# Raised and lowered digits are numbers of their own: 10⁶, m³, H₂O.
_SMALL = "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"
_SMALL_DIGITS = str.maketrans(_SMALL, "01234567890123456789")
# Scripts whose texts may use another calendar; characters around a year that are searched for its
# name.
_AROUND = 40
# Characters between a day and the name of its month, or its year, at most.
_MONTH = 12
_THAI, _ARABIC, _HEBREW, _ETHIOPIC = (
    re.compile(f"[{one}]") for one in ("ก-๙", "ء-۹", "א-ת", "ሀ-ፚ")
)


@dataclass(slots=True)
class Numeral:
    """Numeral in a text, ``text[start:end]``.

    values: possible values; more: less usual values.
    power: power of ten of its magnitude word, or 0.
    sign: "+", "-", or "" if undecided.
    symbol: its currency or percent sign, or "".
    digits: its groups of digits.
    firm: False if it may not be a number, for example a word or a year of another calendar.
    """

    start: int
    end: int
    values: tuple[Value, ...]
    more: tuple[Value, ...] = ()
    power: int = 0
    sign: str = "+"
    symbol: str = ""
    digits: str = ""
    firm: bool = True

    @property
    def parts(self) -> list[str]:
        """Return the groups of digits."""
        return _PART.findall(self.digits)


def plain_digits(text: str) -> str:
    """Replace the decimal digits of all scripts by 0 to 9, character by character."""
    if text.isascii() or not (_FOREIGN.search(text) or "．" in text):
        return text
    return _WIDE.sub(lambda one: _FULL.get(one[0]) or str(int(one[0])), text)


def numerals(text: str) -> list[Numeral]:
    """Find the numbers written with digits, in order."""
    original, text = text, plain_digits(text)
    numbers: list[Numeral] = []
    position = 0
    token = _TOKEN if text.isascii() or not UNUSUAL.search(text) else _ANY_TOKEN
    while match := token.search(text, position):
        for number in _read(text, original, match):
            _sign(text, number)
            _word_before(text, number)
            if numbers:
                _join(text, numbers[-2:], number)
            numbers.append(number)
        position = max(match.end(), numbers[-1].end)
    return numbers


def _read(text: str, original: str, match: re.Match[str]) -> list[Numeral]:
    """Read the number that begins with a token, which may also be a list of numbers."""
    start, end = match.span()
    token = match[0]
    if token in _FRACTIONS:
        return [Numeral(start, end, (_FRACTIONS[token],), digits=token)]
    if token[0] in _SMALL:
        token = token.translate(_SMALL_DIGITS)
        return [Numeral(start, end, (_value(token),), digits=token)]
    after = text[end : end + 3]
    if after[:1] in _GAPS:
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
            (start + part.start(), start + part.end(), part[0]) for part in _PART.finditer(token)
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
    before = text[max(0, match.start() - 3) : match.start()].rstrip(_BLANKS)
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
    parts = _PART.findall(text)
    # 조 may also be a clause or a group, and 천 and 만 occur in other words.
    lone = (Decimal(parts[0]),) if len(parts) == 1 and text.rstrip()[-1] in "조천" else ()
    return Numeral(match.start(), end, (total + section,), lone, power, digits=text)


def _calendar(text: str, one: Numeral, year: int) -> None:
    """Add the Gregorian year, and its last two digits; leave days of other calendars open."""
    if year < 33 and not text.isascii():
        one.firm = not OTHER_MONTH.search(text, max(0, one.start - _MONTH), one.end + _MONTH)
    if year < 25 and text.isascii():
        return
    hour, minute = divmod(year, 100)
    if one.end - one.start == 4 and hour <= 24 and minute < 60:  # 0500, 1134 GMT
        alone = year < 1000 or (not minute and _HOURS.match(text, one.end))
        one.more += ((hour % 12, minute, 12 <= hour < 24),) + (Decimal(hour),) * bool(alone)
    if 1000 < year <= 2100:
        one.more += (Decimal(minute),) * (minute > 0)
        if _CENTURY.match(text, one.end):  # "1800s" is a century, and "2000s" are the 00s
            one.more += (Decimal(hour + 1), Decimal(minute))
    if text.isascii():
        return
    before = text[max(0, one.start - 2) : one.start].strip()
    japanese = before[-1:] in LETTER_ERAS and text[one.end : one.end + 1] == "年"
    era = LETTER_ERAS[before[-1:]] if japanese else ERAS.get(before)
    years = [year + era] if era else []
    around = max(0, one.start - _AROUND), one.end + _AROUND
    if 2400 <= year <= 2600 and _THAI.search(text, *around):
        years.append(year - 543)
    elif 1200 <= year <= 1450 and _ARABIC.search(text, *around):
        lunar = int(year * 0.970224 + 621.57)
        years += [year + 621, year + 622, lunar, lunar - 1, lunar + 1]
        one.firm = False
    elif 5500 <= year <= 5900 and _HEBREW.search(text, *around):
        years += [year - 3760, year - 3761]
    elif 1900 <= year <= 2030 and _ETHIOPIC.search(text, *around):
        years += [year + 7, year + 8]
    one.values += tuple(map(Decimal, years))


def _sign(text: str, one: Numeral) -> None:
    """Read the sign of a number, and the adjacent currency or percent sign."""
    after = text[one.end : one.end + 2]
    if after and after[0] in _BLANKS:
        after = after[1:]
    one.symbol = SYMBOLS.get(after[:1], "")
    mark = text[one.start - 1 : one.start]
    if not mark or mark.isalnum():
        return
    if mark == "⁻" or text[one.start - 2 : one.start] == "^-":
        one.sign = "-"
        return
    if mark in _BLANKS or mark in SYMBOLS:
        before = text[max(0, one.start - 3) : one.start].rstrip(_BLANKS)
        if before[-1:] not in SYMBOLS or before[-1:] in _AFTER:
            return
        one.symbol = one.symbol or SYMBOLS[before[-1]]
        mark = before[-2:-1]
    if not mark or mark not in _MINUS + _DASHES:
        return
    if text[: one.start].endswith(_EITHER):
        one.sign = ""
        return
    position = text.rfind(mark, 0, one.start)
    ahead = text[max(0, position - 2) : position]
    last = ahead.rstrip(_BLANKS)[-1:]
    clear = not ahead or ahead[-1] in _OPENING or ahead[-1] in SYMBOLS
    one.sign = "-" if mark in _MINUS and clear and not (last.isdigit() or last in _AFTER) else ""


def _word_before(text: str, one: Numeral) -> None:
    """Add the value with the magnitude word, or the word for a half hour, before the number."""
    word = None if one.power else MAGNITUDE_BEFORE.search(text, max(0, one.start - 10), one.start)
    if word:
        power = FIRST[word[1].lower()]
        one.more += tuple(each.scaleb(power) for each in one.values if isinstance(each, Decimal))
    half = HALF_BEFORE.search(text, max(0, one.start - 12), one.start)
    if half and one.digits.isdecimal() and 0 < int(one.digits[:3]) <= 12:
        hours = [int(one.digits) - 1, *([int(one.digits)] if half[1] else [])]
        one.more += tuple((hour % 12, 30, late) for hour in hours for late in (False, True))


def _join(text: str, before: list[Numeral], one: Numeral) -> None:
    """Add the value of a number joined with the one before: 1932–33, 2-300, 3 to 5 million."""
    last = before[-1]
    gap = text[last.end : one.start]
    if one.power and last.power > one.power and gap.strip(_BLANKS).lower() in _AND:
        values = [one.values[0], last.values[0]]
        if all(isinstance(value, Decimal) for value in values):
            one.more += (sum(values, Decimal(0)),)
            last.firm = False
    if last.power and not one.power and gap in _GAPS[:3] and one.digits.isdecimal():
        number, rest = last.values[0], one.values[0]
        if (
            isinstance(number, Decimal)
            and isinstance(rest, Decimal)
            and 10**last.power > rest >= 10
        ):
            last.more += (number + rest,)  # 6 bin 500
            one.firm = False
    if one.power and not last.power and len(gap) <= _GAP:
        last.more += tuple(
            value.scaleb(one.power) for value in last.values if isinstance(value, Decimal)
        )
    if last.digits == "10" and gap in _RAISED and one.digits.isdecimal() and len(one.digits) < 3:
        if gap or text[one.start] in _SMALL:
            power = int(f"{one.sign}{one.digits}")
            last.more += (Decimal(10) ** power,)
            _mantissa(text, before, one, power)
        return
    if gap in ("/", "-", ".") and not last.firm and len(last.digits) == 4:
        one.firm = False  # a month of another calendar
    elif not one.firm and len(one.digits) == 4 and len(last.digits) < 3 and len(gap) <= _MONTH:
        last.firm = False
    mark = gap.strip(_BLANKS)
    hours = one.values[0]
    if (
        (mark in ("and", "to") or (len(mark) == 1 and mark in _RANGE))
        and isinstance(hours, tuple)
        and last.digits.isdecimal()
    ):
        _first_hour(last, one)
    if (
        len(mark) != 1
        or mark not in _RANGE
        or not last.digits.isdecimal()
        or not one.digits.isdecimal()
    ):
        return
    first, second = last.digits, one.digits
    if one.sign == "-":
        one.sign = ""
    if len(second) < len(first) <= LONG:
        one.more += (Decimal(first[: len(first) - len(second)] + second),)
    elif len(first) < len(second) <= LONG and not second[len(first) :].strip("0"):
        last.more += (Decimal(first + second[len(first) :]),)
    above, below = last.values[0], one.values[0]
    if gap in ("/", "⁄") and isinstance(above, Decimal) and isinstance(below, Decimal) and below:
        last.more += (above / below,)
        whole = before[0].values[0] if len(before) == 2 else None
        if isinstance(whole, Decimal) and text[before[0].end : last.start] == " ":
            last.more += (whole + above / below,)


def _mantissa(text: str, before: list[Numeral], one: Numeral, power: int) -> None:
    """Add the value of a mantissa before a power of ten: 1,5 · 10⁹."""
    if len(before) < 2 or text[before[0].end : before[1].start].strip(_BLANKS) not in _TIMES_SIGN:
        return
    before[0].more += tuple(
        value.scaleb(power) for value in before[0].values if isinstance(value, Decimal)
    )
    before[1].firm = one.firm = False


def _first_hour(first: Numeral, last: Numeral) -> None:
    """Let the first number of a range be an hour, as the last one is: 17-20 Uhr, 5-8 pm."""
    hour = int(first.digits) if len(first.digits) < 3 else 25
    if hour <= 12:
        first.more += ((hour % 12, 0, False), (hour % 12, 0, True))
        end = last.values[0]
        if len(last.values) == 1 and isinstance(end, tuple) and end[1:] == (0, True):
            first.more += (Decimal(hour + 12),)
    elif hour < 25:
        first.values += ((hour % 12, 0, hour < 24),)


def number_words(text: str) -> list[Numeral]:
    """Find numbers written as words: English, Han, Ge'ez and Roman numerals, and months."""
    numbers = []
    for match in ENGLISH_WORDS.finditer(text):
        if _BEHIND_DIGIT.search(text, max(0, match.start() - 2), match.start()):
            continue  # already part of that number
        values = english_values(match[0].lower())
        numbers.append(Numeral(*match.span(), values, power=0, firm=False))
    for match in MONTH.finditer(text):
        numbers.append(Numeral(*match.span(), (Decimal(MONTHS[match[0].lower()]),), firm=False))
    for match in ROMAN.finditer(text):
        if match[0] and match[0] not in "ICL":
            numbers.append(Numeral(*match.span(), (Decimal(roman(match[0])),), firm=False))
    for match in HAN.finditer(text):
        if _BEHIND_DIGIT.search(text, max(0, match.start() - 2), match.start()):
            continue
        values = tuple(han(match[0]))
        era = ERAS.get(text[max(0, match.start() - 2) : match.start()])
        if era and values:
            values += (values[0] + era,)
        numbers.append(Numeral(*match.span(), values, firm=False))
    for match in GEEZ.finditer(text):
        numbers.append(Numeral(*match.span(), (Decimal(ethiopic(match[0])),), firm=False))
    return numbers
