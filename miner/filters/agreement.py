"""Filters on parts that a translation keeps: numbers, addresses, the kind of sentence."""

import math
import re
from contextlib import suppress

from miner.filters.filter_types import Filter, each

_DIGIT = re.compile(r"\d")
# Thousands are separated by a space, a no-break space, a narrow one or an apostrophe, as in
# `miner.kernels.numbers`. An entity (&#8212;) is no number.
_NUMBER = re.compile(
    r"\d(?<!\d\d)(?<!&#\d)(?<!&#x\d)"  # the first digit
    r"(?:\d{0,2}(?:[ \u00a0\u202f'’]\d{3}(?!\d))+(?:[.,٫]\d+)*|\d*(?:[.,٫٬]\d+)*)"
)
_PART = re.compile(r"\d+")
# Numbers up to this one are often written as words, and so are tens, hundreds and thousands. A
# single number of up to `_FEW` digits may be a word on the other side: its score is `_UNKNOWN`.
_SPELLED = 20
_FEW, _UNKNOWN = 4, 0.5
_LONG = 30  # digits that are compared, since int() of very many is slow

_ADDRESS = re.compile(
    r"[\w.+-]{1,64}@([\w-]+(?:\.[\w-]+)+)|(?:https?|ftp)://(?:[^\s/@]*@)?([\w.-]+)"
    r"|\b(www\.[\w-]+(?:\.[\w-]+)+)",
    re.IGNORECASE,
)

# Spellings of @ that hide mail addresses from robots: info [at] firma.de, info_at_firma.de.
_AT = re.compile(
    r"\s*[\[({<]\s*(?:at|ät|bei|arroba|chez|@)\s*[\])}>]\s*|\\?_(?:at|arroba)\\?_"
    r"|(?<=\w)\s+(?:@|at)\s+(?=[\w-]+\.[\w.-]*\w)"
)
# Short hosts of sites.
_SHORT_HOSTS = {
    "youtu.be": "youtube.com",
    "t.me": "telegram.org",
    "fb.me": "facebook.com",
    "fb.com": "facebook.com",
    "wa.me": "whatsapp.com",
    "x.com": "twitter.com",
    "redd.it": "reddit.com",
}
_HOST_WORD = re.compile(r"[\w-]+")

# Marks that end a sentence, of all scripts, and characters that may follow them.
_QUESTIONS, _STOPS = "?？؟\u037e՞፧", ".!…。！．।॥۔։።؛"
_BEHIND = " \t\u00a0\u202f\u3000\"'”’“‘»«›‹」』）)]*"


def _figures(digits: str) -> int:
    """Strip final zeros of a number: one side writes 5,000,000, the other 5 million."""
    return int(digits[:_LONG].rstrip("0") or "0")


def _numbers(text: str) -> tuple[dict[int, list[str]], set[int]]:
    """Find the numbers of a text: each with its parts, and the set of all numbers and parts.

    3.4.2010 has the same parts as 2010/4/3.
    """
    found = {}
    for match in _NUMBER.findall(text):
        if not match.isascii():  # digits of any script become 0 to 9
            match = _DIGIT.sub(lambda digit: str(int(digit[0])), match)
        parts = _PART.findall(match)
        found[_figures("".join(parts))] = parts
    return found, {*found, *(_figures(part) for parts in found.values() for part in parts)}


def _missing(numbers: dict[int, list[str]], there: set[int]) -> list[list[str]]:
    """Numbers that the other side lacks: whole, in parts, and as another form of hours or years."""
    return [
        parts
        for figures, parts in numbers.items()
        if figures not in there
        and not (
            _otherwise(parts[0], len(parts) < 3) & there
            and all(_otherwise(part, False) & there for part in parts[1:])
        )
    ]


def _otherwise(part: str, hour: bool) -> set[int]:
    """Other forms of a part of a number: 50 for 1950; 9 for 21 if it may be an ``hour``."""
    ways = {_figures(part)}
    if len(part) == 4:
        ways.add(_figures(part[2:]))
    elif hour and len(part) < 3 and int(part) <= 24:
        ways.add(_figures(str(int(part) + (12 if int(part) <= 12 else -12))))
    return ways


