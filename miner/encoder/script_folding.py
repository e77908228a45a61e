"""Script folding: one spelling for sentences, before they are cut into pieces.

- Serbian becomes Latin, so that a model reads both of its scripts as one language, close to
  Croatian. Each Cyrillic letter has one Latin counterpart; the way back is ambiguous.
- Arabic, Indic and other digits become 0 to 9.
- Arabic and Hebrew lose vowel points, recitation marks and the stretching line, which most text
  lacks.
- Kaf and yeh become Persian letters in Persian and Urdu sentences, Arabic letters in Arabic ones:
  keyboards mix them up.
"""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from miner.text.invisible import visible

_LETTERS = (
    "аa бb вv гg дd ђđ еe жž зz иi јj кk лl љlj мm нn њnj оo пp рr сs тt ћć уu фf хh цc чč џdž шš"
)
_LATIN = {pair[0]: pair[1:] for pair in _LETTERS.split()}
_LATIN |= {letter.upper(): latin.title() for letter, latin in _LATIN.items()}
_TABLE = str.maketrans(_LATIN)
# Letters of Serbian that Russian, Ukrainian and Bulgarian lack; 79% of Serbian sentences have one.
_SERBIAN = re.compile("[ђјљњћџЂЈЉЊЋЏ]")
_OTHER_DIGIT = re.compile(r"[^\D0-9]")

# Points of Hebrew and Arabic that are removed, and the stretching line; without the points that
# NFKC joins with letters (U+0653 to U+0655) and points that stand alone.
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u08ca-\u08e1\u08e3-\u08ff\ufb1e"
    "\ufc5e-\ufc63\ufcf2-\ufcf4\ufe70-\ufe72\ufe74\ufe76-\ufe7f]"
)
# Positional letter forms, ligatures, and letters with points.
_FORMS = re.compile("[\ufb1d-\ufb4f\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdfc\ufe80-\ufefc]")
# Letters of Persian, Urdu and similar languages only, and of Arabic only; initial hamza on alef is
# Arabic.
_PERSIAN, _ARABIC = re.compile("[پچژگٹڈڑںہھے]"), re.compile(r"[ةإ]|(?<!\w)أ")
_TO_PERSIAN, _TO_ARABIC = str.maketrans("يىك", "ییک"), str.maketrans("یک", "يك")
# Bit masks by code point: letters that identify Persian or Arabic, and letters that they change.
# The last entry is for all other code points.
_FIRST = ord("أ")
_TELLING = np.zeros(0x6D3 - _FIRST, np.uint8)
for _bit, _some in enumerate(("پچژگٹڈڑںہھے", "يىك", "ةإأ", "یک")):
    _TELLING[[ord(one) - _FIRST for one in _some]] |= 1 << _bit


def in_one_script(sentences: Sequence[str]) -> list[str]:
    """Fold digits and letters of sentences as described at the head of this module."""
    return [visible(text) if text.isascii() else _replaced(text) for text in sentences]


def depends(character: str) -> bool:
    """Return True if this character changes, or is changed by, other letters of a sentence."""
    return bool(_SERBIAN.match(character) or _FORMS.match(character))


def dependent(codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the rows whose kaf or yeh may change: a superset, by code points, ``(m,) int64``.

    ``codes (t,) int32`` are the code points of sentences that start at ``offsets (n + 1,) int64``.
    """
    if not ((codes - _FIRST).view(np.uint32) < len(_TELLING) - 1).any():
        return np.zeros(0, np.int64)
    rows = np.flatnonzero(np.diff(offsets))
    telling = _TELLING[(codes - _FIRST).view(np.uint32).clip(max=len(_TELLING) - 1)]
    bits = np.bitwise_or.reduceat(telling, offsets[rows])
    return rows[(bits & 3 == 3) | (bits & 12 == 12)]


def _replaced(text: str) -> str:
    text = visible(text)
    if _SERBIAN.search(text):
        text = text.translate(_TABLE)
    if _POINTS.search(text) or _FORMS.search(text):
        text = _FORMS.sub(lambda one: unicodedata.normalize("NFKC", one[0]), _POINTS.sub("", text))
        text = _POINTS.sub("", text)
    persian, arabic = _PERSIAN.search(text), _ARABIC.search(text)
    if bool(persian) != bool(arabic):
        text = text.translate(_TO_PERSIAN if persian else _TO_ARABIC)
    text = _OTHER_DIGIT.sub(lambda digit: str(int(digit[0])), text)
    return visible(text)  # joiners may be removed with the letters beside them
