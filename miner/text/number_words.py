"""Words and signs beside digits, in the languages of the model and further ones."""

import re
from pathlib import Path
from typing import Any
from unicodedata import normalize

from miner.config_fields import read_toml
from miner.expressions import expression


def table(name: str) -> list[str]:
    """Return the lines of a table beside this module, without comments."""
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def _forms() -> dict[str, Any]:
    """Read ``number_forms.toml``; expressions are without the ends of lines."""
    forms = read_toml(Path(__file__).with_name("number_forms.toml"))
    return {key: _line(value) if isinstance(value, str) else value for key, value in forms.items()}


def _line(expression: str) -> str:
    return expression.replace("\n", "")


FORMS = _forms()
_MAGNITUDES = [(tuple(one["powers"]), _line(one["words"])) for one in FORMS["magnitudes"]]


# Scripts written without spaces between words.
_JOINED = "\u0e00-\u0e7f\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7a3"
_LETTER = r"[^\W\d_]"
# Text between a number and its magnitude word: 15-ти миллионов, 200多万.
_BLANK = r"(?:-?(?:[а-я]{1,2}|ti) | de (?=mi[il]))?[ \u00a0\u202f-]?"

# Words for people, such as millionaire, are no magnitudes.
_PEOPLE = rf"(?!{_LETTER}{{0,20}}(?:{FORMS['people']}))"


def _magnitudes() -> str:
    groups = (f"(?P<m{i}>{words})" for i, (_, words) in enumerate(_MAGNITUDES))
    return "|".join(groups).replace(r"\w", _LETTER)


MAGNITUDE = expression(
    rf"{_BLANK}{_PEOPLE}(?:{_magnitudes()})(?:(?<=[{_JOINED}])|(?!{_LETTER}))(?:\.(?= ?\S))?",
    re.IGNORECASE,
)
# A word of a thousand or more without digits before it, perhaps at the end of a compound.
LARGE_WORD = expression(
    r"(?<!\d)(?<!\d[ \u00a0\u202f-])(?:"
    + "|".join(
        rf"(?:{words})(?!{_LETTER})"
        if powers == (3,)
        else rf"(?<!{_LETTER})(?:{words})(?!{_LETTER})"
        for powers, words in _MAGNITUDES
        if powers[0] >= 3 and (0 not in powers or words in ("mil", r"mil(?=\.)"))
    ).replace(r"\w", _LETTER)
    + rf"|(?<!{_LETTER})(?:mille|mila|mie|mii|bin|tuh|min)(?!{_LETTER}))",
    re.IGNORECASE,
)
POWERS = {f"m{i}": powers for i, (powers, _) in enumerate(_MAGNITUDES)}

# Time of day: 10:30, 10.30, 10h30, 10 Uhr 30; 10 pm, 22 Uhr. The last group is am or pm.
_HALF = r"(?P<half>[ap]\.? ?m(?![^\W\d_])\.?)"
_HALF2 = _HALF.replace("half", "half2")
_HOUR = rf" ?(?:{FORMS['hour']})"
CLOCK = expression(
    rf"(?P<hour>\d\d?)(?:(?:[:：.]|{_HOUR} ?)(?P<minute>[0-5]\d|\d(?= ?[分분]))(?!\d)"
    rf"(?:[:：][0-5]\d(?![\d]))?(?:[ \u00a0\u202f]?{_HALF})?|[ \u00a0\u202f]?{_HALF2}"
    rf"|{_HOUR}(?:(?<=[{_JOINED}])|(?![^\W\d_])))",
    re.IGNORECASE | re.ASCII,
)
# Fractions of one character, as numerators and denominators.
FRACTIONS = {
    sign: (int(parts[0]), int(parts[1]))
    for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
    for parts in [normalize("NFKC", sign).split("⁄")]
}
# Signs, and first two letters of words, behind a number that may change its value. A word of one
# letter must be followed by a non-letter.
MARKS = frozenset("个：:十百千万萬億亿兆십백천만억조多余餘割成時时点點시") | FRACTIONS.keys()
FOLLOWING = {word[:2] for _, words in _MAGNITUDES for word in words.split("|")}
FOLLOWING |= {
    "أل",
    "ال",
    "h",
    "o'",
    "o’",
    "uh",
    "ча",
    "го",
    "gi",
    "ώρ",
    "kl",
    "น.",
    "ч.",
    "am",
    "pm",
}
FOLLOWING |= {"de", "ór", "a", "p", "ти", "х", "ми", "го"}
# Words for am and pm before the hour.
BEFORE_NOON, AFTER_NOON = (tuple(FORMS[when].split()) for when in ("before_noon", "after_noon"))
# Words for half an hour before the hour, and for half of a unit behind a number.
HALF_BEFORE = expression(rf"(?<!\w)(?:{FORMS['half_before']}) \Z", re.IGNORECASE)
HALF_BEHIND = expression(
    rf"(?:[ \u00a0](?:and|und|y|e|et|a|i|og|och|en|и|і|та|με|și|ja) "
    rf"(?:an? |un[ae]? |ein\w{{0,2}} |een |en )?(?:{FORMS['halves']})"
    r"|[ -](?:buçuk|yarım|yarim|دو نیم)"
    rf"|و ?نیم| ونصف| וחצי)(?![^\W\d_])"
    r"|(?:[个個]|か|ヶ|ヵ)?(?:年|月|時間|小时|小時|分[钟鐘間]?|日|天|倍|년|시간|개월|배|万|億|亿)?"
    r" ?[半반]",
    re.IGNORECASE,
)
FIRST = {word.lower(): power for word, power in FORMS["magnitude_before"].items()}
MAGNITUDE_BEFORE = expression(rf"(?<!{_LETTER})({'|'.join(FIRST)}) ?\Z", re.IGNORECASE)

