"""Text as filters and statistics see it: tokens, letters, scripts.

Scripts that are written without spaces have no words to split at: each of their characters is a
token, so that a length or an overlap means about the same for every language.
"""

import re
import unicodedata

# Han and kana, whose characters are syllables and words.
DENSE = (
    "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
# These, Thai, Lao, Myanmar, Khmer and what belongs to them.
SPACELESS = f"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff{DENSE}"
# Marks upon letters, such as the vowel signs of India, which belong to words though Python's \w
# leaves them out. Beyond these stand variation selectors, which emoji have.
MARKS = "".join(
    mark for mark in map(chr, range(0x300, 0xFE00)) if unicodedata.category(mark) in ("Mn", "Mc")
)
# What stands within words of Persian and of India, and shows nothing.
JOINERS = "\u200c\u200d"
# What is neither a letter nor a digit nor a mark upon one.
NO_WORD = re.compile(rf"(?:[^\w{MARKS}]|_)+")

_SPACELESS = re.compile(f"[{SPACELESS}]")
_TOKEN = re.compile(
    rf"[{SPACELESS}]|[^\W{SPACELESS}]+(?:[{MARKS}{JOINERS}]+[^\W{SPACELESS}]*)*|[^\w\s]"
)
_SPACED = re.compile(rf"[{SPACELESS}]|[^\s{SPACELESS}]+")


def folded(text: str) -> str:
    """Case-fold a text and compose it (NFC), so that texts that look alike become equal."""
    text = text.casefold()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def plain_form(text: str) -> str:
    """Return what is left of a text without its letter case, spacing and final punctuation.

    Unicode compatibility forms (NFKC) and runs of spaces are made one. Full stops, commas, quotes
    and the like are dropped from the end; question marks stay, since they change the meaning.
    """
    text = text.casefold()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).casefold()
    text = " ".join(text.split())
    end = len(text)
    while end and (text[end - 1] == " " or _is_final(text[end - 1])):
        end -= 1
    return text[:end] if end else text


def _is_final(mark: str) -> bool:
    return mark not in "?\u061f\u037e" and unicodedata.category(mark)[0] == "P"


def tokens(text: str) -> list[str]:
    """Words, marks and, of scripts without spaces, characters; in lower case."""
    return _TOKEN.findall(text.lower())


def spaced(text: str) -> list[str]:
    """What stands between spaces and, of scripts without them, characters."""
    if text.isascii() or not _SPACELESS.search(text):
        return text.split()
    return _SPACED.findall(text)


def count_tokens(text: str) -> int:
    """How many there are of :func:`spaced`."""
    return len(spaced(text))
