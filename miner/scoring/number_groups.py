"""Groups of digits that the other side divides otherwise: times, lists, telephone numbers."""

from dataclasses import replace
from decimal import Decimal

from miner.scoring.number_units import is_time
from miner.text.lettered_numbers import number_words
from miner.text.numeral import Numeral

# Digits of a number that is divided into its groups at most.
_LONG = 10
# Minimum digits of a telephone number, and of the last groups of one.
_TELEPHONE, _GROUPS = 6, 4


def exploded(side: list[Numeral], others: list[Numeral], text: str) -> list[Numeral]:
    """Divide times, and lists that the other side has number by number.

    2:15 may be a score or a verse, 7,10 two numbers, 31.8 a date.
    """
    if all(len(one.parts) == 1 for one in side):
        return side
    there = {value for one in (*others, *number_words(text)) for value in one.values}
    there |= {Decimal(part) for one in others if ":" in one.digits for part in one.parts}
    found = []
    for one in side:
        if len(one.parts) < 2 or max(map(len, one.parts)) > _LONG:
            found.append(one)
            continue
        parts = [Decimal(part) for part in one.parts]
        if not is_time(one) and not there.issuperset(parts):
            found.append(one)
            continue
        for value, part in zip(parts, one.parts, strict=True):
            found.append(replace(one, values=(value,), more=(), digits=part))
    return found


def spaced_out(side: list[Numeral], text: str, others: list[Numeral]) -> list[Numeral]:
    """Join single digits between spaces to a number that the other side has: 3 0 is 30."""
    there = {one.digits for one in others}
    found: list[Numeral] = []
    for one in side:
        if found and len(one.digits) == 1 and text[found[-1].end : one.start] in (" ", "\u3000"):
            digits = found[-1].digits + one.digits
            if len(found[-1].digits) == 1 and digits in there:
                found[-1] = replace(
                    found[-1], end=one.end, values=(Decimal(digits),), digits=digits
                )
                continue
        found.append(one)
    return found


def telephone(left: list[Numeral], right: list[Numeral]) -> bool:
    """Tell whether groups of digits make one number that the other side writes in other groups."""
    if len(left) < 2 or not right:
        return False
    one, other = ("".join(part for a in side for part in a.parts) for side in (left, right))
    if len(one) >= _GROUPS and one == other:
        return True
    shorter, longer = sorted((one.lstrip("0"), other.lstrip("0")), key=len)
    return len(shorter) >= _TELEPHONE and longer.endswith(shorter)
