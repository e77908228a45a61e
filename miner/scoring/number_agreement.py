"""Agreement of the numbers of two texts: which are on both sides, and which contradict.

The filter `numbers`, the quality and the reasons and marks of reports use this one definition. A
number that one side lacks may be a word there. Numbers contradict where each side has one that the
other lacks. What cannot be read counts as unknown.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NamedTuple

from miner.scoring.number_groups import exploded, spaced_out, telephone
from miner.scoring.number_names import (
    NEAR_FRACTION,
    fraction,
    may_have_ordinals,
    other_fraction,
    other_months,
    other_ordinals,
    percent,
    replaceable,
    with_halves,
)
from miner.scoring.number_units import conversions, is_time, other_units
from miner.scoring.other_number_words import always, other_days, other_spelled, other_word
from miner.text.lettered_numbers import number_words
from miner.text.number_words import (
    FRACTION,
    LARGE_WORD,
    MINUS,
)
from miner.text.numeral import Numeral, Value, plain_digits
from miner.text.numerals import UNUSUAL, is_grouped, numerals
from miner.text.spelled_numbers import may_spell

# Digits, or East Asian number signs that may correspond to a digit on the other side.
_DIGIT = re.compile(r"\d")
# Numbers up to this one are often words; digits of a lone number that may be a word.
_SPELLED, _FEW, _UNKNOWN = 20, 4, 0.5
_QUARTERS = (Decimal("0.25"), Decimal("0.5"), Decimal("0.75"))
_BULLETS = frozenset("-−‐‑–—•*")
# Maximum characters between a number and a word for its sign.
_NEAR = 16


class Agreement(NamedTuple):
    """Agreement of the numbers of two texts.

    shared: numbers that both sides have. missing: numbers of each side that the other lacks.
    contradicts: numbers of one side stand in the place of others, or other units.
    converted: numbers of source and target that are alike in other units, as 73 m and 240 ft.
    """

    shared: int
    missing: tuple[list[Numeral], list[Numeral]]
    contradicts: bool
    converted: Sequence[tuple[Numeral, Numeral]] = ()

    @property
    def share(self) -> float:
        """Share of the numbers that both sides have, 0 to 1; 0 where they contradict.

        A number that one side may write as a word does not count. 0.5 if the pair has only one
        number, whole and of up to `_FEW` digits, of quarters or a time: 35 may be
        thirty-five, 0.75 three quarters, and 8:30 half past eight.
        """
        if self.contradicts:
            return 0.0
        lone = [one for side in self.missing for one in side if not _spelled(one)]
        if not lone:
            return 1.0
        if self.shared == 0 and sum(map(len, self.missing)) == 1 and len(lone[0].parts) == 1:
            return 0.0 if len(lone[0].parts[0]) > _FEW else _UNKNOWN
        if self.shared == 0 and sum(map(len, self.missing)) == 1 and _wordy(lone[0]):
            return _UNKNOWN
        return self.shared / (self.shared + len(lone))


NOTHING = Agreement(0, ([], []), False)


def compare(source: str, target: str) -> Agreement:
    """Compare the numbers of two texts."""
    texts = source, target
    if not (_DIGIT.search(source) or _DIGIT.search(target) or any(map(UNUSUAL.search, texts))):
        other = other_ordinals(source, target) or other_spelled(source, target)
        return NOTHING._replace(contradicts=True) if other else NOTHING
    if source > target:  # so that swapping the sides changes nothing
        found = compare(target, source)
        swapped = [(one, other) for other, one in found.converted]
        return found._replace(missing=found.missing[::-1], converted=swapped)
    left, right = numerals(source), numerals(target)
    if left and right and source[0] in _BULLETS and target[0] in _BULLETS:
        for one in (left[0], right[0]):
            one.sign = "" if one.start == 1 else one.sign  # a mark of a list, not a sign
    count = len(left), len(right)
    pairs, left, right = _matched(left, right, _first, _first)
    more, left, right = _matched(left, right, _values, _values)
    pairs += more
    units = any(a.symbol and b.symbol and a.symbol != b.symbol for a, b in pairs) or other_units(
        pairs, source, target
    )
    _, left, right = _matched(left, right, _values, _more)
    _, left, right = _matched(left, right, _more, _values)
    if left or right:
        left, right = _words(left, source, right, target)
    converted: list[tuple[Numeral, Numeral]] = []
    if left and right:
        left, right = _otherwise(left, source, right, target, converted)
    left, right = ([one for one in side if one.firm] for side in (left, right))
    another = any(
        other_word(side, text, words) if here == 1 else other_days(side, text, words)
        for side, text, words, here, there in (
            (left, source, target, *count),
            (right, target, source, *count[::-1]),
        )
        if not there
    )
    if bool(left) != bool(right):
        words = source if right else target
        large = bool(LARGE_WORD.search(words))
        left, right = (
            [one for one in side if not (large and _large(one)) and not always(one, text)]
            for side, text in ((left, source), (right, target))
        )
    shared = min(count[0] - len(left), count[1] - len(right))
    contradicts = (
        units
        or any(replaceable(one, source, other, target) for one in left for other in right)
        or another
        or other_months(source, target)
        or other_ordinals(source, target)
        or other_fraction(source, target)
        or (not all(count) and other_spelled(source, target))
    )
    return Agreement(max(shared, 0), (left, right), contradicts, converted)


def same_in_other_digits(source: str, target: str) -> bool:
    """Tell whether both texts have the same numbers by other digits: in other units, as shares."""
    found = compare(source, target)
    digits = [sorted(_DIGITS.findall(plain_digits(text))) for text in (source, target)]
    other = found.shared > 0 and digits[0] != digits[1] and not any(found.missing)
    return (bool(found.converted) or other) and not found.contradicts


def contradict(source: str, target: str) -> bool:
    """Tell whether the numbers of two texts contradict, without a look at those of one side."""
    both = all(
        _DIGIT.search(text) or may_have_ordinals(text) or UNUSUAL.search(text) or may_spell(text)
        for text in (source, target)
    )
    return both and compare(source, target).contradicts


_DIGITS = re.compile(r"\d+")


def _spelled(one: Numeral) -> bool:
    """Tell whether a number is one of those that are often words: up to twenty, or round."""
    return all(
        (len(part) < 3 and int(part) <= _SPELLED) or not part.lstrip("0")[1:].strip("0")
        for part in one.parts
    )


def _wordy(one: Numeral) -> bool:
    """Tell whether a number is 1/4, 1/2, 3/4 or a time, which texts often spell as words."""
    return one.values[0] in _QUARTERS or is_time(one)


def _large(one: Numeral) -> bool:
    """Tell whether a number may be a word such as thousand on the other side, with others."""
    return any(isinstance(value, Decimal) and value >= 1000 for value in one.values)


def _alike(one: Numeral, other: Numeral) -> bool:
    return one.values == other.values and one.sign == other.sign


def _first(one: Numeral) -> Iterable[object]:
    return _keys(one, one.values[:1])


def _values(one: Numeral) -> Iterable[object]:
    return _keys(one, one.values)


def _more(one: Numeral) -> Iterable[object]:
    return _keys(one, one.more)


def _keys(one: Numeral, values: Iterable[Value]) -> Iterable[object]:
    signs = (one.sign,) if one.sign else ("+", "-")
    return ((sign, value) for sign in signs for value in values)


_Keys = Callable[[Numeral], Iterable[object]]


def _matched(
    left: list[Numeral], right: list[Numeral], of_left: _Keys, of_right: _Keys
) -> tuple[list[tuple[Numeral, Numeral]], list[Numeral], list[Numeral]]:
    """Pair numbers that share a key, in order. Returns pairs, and what is left of each side."""
    if not left or not right:
        return [], left, right
    if len(left) == len(right) and of_left is of_right and all(map(_alike, left, right)):
        return list(zip(left, right, strict=True)), [], []
    places = defaultdict(list)
    for place in range(len(right) - 1, -1, -1):
        for key in of_right(right[place]):
            places[key].append(place)
    used: set[int] = set()
    pairs, alone = [], []
    for one in left:
        for key in of_left(one):
            waiting = places.get(key, [])
            while waiting and waiting[-1] in used:
                waiting.pop()
            if waiting:
                used.add(waiting[-1])
                pairs.append((one, right[waiting.pop()]))
                break
        else:
            alone.append(one)
    return pairs, alone, [one for place, one in enumerate(right) if place not in used]


def _words(
    left: list[Numeral], source: str, right: list[Numeral], target: str
) -> tuple[list[Numeral], list[Numeral]]:
    """Remove the numbers that the other side has as a word."""
    return _spelled_out(left, source, target), _spelled_out(right, target, source)


def _spelled_out(side: list[Numeral], text: str, words: str) -> list[Numeral]:
    """Remove the numbers that ``words`` have as a word or a fraction."""
    if not side:
        return []
    there = number_words(words)
    if any(one.sign == "-" for one in side):
        there = _open(there, words)
    _, side, _ = _matched(side, there, _both, _values)
    shares = [percent(one, text) for one in side]
    if any(share is not None for share in shares):
        parts = [fraction(found) for found in FRACTION.finditer(words)]
        side = [
            one
            for one, share in zip(side, shares, strict=True)
            if share is None or not any(abs(share - part) <= NEAR_FRACTION for part in parts)
        ]
    return side


def _both(one: Numeral) -> Iterable[object]:
    """Return the keys of a number that may be a word: 3.000 is three thousand, hardly three."""
    return _keys(one, (one.values[:1] if is_grouped(one) else one.values) + one.more)


def _otherwise(
    left: list[Numeral],
    source: str,
    right: list[Numeral],
    target: str,
    converted: list[tuple[Numeral, Numeral]],
) -> tuple[list[Numeral], list[Numeral]]:
    """Remove numbers that have another form on the other side; collect ``converted`` ones."""
    if any(one.sign == "-" for one in left + right):
        _, left, right = _matched(_open(left, source), _open(right, target), _values, _values)
    left, right = _converted(left, source, right, target, converted)
    left, right = exploded(left, right, target), exploded(right, left, source)
    _, left, right = _matched(left, right, _values, _values)
    left, right = _converted(left, source, right, target, converted)
    left, right = spaced_out(left, source, right), spaced_out(right, target, left)
    left, right = with_halves(left, source), with_halves(right, target)
    _, left, right = _matched(left, right, _values, _values)
    if telephone(left, right) or telephone(right, left):
        return [], []
    return left, right


def _converted(
    left: list[Numeral],
    source: str,
    right: list[Numeral],
    target: str,
    converted: list[tuple[Numeral, Numeral]],
) -> tuple[list[Numeral], list[Numeral]]:
    """Move numbers that stand in other units on the other side to ``converted``."""
    for ours, theirs in [*conversions(left, source, right, target)]:
        converted.append((ours[0], theirs[0]))
        left, right = _without(left, ours), _without(right, theirs)
    return left, right


def _without(side: list[Numeral], those: list[Numeral]) -> list[Numeral]:
    return [one for one in side if not any(one is other for other in those)]


def _open(side: list[Numeral], text: str) -> list[Numeral]:
    """Leave the sign open of numbers beside a word such as minus, below or less."""
    return [
        replace(one, sign="")
        if one.sign == "+" and MINUS.search(text, max(0, one.start - _NEAR), one.end + _NEAR)
        else one
        for one in side
    ]
