"""Codes of languages: the shortest one of each, its English name, and codes that stand for one."""

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

# The one language that all language pairs of public sets share.
ENGLISH = "en"

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")

# A line of the table has a language's shortest code, its others (ISO 639-3, ISO 639-2/B, obsolete
# ones, and the member of a macrolanguage that most of its text is in), and behind a tab its English
# name.
_SHORT: dict[str, str] = {}
_ENGLISH: dict[str, str] = {}
for _line in resources.files(__package__).joinpath("languages.tsv").read_text("utf-8").splitlines():
    _codes, _, _name = _line.partition("\t")
    _first, *_others = _codes.split()
    _SHORT |= dict.fromkeys(_others, _first)
    _ENGLISH[_first] = _name

# Codes of one language, or of varieties that identification distinguishes and users who name a
# file's language do not.
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        *("ar ary arz", "bs hr sh sr", "el grc", "fa prs", "fil tl", "gn gug", "hbo he", "id ms"),
        *("ku sdh ckb kmr", "lv ltg", "nb nn no", "uz uzs", "wuu yue zh"),
    )
)


def is_language(code: str) -> bool:
    """Check the form of a BCP-47 code; there need not be such a language."""
    return _LANGUAGE.fullmatch(code) is not None


def primary(language: str) -> str:
    """Shortest code of the language of a BCP-47 code: ``de`` for de-AT, DE_de, deu and ger."""
    code = language.replace("_", "-").split("-")[0].lower()
    return _SHORT.get(code, code)


def closest(wanted: str, codes: Sequence[str]) -> list[int]:
    """Return the places of the codes that fit a wanted one best; none if all are other languages.

    Of ``de-AT``, these are ``de-AT`` and ``de``; without both, ``de-CH`` and ``deu``.
    """
    fits = [_fit(code, wanted) for code in codes]
    best = max(fits, default=0)
    return [place for place, fit in enumerate(fits) if best and fit == best]


@cache
def _fit(code: str, wanted: str) -> int:
    one, other = (f"{code.lower().replace('_', '-')}-" for code in (code, wanted))
    if one.startswith(other) or other.startswith(one):
        return 2
    return int(primary(code) == primary(wanted))


def alike(language: str) -> frozenset[str]:
    """Languages that text of this one may be identified as, itself included."""
    code = primary(language)
    return next((group for group in _ALIKE if code in group), frozenset([code]))


def describe(language: str) -> str:
    """Name a language for people: ``German (de)``, or its code alone."""
    code = primary(language)
    return f"{_ENGLISH[code]} ({code})" if code in _ENGLISH else code
