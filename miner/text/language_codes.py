"""Language codes: canonical code, English name and aliases of each language, and validation."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from miner.config_fields import read_toml
from miner.option_values import Languages

# Code of English, the language that all pairs of the public sets share.
ENGLISH = "en"
# Code of ISO 639-2 for text in several languages, whose rows are identified one by one.
SEVERAL = "mul"
# Codes of ISO 639-2 for text whose language is not named.
_UNNAMED = ("mis", SEVERAL, "und", "zxx")

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")

# Line of the table: shortest code, aliases (ISO 639-3, ISO 639-2/B, obsolete codes, the main member
# of a macrolanguage), tab, English name.
_SHORT: dict[str, str] = {}
_ENGLISH: dict[str, str] = {}
for _line in Path(__file__).with_name("languages.tsv").read_text("utf-8").splitlines():
    _codes, _, _name = _line.partition("\t")
    _first, *_others = _codes.split()
    _SHORT |= dict.fromkeys(_others, _first)
    _ENGLISH[_first] = _name

# Country codes taken for language codes, and names of languages besides those of the table.
_MISTAKEN = Path(__file__).with_name("language_names.toml")

# Codes of written forms that models of the language do not know, with hints.
LATIN_HINDI, ZAWGYI = "hi-Latn", "my-Qaag"
FORMS = {
    LATIN_HINDI: ("Hindi or Urdu in Latin letters", "write it in its own script first"),
    ZAWGYI: ("Burmese in Zawgyi", "convert it to Unicode first (paraencoder: para convert)"),
}

# Groups of codes that users do not distinguish in file names, though identification does.
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        *("ar ary arz", "ber kab", "bs hr sh sr", "el grc", "hbo he", "id ms", "ku sdh ckb"),
        *("lv ltg", "nb nn no", "uz uzs", "wuu yue zh"),
    )
)


def language_code(text: str) -> str:
    """Validate a BCP-47 code and return it. Raises ValueError, with the likely code, if it is
    unknown.

    Codes of three letters are not looked up: ISO 639-3 has 7,000 languages.
    """
    code = str(text).replace("_", "-").split("-")[0].lower()
    formed = isinstance(text, str) and _LANGUAGE.fullmatch(text) is not None
    if code in _UNNAMED:
        raise ValueError(f"{text!r} names no language; leave it out, and the text is identified")
    if formed and (code in _SHORT or code in _ENGLISH or len(code) == 3):
        return text
    from difflib import get_close_matches

    mistaken = _mistaken()
    names = {name.lower(): known for known, name in _ENGLISH.items()}
    names |= {name: known for known, row in mistaken["names"].items() for name in row.split(", ")}
    locale = re.split("[-.@]", str(text).lower().replace("_", "-"), maxsplit=1)[0]  # de_DE.UTF-8
    name = get_close_matches(str(text).strip().lower(), names, 1, 0.8)
    meant = of_country(code) or (names[name[0]] if name else None)
    meant = meant or (locale if locale in _SHORT or locale in _ENGLISH else None)
    hint = f"; did you mean {describe(meant)}?" if meant else ", such as de, en or zh-Hant"
    raise ValueError(f"{text!r} is no language code{hint}")


@cache
def _mistaken() -> dict[str, dict[str, str]]:
    return read_toml(_MISTAKEN)


def of_country(code: str) -> str | None:
    """Return the language of a country whose code is mistaken for a language's: ko for kr."""
    return _mistaken()["countries"].get(code)


def language_pair(languages: Sequence[str | None] | None) -> Languages:
    """Validate the codes of source and target, None where unknown; None stands for both.

    Raises ValueError for an invalid code (:func:`language_code`) or an argument that is not a pair.
    """
    if languages is None:
        return None, None
    if isinstance(languages, str) or len(languages) != 2:
        raise ValueError(f"languages = {languages!r}: give two codes, of source and target")
    source, target = (None if code is None else language_code(code) for code in languages)
    return source, target


def primary(language: str) -> str:
    """Return the shortest code of a BCP-47 code's language: ``de`` for de-AT, DE_de, deu and
    ger.
    """
    code = language.replace("_", "-").split("-")[0].lower()
    return _SHORT.get(code, code)


def closest(wanted: str, codes: Sequence[str]) -> list[int]:
    """Return the positions of the codes that match ``wanted`` best; none if all differ in language.

    For ``de-AT`` these are ``de-AT`` and ``de``; if both are missing, ``de-CH`` and ``deu``.
    """
    fits = [_fit(code, wanted) for code in codes]
    best = max(fits, default=0)
    return [position for position, fit in enumerate(fits) if best and fit == best]


@cache
def _fit(code: str, wanted: str) -> int:
    left, right = (f"{code.lower().replace('_', '-')}-" for code in (code, wanted))
    if left.startswith(right) or right.startswith(left):
        return 2
    return int(primary(code) == primary(wanted))


def alike(language: str) -> frozenset[str]:
    """Return the languages that identification may confuse with this language, itself included."""
    code = primary(language)
    return next((group for group in _ALIKE if code in group), frozenset([code]))


def describe(language: str) -> str:
    """Return a language's display name: ``German (de)``, or the bare code if unknown."""
    if language in FORMS:
        return f"{FORMS[language][0]} ({language})"
    code = primary(language)
    return f"{_ENGLISH[code]} ({code})" if code in _ENGLISH else code
