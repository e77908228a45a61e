"""Filters on parts that a translation preserves: numbers, addresses, kind of sentence."""

import re
from contextlib import suppress
from typing import Any

from miner.filters.filter_types import each
from miner.scoring.number_agreement import compare

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
    "amzn.to": "amazon.com",
    "g.co": "google.com",
    "git.io": "github.com",
    "discord.gg": "discord.com",
    "lnkd.in": "linkedin.com",
    "pin.it": "pinterest.com",
    # Shorteners may lead to any host.
    **dict.fromkeys(
        ("bit.ly", "goo.gl", "t.co", "tinyurl.com", "ow.ly", "is.gd", "buff.ly", "dlvr.it"),
        "example.com",
    ),
}
_HOST_WORD = re.compile(r"[\w-]+")

# Marks that end a sentence, of all scripts, and characters that may follow them.
_QUESTIONS, _STOPS = "?？؟\u037e՞፧", ".!…。！．।॥۔։።؛။។៕།༎෴᱾᱿꯫"
_ARMENIAN_QUESTION = "՞"  # within the question word; the sentence ends with a full stop
_BEHIND = " \t\u00a0\u202f\u3000\"'”’“‘»«›‹」』）)]*"


def numbers(source: str, target: str) -> float:
    """Share of the numbers that both sides have, 0 to 1: see `Agreement.share`."""
    return compare(source, target).share


def _hosts(text: str) -> set[str]:
    """Return the longest part of each address's host name, which sites in other languages share.

    The last part, the country, differs between them.
    """
    hosts = set()
    for groups in _ADDRESS.findall(text):
        host = "".join(groups).strip(".").removeprefix("www.")
        names = _SHORT_HOSTS.get(host, host).split(".")
        hosts.add(max(map(_readable, names[:-1] or names), key=len))
    return hosts


def _readable(name: str) -> str:
    """Decode a part of a host from Punycode: xn--mnchen-3ya is münchen."""
    if name.startswith("xn--"):
        with suppress(UnicodeError):
            return name[4:].encode("ascii").decode("punycode").casefold()
    return name


def addresses(source: str, target: str) -> int:
    """Return the number of web sites and hosts of mail addresses that only one side names.

    A host's name counts without its address too: Firma for www.firma.de. Example hosts may be
    translated.
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
    question = last != "" and (last in _QUESTIONS or _ARMENIAN_QUESTION in text)
    return 2 if question else int(last != "" and last in _STOPS)


def ending(source: str, target: str) -> float:
    """Return 1 if both sides end alike; 0.5 if one ends without a mark; 0 if only one is a
    question.

    Japanese and Burmese questions often end in a full stop, Thai ones without a mark, Greek ones in
    a semicolon.
    """
    left, right = _ending(source), _ending(target)
    return 1.0 if left == right else 0.5 if left * right == 0 else 0.0


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "numbers": {"build": each(numbers)},
    "addresses": {"build": each(addresses)},
    "ending": {"build": each(ending)},
}
