"""Words of a text for filters and statistics: tokens, letters, scripts without spaces.

Scripts that are written without spaces have no words to split at. Each of their characters is a
token, so that lengths and overlaps are comparable between languages.
"""

import re
import unicodedata

# Characters of a sentence that are compared with another's; a longer text is no sentence.
LONGEST = 10_000
# Han and kana: a character is a syllable or a word.
DENSE = (
    "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
# Scripts without spaces: Han, kana, Thai, Lao, Myanmar and Khmer.
SPACELESS = f"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{DENSE}"
# Marks on letters, for example the vowel signs of Indian scripts. They belong to words, but
# Python's \w leaves them out. The range ends before the variation selectors of emoji.
MARKS = "".join(
    mark for mark in map(chr, range(0x300, 0xFE00)) if unicodedata.category(mark) in ("Mn", "Mc")
)
# Invisible characters within words of Persian and of Indian languages.
JOINERS = "\u200c\u200d"
# Neither letters nor digits nor marks on them.
NO_WORD = re.compile(rf"(?:[^\w{MARKS}]|_)+")

_SPACELESS = re.compile(f"[{SPACELESS}]")
_TOKEN = re.compile(
    rf"[{SPACELESS}]|[^\W{SPACELESS}]+(?:[{MARKS}{JOINERS}]+[^\W{SPACELESS}]*)*|[^\w\s]"
)
_SPACED = re.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")


def folded(text: str) -> str:
    """Case-fold a text in the normal form NFKC, so that texts that look alike become equal."""
    text = text.casefold()
    return text if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def plain_form(text: str) -> str:
    """Return a text without its letter case, Unicode forms, spacing and final punctuation.

    Question marks stay, since they change the meaning.
    """
    text = " ".join(folded(text).split())
    end = len(text)
    while end and text[end - 1] not in "?\u061f\u037e":
        if text[end - 1] != " " and unicodedata.category(text[end - 1])[0] != "P":
            break
        end -= 1
    return text[:end] if end else text


def tokens(text: str) -> list[str]:
    """Split into words, punctuation and, of scripts without spaces, characters; lower case."""
    return _TOKEN.findall(text.lower())


def spaced(text: str) -> list[str]:
    """Split at spaces; scripts without spaces are split into characters."""
    if text.isascii() or not _SPACELESS.search(text):
        return text.split()
    return _SPACED.findall(text)


def count_tokens(text: str) -> int:
    """Count the parts of :func:`spaced`."""
    return len(spaced(text))
