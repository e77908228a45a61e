"""Signs of numbers, and numbers that are joined with others: 1932–33, 3 to 5 million, 10⁶."""

from decimal import Decimal

from miner.text.number_values import LONG
from miner.text.number_words import FIRST, HALF_BEFORE, MAGNITUDE_BEFORE, SYMBOLS
from miner.text.numeral import BLANKS, GAPS, MONTH_AWAY, SMALL, Numeral

_MINUS, _DASHES = "-−‐‑－", "–—"
# Characters before which a minus counts, and signs behind a number that make it a hyphen.
_OPENING, _AFTER = " \u00a0\u202f\u3000([{（<>=/*,;:|\"'“„«", ("%", "‰", "°")
_EITHER = ("+/-", "+/−", "+ / -", "+ / - ")
_ENDS = ("-", "–", "—", "~", "～", "〜", "至", "到", "to", "bis", "до", "až", "do", "à", "a")
_RANGE = f"{_MINUS}{_DASHES}/⁄~〜～至"
# Text between ten and its exponent.
_RAISED = ("", "⁻", "^", "^-", "**")
_TIMES_SIGN = ("·", "×", "x", "*", "⋅", "∙", "х")
# Words between two parts of a number: 2 million and 500 thousand.
_AND = ("", "and", "und", "et", "y", "e", "i", "и", "og", "och", "en")
# Maximum characters between two numbers that share a magnitude: "3 to 5 million".
_GAP = 12


def read_sign(text: str, one: Numeral) -> None:
    """Read the sign of a number, and the adjacent currency or percent sign."""
    after = text[one.end : one.end + 2]
    if after and after[0] in BLANKS:
        after = after[1:]
    one.symbol = SYMBOLS.get(after[:1], "")
    mark = text[one.start - 1 : one.start]
    if not mark or mark.isalnum():
        return
    if mark == "⁻" or text[one.start - 2 : one.start] == "^-":
        one.sign = "-"
        return
    if mark in BLANKS or mark in SYMBOLS:
        before = text[max(0, one.start - 3) : one.start].rstrip(BLANKS)
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
    last = ahead.rstrip(BLANKS)[-1:]
    clear = not ahead or ahead[-1] in _OPENING or ahead[-1] in SYMBOLS
    one.sign = "-" if mark in _MINUS and clear and not (last.isdigit() or last in _AFTER) else ""


def read_word_before(text: str, one: Numeral) -> None:
    """Add the value with the magnitude word, or the word for a half hour, before the number."""
    word = None if one.power else MAGNITUDE_BEFORE.search(text, max(0, one.start - 10), one.start)
    if word:
        power = FIRST[word[1].lower()]
        one.more += tuple(each.scaleb(power) for each in one.values if isinstance(each, Decimal))
    half = HALF_BEFORE.search(text, max(0, one.start - 12), one.start)
    if half and one.digits.isdecimal() and 0 < int(one.digits[:3]) <= 12:
        hours = [int(one.digits) - 1, *([int(one.digits)] if half[1] else [])]
        one.more += tuple((hour % 12, 30, late) for hour in hours for late in (False, True))


def join(text: str, before: list[Numeral], one: Numeral) -> None:
    """Add the value of a number joined with the one before: 1932–33, 2-300, 3 to 5 million."""
    last = before[-1]
    gap = text[last.end : one.start]
    if one.power and last.power > one.power and gap.strip(BLANKS).lower() in _AND:
        values = [one.values[0], last.values[0]]
        if all(isinstance(value, Decimal) for value in values):
            one.more += (sum(values, Decimal(0)),)
            last.firm = False
    if last.power and not one.power and gap in GAPS[:3] and one.digits.isdecimal():
        number, rest = last.values[0], one.values[0]
        if (
            isinstance(number, Decimal)
            and isinstance(rest, Decimal)
            and 10**last.power > rest >= 10
        ):
            last.more += (number + rest,)  # 6 bin 500
            one.firm = False
    if one.power and not last.power and len(gap) <= _GAP:
        scaled = tuple(
            value.scaleb(one.power) for value in last.values if isinstance(value, Decimal)
        )
        if gap.strip(BLANKS) in _ENDS:  # 600 to 700万, as on the other side 6 to 7 million
            last.values += scaled
        last.more += scaled
    if last.digits == "10" and gap in _RAISED and one.digits.isdecimal() and len(one.digits) < 3:
        if gap or text[one.start] in SMALL:
            power = int(f"{one.sign}{one.digits}")
            last.more += (Decimal(10) ** power,)
            _mantissa(text, before, one, power)
        return
    if gap in ("/", "-", ".") and not last.firm and len(last.digits) == 4:
        one.firm = False  # a month of another calendar
    elif not one.firm and len(one.digits) == 4 and len(last.digits) < 3 and len(gap) <= MONTH_AWAY:
        last.firm = False
    mark = gap.strip(BLANKS)
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
    if len(before) < 2 or text[before[0].end : before[1].start].strip(BLANKS) not in _TIMES_SIGN:
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
