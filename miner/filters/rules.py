"""Filters on the form of a pair, which need no knowledge of a language."""

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from miner.expressions import expression
from miner.filters.filter_types import each
from miner.text.text_format import is_blank
from miner.text.words import JOINERS, MARKS, SPACELESS, fold, spaced

_LETTER_OR_DIGIT = expression(rf"[^\W_]|[{MARKS}]")

# Characters that are neither letters nor their marks, digits of all scripts included.
_NO_LETTER = expression(rf"[\d_]|[^\w{MARKS}{JOINERS}]")
_ASCII_NO_LETTER = bytes(byte for byte in range(128) if not chr(byte).isalpha())

_SPACELESS = expression(f"[{SPACELESS}]")
# Table that translates all ASCII bytes except letters to spaces, because splitting bytes in this
# way is three times as fast as a regular expression.
_LETTERS = bytes(byte if byte > 127 or chr(byte).isalpha() else ord(" ") for byte in range(256))
# Words added to the length of every sentence, so that a short one, such as a name, is never
# entirely copied or repeated.
_SLACK = 4
_PERIOD = 8  # maximum tokens of a phrase whose repetition is found

_MARKUP = expression(
    r"</?[a-zA-Z][^<>]{0,300}>|<!--|-->|<!\[CDATA|&(?:[a-zA-Z]{2,8}|#\d{2,6}|#x[0-9a-fA-F]{2,6});"
    r"|\{\{|\}\}|\[\[|\]\]|\{%|%\}|'''|\[/?(?:b|i|u|url|img|quote|code|color|size)\b[^\]]{0,100}\]"
)


def empty(source: str, target: str) -> float:
    """1 if a side has no visible character."""
    return float(is_blank(source) or is_blank(target))


def identical(source: str, target: str) -> float:
    """Return 1 if both sides have the same letters and digits in the same order, or none at all."""
    if source == target:
        return 1.0
    left, right = fold(source), fold(target)
    first = _LETTER_OR_DIGIT.search(left), _LETTER_OR_DIGIT.search(right)
    if not first[0] or not first[1]:
        return float(first[0] is first[1])
    if first[0].group() != first[1].group():  # the usual case
        return 0.0
    characters = ((one[0] for one in _LETTER_OR_DIGIT.finditer(side)) for side in (left, right))
    return float(all(one == other for one, other in zip_longest(*characters)))  # few are compared


def letters(text: str) -> float:
    """Return the share of letters among the characters except white space; 0 if there are none."""
    visible = "".join(text.split())
    if not visible:
        return 0.0
    if visible.isascii():
        return len(visible.encode().translate(None, _ASCII_NO_LETTER)) / len(visible)
    return 1.0 - len(_NO_LETTER.findall(visible)) / len(visible)


def copied(source: str, target: str) -> float:
    """Return the share of the shorter side's words, plus `_SLACK`, that the other side also has.

    Words are separated by white space, digits and ASCII punctuation. A word of one character never
    counts as copied, so text in scripts without spaces is not affected.
    """
    left, right = _words(source), _words(target)
    shared = left & right
    if not shared:
        return 0.0
    words = sum(len(word.decode()) > 1 for word in shared)
    return words / (min(len(left), len(right)) + _SLACK)


def _words(text: str) -> set[bytes]:
    text = fold(text)
    if not text.isascii():
        text = _SPACELESS.sub(r" \g<0> ", text)
    return set(text.encode("utf-8", "replace").translate(_LETTERS).split())


def repeated(texts: Sequence[str]) -> np.ndarray:
    """Return the share of each text's tokens, plus `_SLACK`, that repeat a phrase: ``(n,)
    float64``.

    It counts the longest run in which each token equals the token a period before it, over all
    periods of up to `_PERIOD` tokens.
    """
    lines = [spaced(text.casefold()) for text in texts]
    sizes = np.fromiter(map(len, lines), np.int64, len(lines))
    line = np.repeat(np.arange(len(lines)), sizes)
    token = np.fromiter(map(hash, chain.from_iterable(lines)), np.int64, len(line))
    longest = np.zeros(len(lines), dtype=np.int64)
    for period in range(1, min(_PERIOD, len(line) - 1) + 1):
        same = (token[period:] == token[:-period]) & (line[period:] == line[:-period])
        # `same` is False across two lines, so every run lies within a line.
        edges = np.flatnonzero(np.diff(same, prepend=False, append=False)).reshape(-1, 2)
        np.maximum.at(longest, line[edges[:, 0]], edges[:, 1] - edges[:, 0])
    return longest / (sizes + _SLACK)


def markup(text: str) -> int:
    """Number of tags, entities, and braces of templates and links."""
    # Most text has none of these characters, which a regular expression would take longer to find
    # out.
    if any(mark in text for mark in ("<", ">", "&", "[", "]", "{", "}", "'''")):
        return len(_MARKUP.findall(text))
    return 0


# Functions of the filters by name; `filters.toml` has their other fields.
FILTERS: dict[str, dict[str, Any]] = {
    "empty": {"build": each(empty)},
    "identical": {"build": each(identical)},
    "copied": {"build": each(copied)},
    "letters": {"build": each(lambda source, target: min(letters(source), letters(target)))},
    "repeated": {
        "build": lambda settings, context: lambda batch: np.maximum(*map(repeated, batch.sides))
    },
    "markup": {"build": each(lambda source, target: max(markup(source), markup(target)))},
}
