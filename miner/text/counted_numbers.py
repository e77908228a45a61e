"""Numbers of scripts without spaces: Han and Thai words before a counter, large Han numerals."""

import re
from decimal import Decimal

from miner.expressions import expression
from miner.text.number_values import han
from miner.text.number_words import FORMS
from miner.text.numeral import Numeral

_THAI_ONES = "หนึ่ง สอง สาม สี่ ห้า หก เจ็ด แปด เก้า"
_THAI = {word: i for i, word in enumerate(_THAI_ONES.split(), start=1)} | {"เอ็ด": 1, "ยี่": 2}
_THAI_WORD = "|".join([*_THAI, "สิบ"])
# Characters of these numbers.
COUNT = re.compile("[〇二三四五六七八九十百千万两สหจปกย]")
_ONE, _MORE = "一二三四五六七八九", "一二三四五六七八九十百千万"
COUNTED = expression(
    rf"(?<![{FORMS['not_before_han']}{_MORE}])"
    rf"([二三四五六七八九]?十[{_ONE}]?|[二三四五六七八九两])(?={FORMS['counters_han']})"
    rf"|(?<![{FORMS['not_before_han']}{_MORE}])((?:[二三四五六七八九]十[{_ONE}]|十[{_ONE}]"
    rf"|[{_ONE}]千?[{_ONE}]?百[{_ONE}零〇]?十?[{_ONE}]?|[{_ONE}两]千[零〇]?[{_ONE}]?百?[{_ONE}]?十?[{_ONE}]?"
    rf"|[{_ONE}两十百千]+[万萬](?:[{_ONE}]千)?)(?![{FORMS['not_behind_han']}{_MORE}亿億萬]))"
    rf"|(?<![〇零{_ONE}])([〇零{_ONE}]{{4}}(?=年))"
    rf"|((?:{_THAI_WORD})+)(?={FORMS['counters_thai']})"
)


def counted(text: str) -> list[Numeral]:
    """Find the numbers, in order. One is no number, as it may be an article."""
    numbers = []
    for match in COUNTED.finditer(text):
        run = match[1] or match[2] or match[3]
        value = han(run)[0] if run else Decimal(_thai(match[4]))
        numbers.append(Numeral(*match.span(), (value,) if value > 1 else (), firm=False))
    return numbers


def _thai(text: str) -> int:
    total = digit = 0
    for word in re.findall(_THAI_WORD, text):
        if word == "สิบ":
            total, digit = total + 10 * (digit or 1), 0
        else:
            digit = _THAI[word]
    return total + digit
