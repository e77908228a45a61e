"""Amounts that are alike in other units: 180 °C and 350 °F, 1h30 and 90 minutes, 0.5 and 50%.

`miner/text/units.tsv` is the table of units. Its columns are the kind of a unit, its name, its
sizes in one unit of the kind, words that prove the unit, and words that only excuse a number. A
size with ~ belongs to a traditional system, whose amounts are rounded when they are converted.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import NamedTuple

from miner.expressions import expression
from miner.text.number_words import SIGNS, SYMBOLS, table
from miner.text.numeral import Numeral
from miner.text.numerals import is_grouped
from miner.text.words import SPACELESS

# Relative error of a converted amount, and of one with a single significant digit.
_ROUNDED, _ROUGH = Decimal("0.06"), Decimal("0.1")
# Numbers of a text that are tried at most, and significant digits of a rounded number at least.
_TRIED, _EXACT = 20, 3


class Unit(NamedTuple):
    """Unit of a kind, such as length, with its possible sizes in the smallest unit of the kind.

    ``rounded``: conversions from and to the unit are approximate.
    """

    kind: str
    name: str
    sizes: tuple[Decimal, ...]
    rounded: bool = False


class Amount(NamedTuple):
    """Numbers of a text that make one amount, as in 1 hour 30 minutes, and its possible values."""

    numbers: list[Numeral]
    values: tuple[Decimal, ...]
    unit: Unit | None


_ROWS = [line.split("\t") for line in table("units.tsv")]
_PREFIXES = {
    word: Decimal(size)
    for kind, _, size, _, words in _ROWS
    if kind == "prefix"
    for word in words.split("|")
}
_ROWS = [row for row in _ROWS if row[0] != "prefix"]
_UNITS = [
    Unit(kind, name, tuple(map(Decimal, sizes.strip("~").split())), sizes.startswith("~"))
    for kind, name, sizes, *_ in _ROWS
]
_CURRENCIES = {unit.name: unit for unit in _UNITS if unit.kind == "money"}
_TIMES = [size for unit in _UNITS if unit.kind == "time" for size in unit.sizes]
_MINUTE, _HOUR = (unit for unit in _UNITS if unit.name in ("minute", "hour"))


def _unit_expression(columns: int, behind: str, flags: int = 0) -> re.Pattern[str]:
    words = {i: "|".join(filter(None, row[3 : 3 + columns])) for i, row in enumerate(_ROWS)}
    plain = "|".join(f"(?P<u{i}>{each})" for i, each in words.items() if each)
    metric = "|".join(
        f"(?P<m{i}>{each})" for i, each in words.items() if each and _ROWS[i][1] in _METRIC
    )
    units = rf"(?:{plain}|(?P<prefix>{'|'.join(_PREFIXES)})(?:{metric}))"
    joined = rf"(?<=[{SPACELESS}\u3380-\u33df])"
    return expression(rf"[ \u00a0\u202f-]?{units}(?:(?![{behind}])|{joined})", flags)


# Kinds whose possible units count beside a certain one, and letters of their words at least.
_MEASURES, _WORD = ("length", "weight", "area", "volume"), 4
# Units that take prefixes.
_METRIC = ("metre", "gram", "litre", "watt", "watt hour", "hertz", "byte", "pascal", "tonne")
_SURE = _unit_expression(1, r"\w²³/^")
_ANY = _unit_expression(2, r"²³/^]|[^\W\d_]|[23](?!\d)|[_", re.IGNORECASE)
# End of a range, behind its first number: 2-4 acres.
_RANGE_END = expression(r" ?(?:[-–—~〜～至]|to|bis|a|à|až|do|до|и|and|or|or) ?\d[\d.,]*")
# Text between the parts of an amount.
_AND = expression(r"[ \u00a0,]*(?:and|und|et|y|e|en|och|og|a|i|и|і)?[ \u00a0]*")
# Parts of a unit behind it without a unit: 1 m 55, 3 € 50, 5'11.
_PARTS = {"metre": 100, "euro": 100, "dollar": 100, "foot": 12, "hour": 60}
# Regions whose dollar is 元, too.
_DOLLAR_REGIONS = re.compile("[台臺港澳]|新加坡|加拿大|新台")
_FAHRENHEIT = "Fahrenheit"


def is_time(number: Numeral) -> bool:
    """Tell whether a number may be a time of day, as 8:30."""
    return bool(number.values) and isinstance(number.values[0], tuple)


def _end(number: Numeral) -> int:
    """Return the end of a number's digits, as a unit may have been read as a word of magnitude."""
    if is_time(number) and len(number.parts) == 1:
        return number.start + len(number.parts[0])
    digits = number.digits
    return number.start + len(digits) if digits[-1:].isdecimal() else number.end


