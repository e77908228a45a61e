"""Filter `encoding`: text whose bytes were decoded wrongly, and its repair by ftfy.

ftfy finds the text that it can repair: UTF-8 decoded as Windows-1252 or a similar encoding, once or
several times. Lost characters (U+FFFD) cannot be repaired.
"""

import html
import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

from miner.expressions import expression
from miner.filters.filter_types import Context, Scorer, scores_by

# Replaced bytes, a byte order mark inside the text, control characters, characters that Unicode
# never assigns, and lone surrogates.
_BROKEN = expression(
    "[\ufffd\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f"
    "\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]"
)
# Pattern of text that ftfy may change: one of a few characters, or two adjacent ones outside of
# ASCII, the second not a letter of a non-Latin script. Most text does not match, and ftfy is slow
# to find out. A test compares this with ftfy's expression.
_SUSPICIOUS = expression(
    "[\x80-\x9fÂÃŒœ]|[^\x00-\x7f][\xa0-\u0385\u0402\u0490\u0491\u2000-\u2fff\uf8ff\ufb01\ufb02\ufffd]"
)


# Characters that a repair removes; characters that it replaces by a space; entities, except &lt;
# and &gt;, which would become tags.
_NO_TEXT = expression("[\ufeff\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufffe\uffff]")
# Characters of a word that is compared letter by letter, in a time that grows with their square.
_LONG = 100
# Marks that a stray Â often precedes in wrongly decoded text.
_AFTER_A = frozenset("£§©®°±·¿¡")
# Maximum words of a text that may be right although ftfy would change them.
_CHANCE = 2
_FEED = expression("[\x00\x0b\x0c\x1c-\x1f]")
_ENTITY = expression(r"&(?!lt;|gt;)(?:[A-Za-z]{2,8}\d{0,2}|#\d{2,7}|#[xX][0-9a-fA-F]{2,6});")


def broken(source: str, target: str) -> float:
    """Return 1 if a side has characters that no text should have, or if ftfy would repair it."""
    for text, other in ((source, target), (target, source)):
        if text.isascii() and text.isprintable():
            continue
        if _BROKEN.search(text) or decoded(text, other) != text:
            return 1.0
    return 0.0


def repaired(text: str, other: str = "") -> str:
    """Repair a text with the translation ``other``: its encoding, entities and control characters.

    Quotes, ligatures, widths, tags, line breaks and normal forms stay.
    """
    text = decoded(text, other)
    if "&" in text:
        text = _ENTITY.sub(_unescaped, text)
    return text if text.isprintable() else _NO_TEXT.sub("", _FEED.sub(" ", text))


def _unescaped(match: re.Match[str]) -> str:
    """Return the character of an entity, or the entity if it stands for none."""
    text = html.unescape(match[0])
    return match[0] if text == "\ufffd" else text


def decoded(text: str, other: str = "") -> str:
    """Decode the wrongly decoded parts of a text, and change nothing else.

    Letters before a mark, as in «MAÇÃ» and 90 Å², are kept if nothing else is wrong, and so is text
    that the translation ``other`` also has, unless it is a copy.
    """
    other = "" if other == text else other
    if text.isascii() or not _SUSPICIOUS.search(text):
        return text
    fixed = _fixer()(text)
    if fixed == text or _wrong(text, fixed, other):
        return fixed
    return text


def _wrong(text: str, fixed: str, other: str) -> bool:
    """Return True if one of the changed parts cannot be right in its original form."""
    words = text.split(" "), fixed.split(" ")
    if len(words[0]) != len(words[1]):
        return True
    changed = [pair for pair in zip(*words, strict=True) if pair[0] != pair[1]]
    return len(changed) > _CHANCE or any(
        len(before) > _LONG or _wrong_word(before, after, other) for before, after in changed
    )


def _wrong_word(before: str, after: str, other: str) -> bool:
    """Return True if a changed part of one word cannot be right in its original form."""
    changes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, start, end, _, _ in changes:
        end += kind == "delete"  # the mark itself is kept, as ° of Â°
        part = before[start:end]
        if kind == "equal" or part in other:
            continue
        letter_and_mark = len(part) == 2 and part[0].isupper() and part.isprintable()
        # A stray Â is never a word before these marks: 5Â°, Â£5.
        stray = part[:1] == "Â" and part[1:] in _AFTER_A and not before[:start][-1:].isalpha()
        within = stray or before[:start][-1:].islower() or before[end : end + 1].isalpha()
        if within or not letter_and_mark:
            return True
    return False


@lru_cache(maxsize=1)
def _fixer() -> Callable[[str], str]:
    """Return ftfy's repair of encodings, loaded and ready."""
    import ftfy  # imported here because it loads slowly

    # `fix_encoding` uses only the settings about encodings.
    config = ftfy.TextFixerConfig(explain=False)
    ftfy.fix_encoding("FlÃ¶te", config)  # the first text takes long
    return lambda text: ftfy.fix_encoding(text, config)


def _build(settings: Mapping[str, Any], context: Context) -> Scorer:
    _fixer()
    return lambda batch: scores_by(broken, batch.source, batch.target)


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "encoding": {"build": _build},
}
