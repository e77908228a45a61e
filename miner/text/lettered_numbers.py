"""Numbers in letters: English words, Han, Ge'ez and Roman numerals, and months."""

import re
from decimal import Decimal

from miner.text.number_values import GEEZ, HAN, ethiopic, han, roman
from miner.text.number_words import ERAS, MONTH, MONTHS, ROMAN
from miner.text.numeral import Numeral
from miner.text.spelled_numbers import BEHIND_DIGIT, english_numbers

# The five of a five-year plan, behind its number: 十四五.
_PLAN = re.compile("十[一二三四五六]五")


def number_words(text: str) -> list[Numeral]:
    """Find numbers written as words: English, Han, Ge'ez and Roman numerals, and months."""
    numbers = []
    for number in english_numbers(text):
        if not BEHIND_DIGIT.search(text, max(0, number.start - 2), number.start):
            numbers.append(number)  # otherwise already a part of that number
    for match in MONTH.finditer(text):
        numbers.append(Numeral(*match.span(), (Decimal(MONTHS[match[0].lower()]),), firm=False))
    for match in ROMAN.finditer(text):
        if match[0] and match[0] not in "ICL":
            numbers.append(Numeral(*match.span(), (Decimal(roman(match[0])),), firm=False))
    for match in HAN.finditer(text):
        if BEHIND_DIGIT.search(text, max(0, match.start() - 2), match.start()):
            continue
        values = tuple(han(match[0]))
        era = ERAS.get(text[max(0, match.start() - 2) : match.start()])
        if era and values:
            values += (values[0] + era,)
        if _PLAN.fullmatch(match[0]):
            values += (values[0] - 5,)
        numbers.append(Numeral(*match.span(), values, firm=False))
    for match in GEEZ.finditer(text):
        numbers.append(Numeral(*match.span(), (Decimal(ethiopic(match[0])),), firm=False))
    return numbers
