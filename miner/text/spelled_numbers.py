"""Numbers from 2 to 99 that are spelled out in many languages, without knowing the language.

`number_words.tsv` has a language a line: its code, and cells of a number and its words. The number
? has parts of larger numbers. A word with ? is another word elsewhere. Beside both, a number of the
language is uncertain. In scripts without spaces a number counts only before a counter: 三十人.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from miner.expressions import expression
from miner.text.number_values import han
from miner.text.number_words import ENGLISH, LOOSE_WORDS, MAGNITUDE, table
from miner.text.numerals import Numeral

# Values of each word by language, None for parts of larger numbers, and words that prove no number.
_VALUES: dict[str, dict[str, Decimal | None]] = {}
_DOUBTFUL: set[str] = set()
for _code, *_cells in (line.split("\t") for line in table("number_words.tsv")):
    for _number, *_words in map(str.split, _cells):
        for _word in _words:
            if _number == "?" or _word[0] == "?":
                _DOUBTFUL.add(_word.lstrip("?"))
            value = None if _number == "?" else Decimal(_number)
            _VALUES.setdefault(_word.lstrip("?"), {})[_code] = value
_KNOWN = ({*_VALUES, *ENGLISH} - LOOSE_WORDS) - _DOUBTFUL
_WORD = re.compile(r"[^\W\d_]+(?:['’](?=[яю])[^\W\d_]+)?")
# Text between the words of one number: veinte y dos, setenta e dois, بیست و پنج.
_BETWEEN = re.compile(r"[ -](?:(?:y|e|et|i|og|och|en|und|és|ja|și|a|и|va|ve|و)[ -])?")
# One, or an ordinal, behind a multiple of ten: двадцать первое, vingt et un.
_UNIT_BEHIND = expression(
    r"[ -](?:(?:y|e|et|i|og|och|en|și|a) )?(?:u[nm](?:[aoe]|ul)?(?!\w)|ett?(?!\w)|e[ei]n(?!\w)"
    r"|jed[ne]|pierw|drug|trzec|czwart|piąt|szóst|siódm|ósm|dziewiąt|prv|druh|třet|čtvrt|pát|šest|sedm|osm|devát"
    r"|од[ин]|перв|втор|трет|четв[её]рт|пят|шест|седьм|восьм|девят|перш|друг|четверт|п['’]ят|шост"
    r"|сьом|восьм|дев['’]ят|bir|egy)"
)
_AND_BEFORE = ("و", "ו")
_THAI_ONES = "หนึ่ง สอง สาม สี่ ห้า หก เจ็ด แปด เก้า"
_THAI = {word: i for i, word in enumerate(_THAI_ONES.split(), start=1)} | {"เอ็ด": 1, "ยี่": 2}
_THAI_WORD = "|".join([*_THAI, "สิบ"])
# Marks beside words, and characters of numbers in scripts without spaces.
_MARKS, _COUNT = ".,?!-", re.compile("[〇二三四五六七八九十百两สหจปกย]")
_COUNTED = expression(
    r"(?<![第数數几幾何一二三四五六七八九十百千万])"
    r"([二三四五六七八九]?十[一二三四五六七八九]?|[二三四五六七八九两])"
    r"(?=[个個名位岁歳歲天人次只本张張条種匹枚冊杯台階歩秒円元块頭隻軒部寸]|小[时時]|時間|分[钟鐘]|[点點时時](?![一二三四五六七八九十半])|[日月]間|年[前後后間间]"
    r"|週間|か月|个月)"
    r"|(?<![第治正和成国國一二三四五六七八九十百千万])((?:[二三四五六七八九]十[一二三四五六七八九]?|十[一二三四五六七八九]"
    r"|[一二三四五六七八九]千?[一二三四五六七八九]?百[一二三四五六七八九零〇]?十?[一二三四五六七八九]?)"
    r"(?![年月日号號節节一二三四五六七八九十百千万亿億多余餘来數数几幾分]))"
    r"|(?<![〇零一二三四五六七八九])([〇零一二三四五六七八九]{4}(?=年))"
    rf"|((?:{_THAI_WORD})+)(?=คน|ปี|วัน|ตัว|ชั่วโมง|สัปดาห์|ส่วน|นาที|เดือน|ครั้ง|เล่ม|บาท|คัน|ใบ|ลูก|เมตร|ชิ้น|ขวบ)"
)


@dataclass(slots=True)
class _Group:
    """Number words that stand beside each other, from character ``start`` to ``end`` of a text.

    ``readings`` has, by language code, the value of each word, None for a part of larger numbers.
    ``doubtful``: each word also has another meaning, so that they prove no number.
    """

    start: int
    end: int
    readings: dict[str, list[Decimal | None]]
    doubtful: bool


@lru_cache(maxsize=16)  # a pair is looked at several times
def may_spell(text: str) -> bool:
    """Tell fast whether a text may have a number in words, in English or by :func:`spelled`."""
    words = text.lower()
    for mark in _MARKS:
        words = words.replace(mark, " ")
    return not _KNOWN.isdisjoint(words.split()) or (
        not text.isascii() and _COUNT.search(text) is not None and bool(_COUNTED.search(text))
    )


def spelled(text: str) -> list[Numeral]:
    """Find numbers in words, in order. A number whose value is uncertain has no values."""
    groups: list[_Group] = []
    lower = text.lower()
    for match in _WORD.finditer(lower):
        word, (start, end) = match[0], match.span()
        joined = word not in _VALUES and word[0] in _AND_BEFORE and word[1:] in _VALUES
        readings = _VALUES.get(word[joined:])
        if readings is None:
            continue
        last = groups[-1] if groups else None
        shared = last.readings.keys() & readings if last else ()
        if last and shared and _BETWEEN.fullmatch(lower, last.end, start):
            last.readings = {code: [*last.readings[code], readings[code]] for code in shared}
            last.end, last.doubtful = end, last.doubtful and word in _DOUBTFUL
        else:
            before: list[Decimal | None] = [None] if joined else []
            lists = {code: [*before, value] for code, value in readings.items()}
            groups.append(_Group(start, end, lists, word in _DOUBTFUL))
    numbers = []
    for group in groups:
        if not group.doubtful:
            part = text[group.start - 1 : group.start] == "-"  # of a word: dece-cinque
            open_end = part or any(e.match(text, group.end) for e in (MAGNITUDE, _UNIT_BEHIND))
            values = {
                value for code, words in group.readings.items() for value in _value(code, words)
            }
            known = () if open_end or len(values) > 1 else tuple(values)
            numbers.append(Numeral(group.start, group.end, known, firm=False))
    if not text.isascii() and _COUNT.search(text):
        for match in _COUNTED.finditer(text):
            run = match[1] or match[2] or match[3]
            value = han(run)[0] if run else Decimal(_thai(match[4]))
            numbers.append(Numeral(*match.span(), (value,) if value > 1 else (), firm=False))
    return numbers


def _value(code: str, words: list[Decimal | None]) -> tuple[Decimal, ...]:
    """Return the value of one word, or of a multiple of ten and a digit; nothing for others.

    In Arabic the digit comes first.
    """
    if len(words) == 1:
        return () if words[0] is None else (words[0],)
    tens, digit = words[:: -1 if code == "ar" else 1][:2]
    if len(words) == 2 and tens and digit and tens >= 20 > 10 > digit:
        return (tens + digit,)
    return ()


def _thai(text: str) -> int:
    total = digit = 0
    for word in re.findall(_THAI_WORD, text):
        if word == "สิบ":
            total, digit = total + 10 * (digit or 1), 0
        else:
            digit = _THAI[word]
    return total + digit
