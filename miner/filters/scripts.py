"""Filter `script`, and tables of scripts and of the languages written in them.

The tables are ours. The properties of the library regex count other characters as letters of a
script (vowel signs, half-width forms, symbols) and take nearly twice as long; langcodes knows one
script for each language and guesses Latin for unknown languages.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from miner.filters.filter_types import Context, Filter, Scorer, scores_by
from miner.text.language_codes import primary

# Letters of the scripts, by ISO 15924, as ranges of Unicode.
SCRIPTS = {
    "Latn": "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02b8\u02e0-\u02e4\u1d00-\u1d25"
    "\u1d2c-\u1d5c\u1d62-\u1d65\u1d6b-\u1d77\u1d79-\u1dbe\u1e00-\u1eff\u2183\u2184\u2c60-\u2c7f\ua722-\ua7ff"
    "\uab30-\uab64\uab66-\uab68\ufb00-\ufb06\uff21-\uff3a\uff41-\uff5a",
    "Cyrl": "\u0400-\u052f\u1c80-\u1c8f\u1d2b\u1d78\ua640-\ua69f",
    "Grek": "\u0370-\u03e1\u03f0-\u03ff\u1d26-\u1d2a\u1f00-\u1fff\uab65",
    "Armn": "\u0531-\u0588\ufb13-\ufb17",
    "Hebr": "\u05d0-\u05f2\ufb1d-\ufb4f",
    "Arab": "\u0620-\u06ff\u0750-\u077f\u0870-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
    "Thaa": "\u0780-\u07bf",
    "Deva": "\u0900-\u097f\ua8e0-\ua8ff",
    "Beng": "\u0980-\u09ff",
    "Guru": "\u0a00-\u0a7f",
    "Gujr": "\u0a80-\u0aff",
    "Orya": "\u0b00-\u0b7f",
    "Taml": "\u0b80-\u0bff",
    "Telu": "\u0c00-\u0c7f",
    "Knda": "\u0c80-\u0cff",
    "Mlym": "\u0d00-\u0d7f",
    "Sinh": "\u0d80-\u0dff",
    "Thai": "\u0e00-\u0e7f",
    "Laoo": "\u0e80-\u0eff",
    "Tibt": "\u0f00-\u0fff",
    "Mymr": "\u1000-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f",
    "Geor": "\u10a0-\u10ff\u1c90-\u1cbf\u2d00-\u2d2f",
    "Ethi": "\u1200-\u139f\u2d80-\u2ddf\uab01-\uab2e",
    "Khmr": "\u1780-\u17ff",
    "Mong": "\u1800-\u18aa",
    "Hang": "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb\uffa0-\uffdc",
    "Kana": "\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f",
    "Bopo": "\u3105-\u312f\u31a0-\u31bf",
    "Tfng": "\u2d30-\u2d67\u2d6f",
    "Hani": "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003347f",
}

# Script codes within language codes (ja-Latn); some codes cover several scripts.
_ALIASES = {
    "Hans": ("Hani",),
    "Hant": ("Hani", "Bopo"),
    "Jpan": ("Kana", "Hani"),
    "Hira": ("Kana",),
    "Kore": ("Hang", "Hani"),
    **{script: (script,) for script in SCRIPTS},
}

_WRITTEN_IN = {
    "Latn": "af an ast ay az bar bcl ber bm br bs ca ceb co crh cs csb cy da de dsb ee en eo es et "
    "eu ext ff fi fo fr frp fur fy ga gd gl gn gsw gv ha haw hil hmn hr hsb ht hu ia id ie ig ilo "
    "io is it jv kab kl ku kw la lb lg li lij ln lt ltg lv mg mi ms mt nah nap nb nds nl nn "
    "nso ny oc om pag pam pap pcm pl pms pt qu rm rn ro rw sc scn sco se sg sh sk sl sm sn so "
    "sq sr ss st su sv sw szl tet tk tl tn to tpi tr ts tum tw ty uz vec vi vo wa war wo xh yo "
    "za zu",
    "Cyrl": "ab av az ba be bg bs bua bxr ce crh cu cv kk koi krc kv ky lez mdf mhr mk mn mrj "
    "myv os ru rue sah sh sr tg tk tt tyv udm uk uz",
    "Grek": "el grc pnt",
    "Armn": "hy hyw",
    "Hebr": "he hbo lad yi",
    "Arab": "ar ary arz azb bal ckb fa glk ks ku lrc mzn pa pnb ps sd sdh skr ug ur uzs",
    "Thaa": "dv",
    "Deva": "awa bh bho gom hi hne kok ks mai mr ne new sa sd",
    "Beng": "as bn bpy mni",
    "Guru": "pa",
    "Gujr": "gu",
    "Orya": "or",
    "Taml": "ta",
    "Telu": "te",
    "Knda": "kn tcy",
    "Mlym": "ml",
    "Sinh": "si",
    "Thai": "th",
    "Laoo": "lo",
    "Tibt": "bo dz",
    "Mymr": "my mnw shn",
    "Geor": "ka xmf",
    "Ethi": "am gez ti tig",
    "Khmr": "km",
    "Tfng": "ber zgh",
    "Mong": "mn",
    "Hang": "ko",
    "Kana": "ja",
    "Bopo": "zh",
    "Hani": "gan hak ja ko lzh nan wuu yue zh",
}


def known(language: str) -> bool:
    """Return True if the scripts of a BCP-47 code are known. `script` passes other languages."""
    return bool(scripts_of(language))


def scripts_of(language: str) -> tuple[str, ...]:
    """Scripts of a BCP-47 code, by ISO 15924; none for an unknown code."""
    for part in language.replace("_", "-").split("-")[1:]:
        if part.title() in _ALIASES:
            return _ALIASES[part.title()]
    return tuple(name for name, codes in _WRITTEN_IN.items() if primary(language) in codes.split())


@lru_cache
def _share(language: str | None) -> Callable[[str, str], float]:
    """Make a function of a text and its translation: share of letters in the language's scripts."""
    names = scripts_of(language) if language else ()
    if not names:
        return lambda text, other: 1.0
    ranges = "".join(SCRIPTS[name] for name in names)
    foreign, own = re.compile(rf"[^\W\d_{ranges}]+"), re.compile(f"[{ranges}]")
    latin = "Latn" in names

    def share(text: str, other: str) -> float:
        if latin and text.isascii():
            return 1.0
        runs = foreign.findall(text)
        if not runs:
            return 1.0
        known = other.casefold()
        strange = sum(len(run) for run in runs if run.casefold() not in known)
        return 1.0 - strange / (strange + len(own.findall(text))) if strange else 1.0

    return share


def _script(settings: Mapping[str, Any], context: Context) -> Scorer:
    left, right = map(_share, context.languages)

    def worse(source: str, target: str) -> float:
        return min(left(source, target), right(target, source))

    return lambda batch: scores_by(worse, *batch.sides)


FILTERS = (
    Filter(
        "script",
        "share of a side's letters that are in a script of its language, 0 to 1; words that the "
        "other side also has do not count",
        "{value:.0%} of a side's letters are in its language's script",
        "higher",
        _script,
        minimum=0.5,
        languages=True,
        default=True,
        range=(0, 1),
    ),
)