# First year of each era minus 1. Letters of eras stand before a number and 年.
ERAS: dict[str, int] = FORMS["eras"]
# Months of calendars whose days are others than ours.
OTHER_MONTH = expression(rf"(?<!\w)(?:{FORMS['other_months']}|{FORMS['other_months_latin']})(?!\w)")
# Pattern of texts that may spell a negative number.
MINUS = expression(rf"\b(?:{FORMS['minus']})|{FORMS['minus_joined']}", re.IGNORECASE)

# Currencies of signs.
SIGNS = {"$": "dollar", "€": "euro", "£": "pound", "₽": "rouble", "₹": "rupee"}

# Signs of currencies and percent, mapped to one form each.
SYMBOLS = {sign: sign for sign in "$€£¥₹₩₽₪₫฿₴₺%‰"}
SYMBOLS |= {"円": "¥", "￥": "¥", "＄": "$", "％": "%", "٪": "%", "원": "₩", "₤": "£"}

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january",
            "feb february",
            "mar march",
            "apr april",
            "may",
            "jun june",
            "jul july",
            "aug august",
            "sep sept september",
            "oct october",
            "nov november",
            "dec december",
        ),
        start=1,
    )
    for name in names.split()
}
# Names of the months in other languages, as they stand beside a day or a year, a month a line.
FOREIGN_MONTHS: dict[str, set[int]] = {}
for _number, _names in enumerate(table("months.tsv"), start=1):
    for _name in _names.split():
        FOREIGN_MONTHS.setdefault(_name, set()).add(_number)
# A word where one of them may stand. An expression of all names would take longer to compile than
# most commands to read their text.
_WORD = r"[\w\u0900-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e]+"
BESIDE_DATE = expression(
    rf"(?<=\d)(?:\. gada(?: \d\d?\.)?|\.|er|º|-?го| ?m\.)? (?:de )?({_WORD})"
    rf"|(?<!\w)({_WORD})(?= (?:de )?\d{{4}})",
    re.IGNORECASE,
)
# English fractions, with numerator and denominator, where they are no ordinals: a third of, by
# two-thirds, half the.
PARTS = {"half": 2, "quarter": 4, "fourth": 4, "third": 3, "fifth": 5, "sixth": 6, "seventh": 7}
PARTS |= {"eighth": 8, "ninth": 9, "tenth": 10, "twentieth": 20, "hundredth": 100}
PARTS |= {f"{word}s": part for word, part in PARTS.items() if part > 2}
ABOVE = {"a": 1, "an": 1} | {
    word: i
    for i, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], start=1
    )
}
FRACTION = expression(
    rf"(?<!and )\b(?:(?:({'|'.join(ABOVE)})[ -])({'|'.join(PARTS)})|half)"
    r"(?:(?<=[dhr]s)|(?= of\b(?! an hour)| the\b| (?:is|are|was|were|do|did|have|had)\b|[.,;:!?)]"
    r"|\W*\Z))",
    re.IGNORECASE,
)
# Fractions in digits: 3/4, 4分の3, 四分之三.
_HAN = "一二三四五六七八九十"
DIGIT_FRACTION = expression(
    r"(?<![\d/.,])(\d\d?) ?[/⁄] ?(\d\d?)(?![\d/⁄]|[.,]\d)"
    rf"|([\d{_HAN}]{{1,2}})分[の之]([\d{_HAN}]{{1,2}})"
)
MONTH = expression(rf"\b(?:{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b", re.IGNORECASE)
ROMAN = expression(r"\b(?=[IVXLC])(?:C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})\b")
