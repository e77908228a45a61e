"""Normal forms of text that define duplicates and near-copies: plain form, key, MinHash."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from miner.expressions import expression
from miner.text.words import MARKS, NO_WORD, fold, folded

# `NO_WORD` in two steps, four times as fast: first characters outside of ASCII, if there are any,
# then bytes of ASCII.
_ODD_MARK = expression(rf"[^\w\x00-\x7f{MARKS}]+")
_SPACED = bytes(byte if byte > 127 or chr(byte).isalnum() else ord(" ") for byte in range(256))
_NO_LETTER = re.compile(rb"[^A-Za-z\x80-\xff]+")
# Symbols that count like words: currencies, mathematics and others, without separators and bullets.
# A dash before a number is its sign; # belongs to the letter before it.
# Between the ranges are Han, Hangul and private characters.
_RANGES = (
    *(range(0x24, 0x3400), range(0x4DC0, 0x4E00), range(0xA000, 0xAC00), range(0xFB00, 0x10000)),
    range(0x1F000, 0x1FB00),
)
_SYMBOLS = frozenset(
    one
    for codes in _RANGES
    for one in map(chr, codes)
    if unicodedata.category(one) in ("Sc", "Sm", "So") and not "\u2500" <= one <= "\u25ff"
).union("%‰") - {"|"}
_NO_SYMBOL = bytes(byte for byte in range(128) if chr(byte) not in _SYMBOLS)
_SIGN, _SHARP = re.compile(r"(?<!\w)[-\u2013](?=\d)"), re.compile(r"(?<=\w)#")
# Hashes of a signature, and of a band. Two texts are compared if all hashes of a band agree:
# probability 0.64 for texts that share half of their shingles, above 0.9999 for four fifths.
HASHES, BAND = 64, 4
SHINGLE = 5  # characters
SEED = 1


def plain(text: str) -> str:
    """Return the letters with their marks, and digits, of `folded` text; the whole text if it
    has none.
    """
    text = folded(text)
    return NO_WORD.sub(" ", text).strip() or text


def bare(text: str) -> bytes:
    """Compute :func:`plain` as bytes."""
    return _bare(folded(text))


def _bare(text: str) -> bytes:
    letters = text
    if not letters.isascii() and _ODD_MARK.search(letters):
        letters = _ODD_MARK.sub(" ", letters)
    return b" ".join(encoded(letters).translate(_SPACED).split()) or encoded(text)


def told(text: str) -> str:
    """Reduce a visible text to its folded letters, digits and symbols; without any, keep it whole.

    C, C++ and C#, 5 and -5, $5 and €5, a+b and a/b differ; punctuation is ignored.
    """
    form = text = fold(text)
    if "#" in form or "-" in form or "\u2013" in form:
        form = _SHARP.sub("\u266f", _SIGN.sub("\u2212", form))
    # Dropping most characters as bytes takes a tenth of the time.
    rest = encoded(form).translate(None, _NO_SYMBOL)
    symbols = _SYMBOLS.intersection(rest.decode("utf-8", "surrogatepass"))
    if not symbols:
        return _bare(text).decode("utf-8", "surrogatepass")  # like `plain`, but faster
    either = f"([{re.escape(''.join(sorted(symbols)))}])"
    words = (
        [part] if part in symbols else NO_WORD.sub(" ", part).split()
        for part in re.split(either, form)
    )
    return " ".join(chain.from_iterable(words))


def copy_key(text: str) -> int:
    """Hash the letters of :func:`bare`; 0 for a text without letters, which languages share."""
    letters = _NO_LETTER.sub(b" ", bare(text)).strip()
    return key(letters) if letters else 0


def encoded(text: str) -> bytes:
    """Encode a text that may contain a lone surrogate."""
    return text.encode("utf-8", "surrogatepass")


def key(text: bytes) -> int:
    """Hash a text to 64 bits."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def shingles(text: str) -> list[str]:
    """Return all runs of `SHINGLE` characters; a shorter text is its only shingle."""
    return [text[i : i + SHINGLE] for i in range(max(len(text) - SHINGLE + 1, 1))]


def signatures(sets: Sequence[Sequence[str]]) -> np.ndarray:
    """Compute MinHash signatures (Broder 1997) of sets of shingles: ``(n, HASHES) uint32``."""
    from rensa import RMinHash

    digests = RMinHash.digests_from_token_sets(sets, HASHES, SEED)
    return np.array(digests, dtype=np.uint32).reshape(len(sets), HASHES)


def band_keys(signed: np.ndarray) -> np.ndarray:
    """Return the keys of all bands of signatures: ``(n, HASHES / BAND) uint64``."""
    words = np.ascontiguousarray(signed).view(np.uint64)
    words = words.reshape(len(signed), HASHES // BAND, BAND // 2)
    return np.asarray(words[..., 0] * np.uint64(0x9E3779B97F4A7C15) ^ words[..., 1])


def shared(one: Iterable[str], other: Iterable[str]) -> float:
    """Return the Jaccard similarity of two texts' shingles, 0 to 1."""
    left, right = set(one), set(other)
    return len(left & right) / len(left | right)
