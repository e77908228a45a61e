"""Record of a number in a text, with its possible values, and the digits of all scripts."""

import re
from dataclasses import dataclass
from decimal import Decimal

from miner.expressions import expression

# Value of a numeral: a number; the digits of a very long one; or hour (of twelve), minute and half
# of the day.
Value = Decimal | str | tuple[int, int, bool]

# Zeros of other scripts, each followed by its other digits, and full-width marks between digits.
_ZEROS = "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀႐០᠐᥆᧐᪀᪐᭐᮰᱀᱐꘠꣐꤀꧐꧰꩐꯰０"
_OTHERS = "".join(f"{zero}-{chr(ord(zero) + 9)}" for zero in _ZEROS)
_FOREIGN = expression(f"[{_OTHERS}]")
_WIDE = expression(f"[{_OTHERS}]|(?<=[{_OTHERS}0-9])[．：，・](?=[{_OTHERS}0-9])")
_FULL = {"．": ".", "：": ":", "，": ",", "・": "."}
PART = expression(r"\d+", re.ASCII)
# Blanks; text between a number and its magnitude; raised and lowered digits, which are numbers of
# their own: 10⁶, m³, H₂O.
BLANKS = " \u00a0\u202f\u3000\u200e\u200f\u061c"
GAPS = (" ", "\u00a0", "\u202f", "-")
SMALL = "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉"
# Characters between a day and the name of its month, or its year, at most.
MONTH_AWAY = 12


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
        return PART.findall(self.digits)


def plain_digits(text: str) -> str:
    """Replace the decimal digits of all scripts by 0 to 9, character by character."""
    if text.isascii() or not (_FOREIGN.search(text) or "．" in text):
        return text
    return _WIDE.sub(lambda one: _FULL.get(one[0]) or str(int(one[0])), text)