def _matched_unit(match: re.Match[str]) -> Unit:
    """Return the unit of a match, with the sizes of its prefix."""
    assert match.lastgroup is not None
    unit = _UNITS[int(match.lastgroup[1:])]
    prefix = match["prefix"]
    step = _PREFIXES.get(prefix, _PREFIXES.get(prefix.lower())) if prefix else None
    if step:
        steps = [step]
        if unit.kind == "data":  # a kilobyte may be of 1,024 bytes
            steps.append(Decimal(1024) ** (step.adjusted() // 3))
        sizes = tuple(size * step for size in unit.sizes for step in steps)
        unit = unit._replace(name=prefix + unit.name, sizes=sizes)
    return unit


def named_unit(number: Numeral, text: str) -> Unit | None:
    """Return the unit that a word or a sign of currency proves, or None."""
    match = _SURE.match(text, _end(number))
    if match is None and number.power:  # 93 million miles
        match = _SURE.match(text, number.end)
    if match and match.lastgroup:
        unit = _matched_unit(match)
        return None if unit.name == "yuan" and _DOLLAR_REGIONS.search(text) else unit
    ahead = text[max(0, number.start - 2) : number.start]
    if ahead[1:] == "$" and ahead[:1].isalpha():  # NT$
        return None
    return _CURRENCIES.get(SIGNS.get(number.symbol, ""))


def _behind_magnitude(number: Numeral, text: str) -> re.Match[str] | None:
    """Match the unit of 93 million miles; times are left out, as decades would convert to years."""
    match = _ANY.match(text, number.end) if number.power else None
    return match if match and match.lastgroup and _matched_unit(match).kind in _MEASURES else None


def _possible_unit(number: Numeral, text: str) -> tuple[Unit | None, int]:
    """Return the unit of a number, perhaps behind the last number of a range, and its end."""
    end = _end(number)
    match = _ANY.match(text, end) or _behind_magnitude(number, text)
    if match is None and (last := _RANGE_END.match(text, end)):
        match = _ANY.match(text, last.end())
        end = last.end() if match else end
    if match is None or match.lastgroup is None:
        return _CURRENCIES.get(SIGNS.get(number.symbol, "")), number.end
    return _matched_unit(match), match.end()


def other_units(pairs: list[tuple[Numeral, Numeral]], source: str, target: str) -> bool:
    """Tell whether equal numbers are of other units of one kind: 5 miles and 5 km."""
    units = [(named_unit(a, source), named_unit(b, target)) for a, b in pairs]
    for row, (a, b) in enumerate(pairs):
        left, right = units[row]
        grouped = is_grouped(a) or is_grouped(b)
        if grouped and a.values[:1] != b.values[:1]:  # 1,6 km and 1,600 m
            continue
        if not (left and right):  # Pfund is a weight beside kg, or else a currency
            left = left or _excused(a, source, right)
            right = right or _excused(b, target, left)
            units[row] = left, right
        if left and right and left.kind == right.kind and _differ(left, right):
            # Equal numbers may have been paired in another order.
            value = pairs[row][0].values[0]
            same = [i for i, (a, _) in enumerate(pairs) if a.values[0] == value]
            if left not in [units[i][1] for i in same] or right not in [units[i][0] for i in same]:
                return True
    return False


def _excused(number: Numeral, text: str, beside: Unit | None) -> Unit | None:
    """Return the unit that a word may be, if the equal number ``beside`` has one of its kind."""
    if beside is None or beside.kind not in _MEASURES:
        return None
    match = _ANY.match(text, number.end if number.power else _end(number))
    word = match[0].strip(" -\u00a0\u202f") if match else ""
    named = match and match.lastgroup and len(word) >= _WORD and " " not in word
    return _matched_unit(match) if match and named and match["prefix"] is None else None


def _differ(one: Unit, other: Unit) -> bool:
    if one.kind in ("money", "heat"):
        return one.name != other.name
    return set(one.sizes).isdisjoint(other.sizes)


def amounts(side: list[Numeral], text: str) -> list[Amount]:
    """Read numbers with their units: 1.5 km, 1h30, 5 feet 11 inches."""
    read: list[Amount] = []
    end = 0
    for number in side:
        values = [value for value in number.values if isinstance(value, Decimal)]
        values += [more for more in number.more if isinstance(more, Decimal) and _broken(more)]
        unit, behind = _possible_unit(number, text)
        if is_time(number) and (unit is None or unit.kind == "time"):
            clock = number.values[0]
            spoken = clock[:2] if isinstance(clock, tuple) else ()  # Viertel nach drei
            hours, *minutes = map(Decimal, number.parts[:2] or spoken)
            values = [hours * 60 + minutes[0]] if minutes else [hours]
            unit = _MINUTE if minutes else unit
        last = read[-1] if read else None
        if last and last.unit and number.start >= end and _AND.fullmatch(text, end, number.start):
            whole = last.unit.sizes[0]
            part = None
            if unit and unit.kind == last.unit.kind and unit.sizes[0] < whole:
                part = unit.sizes[0] / whole
            elif unit is None and len(number.digits) < 3 and last.unit.name in _PARTS:
                part = Decimal(1) / _PARTS[last.unit.name]
            if part is not None:
                sums = tuple(a + b * part for a, b in product(last.values, values))
                read[-1] = Amount([*last.numbers, number], sums, last.unit)
                end = behind
                continue
        read.append(Amount([number], tuple(values), unit))
        end = behind
    return read


def conversions(
    left: list[Numeral], source: str, right: list[Numeral], target: str
) -> Iterator[tuple[list[Numeral], list[Numeral]]]:
    """Yield numbers that stand in other units on the other side: 73 m and 240 ft."""
    if not 2 <= len(left) + len(right) <= _TRIED:
        return
    others = amounts(right, target)
    for one in amounts(left, source):
        for row, other in enumerate(others):
            if _alike(one, other):
                yield one.numbers, others.pop(row).numbers
                break


def _alike(one: Amount, other: Amount) -> bool:
    """Tell whether two amounts may be the same."""
    if one.numbers[0].sign != other.numbers[0].sign:
        return False
    if _both_rounded(one.numbers[0], other.numbers[0]):
        return True
    left, right = one.unit, other.unit
    if left and right and left.kind == right.kind != "heat":
        if left.kind == "money" and (left.name == "cent") == (right.name == "cent"):
            return False
        return any(
            _near(a * first, b * second, _error(a, b) if left.rounded or right.rounded else 0)
            for a, b in product(one.values, other.values)
            for first, second in product(left.sizes, right.sizes)
        )
    return _differently(one, other) or _differently(other, one)


def _differently(one: Amount, other: Amount) -> bool:
    """Tell whether an amount may be one of an unknown unit or of another kind."""
    unit, pairs = one.unit, [*product(one.values, other.values)]
    if unit is None:
        return False
    if unit.name == _FAHRENHEIT and (other.unit is None or other.unit.name != _FAHRENHEIT):
        return any(abs((a - 32) / Decimal("1.8") - b) <= 3 + abs(a) / 50 for a, b in pairs)
    if unit.rounded and not SYMBOLS.keys() & {one.numbers[0].symbol, other.numbers[0].symbol}:
        # Whichever power of ten lies between the units, as of feet and centimetres.
        return any(
            _near(a * size, b.scaleb(power), _error(a, b))
            for a, b in pairs
            for size in unit.sizes
            for power in range(-6, 7)
        )
    if other.unit is not None:
        return False
    if unit.kind == "time":
        return any(a * size == b * step for a, b in pairs for size in unit.sizes for step in _TIMES)
    return unit.kind == "share" and any(a * unit.sizes[0] == b and _broken(b) for a, b in pairs)


def _broken(value: Decimal) -> bool:
    return value != value.to_integral_value()


def _error(*values: Decimal) -> Decimal:
    single = any(len(value.normalize().as_tuple().digits) == 1 for value in values)
    return _ROUGH if single else _ROUNDED


def _near(one: Decimal, other: Decimal, error: Decimal | int) -> bool:
    return one > 0 and abs(other / one - 1) <= error


def _both_rounded(one: Numeral, other: Numeral) -> bool:
    """Tell whether one of two large numbers is rounded: 19.93 million for 19,930,300."""
    if not (one.power or other.power):
        return False
    for a, b in product(one.values, other.values):
        if isinstance(a, Decimal) and isinstance(b, Decimal):
            shorter = min((a, b), key=_precision)
            exponent = shorter.normalize().as_tuple().exponent
            exact = _precision(shorter) >= _EXACT and isinstance(exponent, int)
            if exact and abs(a - b) < Decimal(f"1E{exponent}"):
                return True
    return False


def _precision(value: Decimal) -> int:
    return len(value.normalize().as_tuple().digits)
