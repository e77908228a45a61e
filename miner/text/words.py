"""Words of a text for filters and statistics: tokens, letters, scripts without spaces.

Scripts without spaces have no words to split at. Each of their characters is a token, so that
lengths and overlaps are comparable between languages.
"""

import unicodedata
from collections.abc import Sequence

from miner.expressions import expression
from miner.text.invisible import visible

# Maximum characters of a sentence that are compared with another sentence.
LONGEST = 10_000
# Han and kana, where a character is a syllable or a word.
DENSE = (
    "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
# Scripts without spaces: Han, kana, Thai, Lao, Myanmar and Khmer.
SPACELESS = f"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{DENSE}"


def _letters(first: int, last: int) -> str:
    """Return the letters and digits of a Unicode block, without marks and punctuation."""
    return "".join(letter for letter in map(chr, range(first, last + 1)) if letter.isalnum())


# Letters that correspond to one English word in translations, by script without spaces.
_LETTERS_A_WORD = (
    (_letters(0x0E00, 0x0EFF), 4.0),  # Thai, Lao
    (_letters(0x0F00, 0x0FFF), 3.5),  # Tibetan separates only syllables
    (_letters(0x1000, 0x109F), 2.5),  # Myanmar
    (_letters(0x1780, 0x17FF), 3.0),  # Khmer
    (_letters(0x3040, 0x30FF) + "\u31f0-\u31ff", 3.0),  # kana
    ("\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f", 1.5),  # Han
)
# Combining marks, for example Indic vowel signs. They belong to words, but Python's \w does not
# match them. The last range ends before the variation selectors of emoji; Han, Hangul and private
# characters, between them, have none.
MARKS = "".join(
    mark
    for codes in (range(0x300, 0x3400), range(0xA000, 0xAC00), range(0xFB00, 0xFE00))
    for mark in map(chr, codes)
    if unicodedata.category(mark) in ("Mn", "Mc")
)
# Invisible characters within words of Persian and of Indian languages.
JOINERS = "\u200c\u200d"
# Characters outside of words: neither letters nor digits nor their marks.
NO_WORD = expression(rf"(?:[^\w{MARKS}]|_)+")

_SPACELESS = expression(f"[{SPACELESS}]")
_TOKEN = expression(
    rf"[{SPACELESS}]|[^\W{SPACELESS}]+(?:[{MARKS}{JOINERS}]+[^\W{SPACELESS}]*)*|[^\w\s]"
)
_SPACED = expression(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")
# Letters of scripts without spaces, and East Asian punctuation.
_GLUED = expression(f"[{SPACELESS}\u3000-\u303f\uff01-\uff65]")
_NO_SPACES = expression(f"[\u0f00-\u0fff{SPACELESS}]+")
_WORD = expression(r"[^\W_]")
_SCRIPTS = [(expression(f"[{script}]+"), size) for script, size in _LETTERS_A_WORD]


def folded(text: str) -> str:
    """Return the visible text, case-folded, in NFKC, so that similar-looking texts become equal.

    Joiners are dropped, because Persian and Indic text is typed with and without them.
    """
    return fold(visible(text))


def fold(text: str) -> str:
    """Apply :func:`folded` to a text without invisible characters."""
    text = text.casefold()
    if text.isascii():
        return text
    text = text.replace("\u200c", "").replace("\u200d", "")
    return unicodedata.normalize("NFKC", text).casefold()


def plain_form(text: str) -> str:
    """Normalise a text: no letter case, spacing, final punctuation or invisible characters.

    Unicode forms are unified. Question marks are kept, because they change the meaning, and so are
    # and % (C#).
    """
    text = " ".join(folded(text).split())
    end = len(text)
    while end and text[end - 1] not in "?\u061f\u037e#%‰′″":
        if text[end - 1] != " " and unicodedata.category(text[end - 1])[0] != "P":
            break
        end -= 1
    return text[:end] if end else text


def tokens(text: str) -> list[str]:
    """Split into lower-case words, punctuation and, in scripts without spaces, characters."""
    return _TOKEN.findall(text.lower())


def spaced(text: str) -> list[str]:
    """Split at spaces; scripts without spaces are split into characters."""
    if text.isascii() or not _SPACELESS.search(text):
        return text.split()
    return _SPACED.findall(text)


def joined(texts: Sequence[str]) -> str:
    """Join lines or sentences by spaces, but not within scripts that have none."""
    parts: list[str] = []
    for text in texts:
        if (
            parts
            and text
            and not (_GLUED.match(parts[-1], len(parts[-1]) - 1) and _GLUED.match(text))
        ):
            parts.append(" ")
        if text:
            parts.append(text)
    return "".join(parts)


def words_without_spaces(text: str) -> float:
    """Estimate the number of words in scripts without spaces from their letters; 0 without any."""
    if text.isascii() or not _NO_SPACES.search(text):
        return 0.0
    return sum(sum(map(len, letters.findall(text))) / size for letters, size in _SCRIPTS)


def count_tokens(text: str) -> int:
    """Count words between spaces; estimate them in scripts without spaces (at least 1)."""
    if text.isascii() or not _NO_SPACES.search(text):
        return len(text.split())
    others = map(_WORD.search, _NO_SPACES.sub(" ", text).split())
    return sum(other is not None for other in others) + _estimate(text)


def count_parts(text: str, parts: Sequence[str]) -> int:
    """Count the :func:`tokens` of a text, with estimated words in scripts without spaces."""
    if text.isascii() or not _NO_SPACES.search(text):
        return len(parts)
    return sum(_NO_SPACES.match(part) is None for part in parts) + _estimate(text)


def _estimate(text: str) -> int:
    words = words_without_spaces(text)
    return max(1, round(words)) if words else 0


def other_characters(text: str) -> int:
    """Count the characters outside of scripts without spaces."""
    return len(text) if text.isascii() else len(_NO_SPACES.sub("", text))
