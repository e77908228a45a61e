"""Values of Han, Ge'ez and Roman numerals."""

import re
from decimal import Decimal
from unicodedata import numeric

# Digits beyond which numbers are compared as text, because arithmetic would be slow.
LONG = 40

_HAN_DIGITS = dict(zip("〇一二三四五六七八九零两兩壱弐参", "0123456789022123", strict=True))
# Powers of ten of East Asian units.
UNIT_POWERS = {"十": 1, "百": 2, "千": 3, "万": 4, "萬": 4, "億": 8, "亿": 8, "兆": 12}
UNIT_POWERS |= {"십": 1, "백": 2, "천": 3, "만": 4, "억": 8, "조": 12}
# Ge'ez numerals: units and tens, a hundred, ten thousand.
GEEZ = re.compile("[፩-፼]+")
_HAN_DIGIT = f"[{''.join(_HAN_DIGITS)}]"
_HAN_UNIT = "[十百千万萬億亿兆]"
# With a decimal point: 五十一点六, 十五点二亿.
HAN = re.compile(rf"(?:{_HAN_DIGIT}|{_HAN_UNIT})+(?:[点點]{_HAN_DIGIT}+{_HAN_UNIT}*)?")


def ethiopic(word: str) -> int:
    """Return the value of Ge'ez numerals; ten thousand multiplies all that stands before."""
    total = section = digits = 0
    for value in map(int, map(numeric, word[:LONG])):
        if value < 100:
            digits += value
        elif value == 100:
            section, digits = section + max(1, digits) * 100, 0
        else:
            total, section, digits = max(1, total + section + digits) * value, 0, 0
    return total + section + digits


def roman(word: str) -> int:
    """Return the value of a Roman numeral."""
    values = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}[letter] for letter in word]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < later else value for value, later in pairs)


def han(word: str) -> list[Decimal]:
    """Return the value of Han numerals: digit by digit, or with units."""
    if len(word) > LONG:
        return []
    whole, point, rest = word.replace("點", "点").partition("点")
    if point:
        digits = rest.rstrip("十百千万萬億亿兆")
        power = sum(UNIT_POWERS[letter] for letter in rest[len(digits) :])
        decimals = "".join(_HAN_DIGITS[letter] for letter in digits)
        return [
            Decimal(f"{value}.{decimals}").scaleb(power)
            for value in han(whole)
            if value == value.to_integral_value()
        ]
    if not any(letter in UNIT_POWERS for letter in word):
        return [Decimal("".join(_HAN_DIGITS[letter] for letter in word))]
    total = section = digit = 0
    for letter in word:
        unit = UNIT_POWERS.get(letter)
        if unit is None:
            digit = int(_HAN_DIGITS[letter])
        elif unit < 4:
            section, digit = section + max(1, digit) * 10**unit, 0
        else:
            total, section, digit = total + max(1, section + digit) * 10**unit, 0, 0
    return [Decimal(total + section + digit)]
