"""Values of numbers written in words or letters: English, Han, Ge'ez and Roman numerals."""

import re
from decimal import Decimal
from unicodedata import numeric

from miner.text.number_words import ENGLISH, TIMES

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


def english_values(words: str) -> tuple[Decimal, ...]:
    """Return the values of English number words: of the whole phrase, and of each number in it.

    Two hundred and five is 205 or, before an unknown word of magnitude, 2; two and three are 5, 2
    or 3.
    """
    total = current = 0
    number_total = number = 0  # the same for the present number
    each: list[int] = []
    last = ""
    for word in re.split(r" and |[ -]", words)[:LONG]:
        if word in TIMES:
            times = TIMES[word]
            if not number_total and number < 100:
                each.append(number or times)
            if times == 12:  # two dozen are twelve and twelve
                each.append(times)
            current, number = max(1, current) * times, max(1, number) * times
            if times >= 1000:
                total, current = total + current, 0
                number_total, number = number_total + number, 0
        else:
            value = ENGLISH[word]
            joined = (last in TIMES and value < 100) or (last.endswith("ty") and value < 10)
            if number_total + number and not joined:
                each.append(number_total + number)
                number_total = number = 0
            number += value
            # For example nineteen eighty-four, two hundred and five.
            current = (
                current * 100 + value if 10 <= current < 100 <= 10 * value else current + value
            )
        last = word
    each.append(number_total + number)
    return tuple(Decimal(value) for value in dict.fromkeys([total + current, *each]))


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
