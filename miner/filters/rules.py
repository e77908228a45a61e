"""Rules about the form of a pair: what can be seen without knowing a language."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from miner.filters.filter_types import Context, Filter, Scorer, each
from miner.text.words import JOINERS, MARKS, NO_WORD, SPACELESS, spaced

# Characters that show nothing: white space, and marks of width and direction.
_VISIBLE = re.compile(r"[^\s\u200b-\u200f\u2028-\u202e\u2060\ufeff]")
_LETTER_OR_DIGIT = re.compile(rf"[^\W_]|[{MARKS}]")

# What is neither a letter nor a mark upon one; digits of every script are among it.
_NO_LETTER = re.compile(rf"[\d_]|[^\w{MARKS}{JOINERS}]")
_ASCII_NO_LETTER = bytes(byte for byte in range(128) if not chr(byte).isalpha())

_SPACELESS = re.compile(f"[{SPACELESS}]")
# Every byte of ASCII but letters becomes a space: a text as bytes falls into words that way in a
# third of the time that an expression takes.
_LETTERS = bytes(byte if byte > 127 or chr(byte).isalpha() else ord(" ") for byte in range(256))
# Words that every sentence is taken to have beside its own, so that a short one, a name or a cry,
# is never all copied nor all repeated.
_SLACK = 4
_PERIOD = 8  # tokens; the longest phrase of which a repetition is noticed

_MARKUP = re.compile(
    r"</?[a-zA-Z][^<>]{0,300}>|<!--|-->|<!\[CDATA|&(?:[a-zA-Z]{2,8}|#\d{2,6}|#x[0-9a-fA-F]{2,6});"
    r"|\{\{|\}\}|\[\[|\]\]|\{%|%\}|'''|\[/?(?:b|i|u|url|img|quote|code|color|size)\b[^\]]{0,100}\]"
)


def empty(source: str, target: str) -> float:
    """1 where a side shows nothing."""
    return float(not (_VISIBLE.search(source) and _VISIBLE.search(target)))


def identical(source: str, target: str) -> float:
    """1 where both sides have the same letters and digits in the same order, or none at all."""
    if source == target:
        return 1.0
    left, right = _LETTER_OR_DIGIT.search(source), _LETTER_OR_DIGIT.search(target)
    if not left or not right:
        return float(left is right)
    if left.group().casefold()[0] != right.group().casefold()[0]:  # as in most pairs
        return 0.0
    return float(NO_WORD.sub("", source.casefold()) == NO_WORD.sub("", target.casefold()))


def letters(text: str) -> float:
    """Share of the characters, white space aside, that are letters; 0 where there are none."""
    visible = "".join(text.split())
    if not visible:
        return 0.0
    if visible.isascii():
        return len(visible.encode().translate(None, _ASCII_NO_LETTER)) / len(visible)
    return 1.0 - len(_NO_LETTER.findall(visible)) / len(visible)


def copied(source: str, target: str) -> float:
    """Share of the words of the shorter side, `_SLACK` more included, that the other has as well.

    Words stand between white space, digits and the punctuation of ASCII; one of a single character
    is never copied: so a character of a script without spaces, which stands for a word, is not.
    """
    left, right = _words(source), _words(target)
    shared = left & right
    if not shared:
        return 0.0
    words = sum(len(word.decode()) > 1 for word in shared)
    return words / (min(len(left), len(right)) + _SLACK)


def _words(text: str) -> set[bytes]:
    text = text.casefold()
    if not text.isascii():
        text = _SPACELESS.sub(r" \g<0> ", text)
    return set(text.encode("utf-8", "replace").translate(_LETTERS).split())


def repeated(texts: Sequence[str]) -> np.ndarray:
    """Share of each text's tokens, `_SLACK` more included, that repeat what stood just before.

    The longest run counts in which each token is the same as the one a period before it, for one of
    the periods of up to `_PERIOD` tokens. ``(n,) float64``, 0 to 1.
    """
    lines = [spaced(text.casefold()) for text in texts]
    sizes = np.fromiter(map(len, lines), np.int64, len(lines))
    line = np.repeat(np.arange(len(lines)), sizes)
    token = np.fromiter(map(hash, chain.from_iterable(lines)), np.int64, len(line))
    longest = np.zeros(len(lines), dtype=np.int64)
    for period in range(1, min(_PERIOD, len(line) - 1) + 1):
        same = (token[period:] == token[:-period]) & (line[period:] == line[:-period])
        # A run ends where the next token is in another line, since that one is not the same.
        edges = np.flatnonzero(np.diff(same, prepend=False, append=False)).reshape(-1, 2)
        np.maximum.at(longest, line[edges[:, 0]], edges[:, 1] - edges[:, 0])
    return longest / (sizes + _SLACK)


def _repeated(settings: Mapping[str, Any], context: Context) -> Scorer:
    return lambda batch: np.maximum(repeated(batch.source), repeated(batch.target))


def markup(text: str) -> int:
    """Tags, entities, and braces of templates and links."""
    # Most text has none of these, and an expression takes longer to say so.
    if any(mark in text for mark in ("<", ">", "&", "[", "]", "{", "}", "'''")):
        return len(_MARKUP.findall(text))
    return 0


FILTERS = (
    Filter(
        "empty",
        "1 where a side has nothing but white space and marks that show nothing",
        "a side is empty",
        "lower",
        each(empty),
        maximum=0,
        default=True,
        whole=True,
    ),
    Filter(
        "identical",
        "1 where both sides are the same but for case, white space and punctuation",
        "both sides are the same text",
        "lower",
        each(identical),
        maximum=0,
        default=True,
        whole=True,
    ),
    Filter(
        "copied",
        f"share of one side's words, {_SLACK} unseen ones included, that the other has too, 0 to 1",
        "{value:.0%} of the words are on both sides",
        "lower",
        each(copied),
        maximum=0.6,
        default=True,
    ),
    Filter(
        "letters",
        "share of a side's characters that are letters, of the side that has fewer, 0 to 1",
        "only {value:.0%} of the characters of a side are letters",
        "higher",
        each(lambda source, target: min(letters(source), letters(target))),
        minimum=0.25,
        default=True,
    ),
    Filter(
        "repeated",
        f"share of a side's tokens, {_SLACK} unseen ones included, that repeat what stood just "
        "before, 0 to 1",
        "{value:.0%} of a side is one phrase again and again",
        "lower",
        _repeated,
        maximum=0.4,
        default=True,
    ),
    Filter(
        "markup",
        "tags, entities and braces of templates on the side that has more",
        "{value:.0f} pieces of markup",
        "lower",
        each(lambda source, target: max(markup(source), markup(target))),
        maximum=4,
        default=True,
        whole=True,
    ),
)