def _spelled(parts: list[str]) -> bool:
    return all(
        (len(part) < 3 and int(part) <= _SPELLED) or not part.lstrip("0")[1:].strip("0")
        for part in parts
    )


def numbers(source: str, target: str) -> float:
    """Share of the numbers that both sides have, 0 to 1; 1 if there are none to compare.

    A number that the other side may write as a word counts only if the other side has another
    number in its place. `_UNKNOWN` if the pair has only one number, whole and of up to `_FEW`
    digits: 35 may be thirty-five.
    """
    if not (_DIGIT.search(source) or _DIGIT.search(target)):
        return 1.0
    (left, left_all), (right, right_all) = _numbers(source), _numbers(target)
    fewer, more = sorted((_missing(left, right_all), _missing(right, left_all)), key=len)
    wrong = max(len(fewer), sum(not _spelled(parts) for parts in more))
    if wrong and len(left) + len(right) == 1:
        [digits, *others] = more[0]
        return 0.0 if others or len(digits) > _FEW else _UNKNOWN
    shared = min(len(left), len(right)) - len(fewer)
    return max(shared, 0) / (max(shared, 0) + wrong) if wrong else 1.0


def _hosts(text: str) -> set[str]:
    """The longest part of each address's host name, which sites in other languages share.

    The last part, the country, differs between them.
    """
    found = set()
    for groups in _ADDRESS.findall(text):
        host = "".join(groups).strip(".").removeprefix("www.")
        names = _SHORT_HOSTS.get(host, host).split(".")
        found.add(max(map(_readable, names[:-1] or names), key=len))
    return found


def _readable(name: str) -> str:
    """Decode a part of a host from Punycode: xn--mnchen-3ya is münchen."""
    if name.startswith("xn--"):
        with suppress(UnicodeError):
            return name[4:].encode("ascii").decode("punycode").casefold()
    return name


def addresses(source: str, target: str) -> int:
    """Number of web sites and hosts of mail addresses that only one side names.

    The name of a host counts without its address, too: Firma for www.firma.de. Hosts for examples
    may be translated.
    """
    if not any(mark in text for text in (source, target) for mark in ("@", "://", "www.", "WWW.")):
        return 0
    texts = [_AT.sub("@", text.casefold()) for text in (source, target)]
    left, right = map(_hosts, texts)
    if any(name.startswith("example") for name in left | right):
        return abs(len(left) - len(right))
    words = [set(_HOST_WORD.findall(text)) for text in texts]
    return len(left - right - words[1]) + len(right - left - words[0])


def _ending(text: str) -> int:
    last = text.rstrip(_BEHIND)[-1:]
    return 2 if last and last in _QUESTIONS else int(last != "" and last in _STOPS)


def ending(source: str, target: str) -> float:
    """1 if both sides end alike; 0.5 if one ends in no mark; 0 if only one is a question.

    Japanese questions often end in a full stop, Thai ones in nothing, Greek ones in a semicolon.
    """
    left, right = _ending(source), _ending(target)
    return 1.0 if left == right else 0.5 if left * right == 0 else 0.0


FILTERS = (
    Filter(
        "numbers",
        "share of the numbers that both sides have, in any notation, 0 to 1; small and round ones "
        f"may be words on one side; {_UNKNOWN} if there is only one, of up to {_FEW} digits",
        "only {value:.0%} of the numbers agree",
        "higher",
        each(numbers),
        minimum=0.5,
        default=True,
        range=(0, 1),
    ),
    Filter(
        "addresses",
        "web sites and hosts of mail addresses that only one side names",
        "{value:.0f} web or mail addresses are on one side only",
        "lower",
        each(addresses),
        maximum=0,
        default=True,
        whole=True,
        range=(0, math.inf),
    ),
    Filter(
        "ending",
        "1 if both sides end alike, 0.5 if only one ends in a mark, 0 if one is a question and the "
        "other a statement",
        "one side is a question, the other a statement",
        "higher",
        each(ending),
        minimum=0.5,
        range=(0, 1),
    ),
)
