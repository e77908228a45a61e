"""Copies: of pairs, of sentences, and of nearly the same text. The best-scoring copy stays.

These compare what the other filters have left, so what they remove depends on what those did.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np

from miner.errors import DependencyError
from miner.filters.filter_types import GLOBAL, Batch, Filter, Setting, compared
from miner.scoring.margin import match_one_to_one
from miner.text.words import MARKS, NO_WORD

# Hashes a pair has for near copies, and of how many of them a band is made, all of which must
# agree for two pairs to be compared: pairs that share half of their shingles meet with a
# probability of 0.64, four fifths with more than 0.9999.
HASHES, BAND = 64, 4
# Characters of a shingle.
SHINGLE = 5
SEED = 1

# `NO_WORD` in two steps, which take a quarter of the time: what is not of ASCII, where there is any
# such mark, and the bytes of ASCII.
_ODD_MARK = re.compile(rf"[^\w\x00-\x7f{MARKS}]+")
_SPACED = bytes(byte if byte > 127 or chr(byte).isalnum() else ord(" ") for byte in range(256))


def plain(text: str) -> str:
    """Letters with their marks, and digits, case-folded; the text itself where it has none."""
    return NO_WORD.sub(" ", text.casefold()).strip() or text


def bare(text: str) -> bytes:
    """As :func:`plain`, in bytes."""
    folded = text.casefold()
    if not folded.isascii() and _ODD_MARK.search(folded):
        folded = _ODD_MARK.sub(" ", folded)
    return b" ".join(_bytes(folded).translate(_SPACED).split()) or _bytes(text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def keys(batch: Batch, exact: bool) -> np.ndarray:
    """Hashes of the pair, the source and the target ``(n, 3) uint64``; equal texts, equal keys."""
    out = np.empty((len(batch), 3), dtype=np.uint64)
    for row, pair in enumerate(zip(*batch.sides, strict=True)):
        source, target = map(_bytes if exact else bare, pair)
        # The length keeps "a", "bc" apart from "ab", "c".
        texts = (b"%d " % len(source) + source + target, source, target)
        for column, text in enumerate(texts):
            digest = hashlib.blake2b(text, digest_size=8).digest()
            out[row, column] = int.from_bytes(digest, "little")
    return out


def signatures(batch: Batch) -> np.ndarray:
    """MinHash signatures (Broder 1997) of the shingles of both sides: ``(n, HASHES) uint32``."""
    rensa = check()
    shingles = []
    for pair in zip(*batch.sides, strict=True):
        both = ["s" + plain(pair[0]), "t" + plain(pair[1])]
        shingles.append(
            [
                text[start : start + SHINGLE]
                for text in both
                for start in range(max(len(text) - SHINGLE + 1, 1))
            ]
        )
    found = rensa.RMinHash.digests_from_token_sets(shingles, HASHES, SEED)
    return np.array(found, dtype=np.uint32).reshape(len(batch), HASHES)


def check() -> Any:
    """The library for signatures. Raises DependencyError where it is missing."""
    try:
        import rensa
    except ImportError:
        raise DependencyError(
            'near_duplicates needs rensa; run: pip install "bitext-miner[filter]"'
        ) from None
    return rensa


def copies(of: str, keys: np.ndarray, score: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Of each pair the row of the copy that stays, -1 for those that stay: ``(m,) int64``.

    ``keys (m, 3) uint64`` as above, ``score (m,)``, higher is better, and ``rows (m,) int64``,
    ascending. Of equal scores the first stays. ``of`` pair, source, target: what is compared;
    either: a pair goes whose source or whose target stands in a better pair that stays.
    """
    order = np.lexsort((rows, -score))
    if of == "either":
        # Places instead of scores, as hashes must not decide between equal ones.
        worth = np.empty(len(rows))
        worth[order] = -np.arange(len(rows))
        chosen = match_one_to_one(
            worth, *[np.unique(keys[:, side], return_inverse=True)[1] for side in (1, 2)]
        )
        out = np.full(len(rows), -1, dtype=np.int64)
        kept = np.zeros(len(rows), dtype=bool)
        kept[chosen] = True
        for side in (2, 1):  # a copy of the source is named before one of the target
            kind, place = np.unique(keys[:, side], return_inverse=True)
            best = np.full(len(kind), -1, dtype=np.int64)
            best[place[kept]] = rows[kept]
            found = ~kept & (best[place] >= 0)
            out[found] = best[place][found]
        return out
    column = ("pair", "source", "target").index(of)
    _, first, place = np.unique(keys[order, column], return_index=True, return_inverse=True)
    out = np.empty(len(rows), dtype=np.int64)
    out[order] = np.where(first[place] == np.arange(len(order)), -1, rows[order][first[place]])
    return out


def near_copies(signatures: np.ndarray, score: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """How alike each pair is to a better one: ``(m,) float64``, 0 without any like it.

    ``signatures (n, HASHES) uint32`` of all rows; ``score`` and ``rows``, those that are compared,
    as in :func:`copies`. The greatest estimated share of shingles in common (Jaccard) with a pair
    it was compared with: for each band the best of those that agree with it there, also where that
    one goes for a still better one.
    """
    order = np.lexsort((rows, -score))
    ranked = rows[order]
    alike = np.zeros(len(rows))
    for start in range(0, HASHES, BAND):
        # Only a band is put in order at a time: a copy of whole signatures would be most of the
        # memory. One number for each band, since sorting several takes four times as long. Two
        # bands that have one number, among billions, are compared in full below like any others.
        words = np.ascontiguousarray(signatures[ranked, start : start + BAND]).view(np.uint64)
        key = words[:, 0] * np.uint64(0x9E3779B97F4A7C15) ^ words[:, 1]
        _, first, place = np.unique(key, return_index=True, return_inverse=True)
        best = first[place]  # ranks ascend, so that the first of a band is its best
        later = np.flatnonzero(best != np.arange(len(best)))
        for part in range(0, len(later), 1 << 16):
            own = later[part : part + (1 << 16)]
            same = (signatures[ranked[own]] == signatures[ranked[best[own]]]).mean(axis=1)
            alike[own] = np.maximum(alike[own], same)
    out = np.empty(len(rows))
    out[order] = alike
    return out


FILTERS = (
    Filter(
        "duplicates",
        "the line of a better copy, whose letters and digits are the same; 0 where there is none",
        "a copy of line {value:.0f}",
        "lower",
        compared,
        maximum=0,
        settings={
            "of": Setting(
                "pair",
                "what is compared; either: both sides, each by itself",
                ("pair", "source", "target", "either"),
            ),
            "exact": Setting(False, "compare the texts as they stand"),
        },
        stage=GLOBAL,
        default=True,
        whole=True,
    ),
    Filter(
        "near_duplicates",
        "share of shingles in common with a better pair, by estimate (MinHash), from 0 to 1",
        "{value:.0%} the same as a better pair",
        "lower",
        compared,
        maximum=0.8,
        stage=GLOBAL,
        paper="Broder 1997",
    ),
)
