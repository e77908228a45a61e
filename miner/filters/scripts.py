"""Filter `script`, by tables of scripts and of the languages written in them (`scripts.toml`).

The tables are ours. The properties of the library regex count other characters as letters of a
script (vowel signs, half-width forms, symbols) and take nearly twice as long; langcodes knows one
script for each language and guesses Latin for unknown languages.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from miner.config_fields import read_toml
from miner.filters.filter_types import Context, Scorer, scores_by
from miner.text.language_codes import primary

_TABLES = read_toml(Path(__file__).with_suffix(".toml"))
# Letters of the scripts, by ISO 15924, as ranges of Unicode.
SCRIPTS: dict[str, str] = _TABLES["letters"]
# Languages written in each script.
_WRITTEN_IN = {script: frozenset(codes.split()) for script, codes in _TABLES["languages"].items()}
# Script codes within language codes (ja-Latn); some codes cover several scripts.
_ALIASES = {
    "Hans": ("Hani",),
    "Hant": ("Hani", "Bopo"),
    "Jpan": ("Kana", "Hani"),
    "Hira": ("Kana",),
    "Kore": ("Hang", "Hani"),
    **{script: (script,) for script in SCRIPTS},
}


def known(language: str) -> bool:
    """Return True if the scripts of a BCP-47 code are known. `script` passes other languages."""
    return bool(scripts_of(language))


def scripts_of(language: str) -> tuple[str, ...]:
    """Scripts of a BCP-47 code, by ISO 15924; none for an unknown code."""
    for part in language.replace("_", "-").split("-")[1:]:
        if part.title() in _ALIASES:
            return _ALIASES[part.title()]
    return tuple(name for name, codes in _WRITTEN_IN.items() if primary(language) in codes)


@lru_cache
def _share(language: str | None) -> Callable[[str, str], float]:
    """Make a function of a text and its translation: share of letters in the language's scripts."""
    names = scripts_of(language) if language else ()
    if not names:
        return lambda text, other: 1.0
    ranges = "".join(SCRIPTS[name] for name in names)
    foreign, native = re.compile(rf"[^\W\d_{ranges}]+"), re.compile(f"[{ranges}]")
    latin = "Latn" in names

    def share(text: str, other: str) -> float:
        if latin and text.isascii():
            return 1.0
        runs = foreign.findall(text)
        if not runs:
            return 1.0
        known = other.casefold()
        strange = sum(len(run) for run in runs if run.casefold() not in known)
        return 1.0 - strange / (strange + len(native.findall(text))) if strange else 1.0

    return share


def _script(settings: Mapping[str, Any], context: Context) -> Scorer:
    left, right = map(_share, context.languages)

    def worse(source: str, target: str) -> float:
        return min(left(source, target), right(target, source))

    return lambda batch: scores_by(worse, *batch.sides)


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "script": {"build": _script},
}
