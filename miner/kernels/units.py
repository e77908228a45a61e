"""Tokenisation into character trigrams and words: a hash table and the loops that look up ids.

Sentences are flat code points: sentence ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
"""

import numpy as np

from miner.kernels.library import kernel

# Bits of a character in a key: there are fewer than 2 ** 21 code points.
BITS = 21

_fill = kernel("fill_table(keys: u8[n], &slots: u8[s], &places: i4[s])")
# Writes the index of each key in a :func:`table`, or -1.
find = kernel("find_keys(keys: u8[n], slots: u8[s], places: i4[s], &out: i4[n])")
# Writes the FNV-1a hash of each word of a vocabulary, over its code points.
fingerprints = kernel("fingerprints(codes: u4[t], starts: i8[n+1], &out: u8[n])")
# Writes the id of each word, or -1, and the number of words of each sentence; returns the number of
# words. ``kinds`` is the kind of each code point: 0 separates words, 1 is a word by itself, and a
# run of 2 is a word. ``slots`` and ``places`` are the table of the vocabulary's fingerprints, its
# code points begin at ``starts``.
words = kernel(
    "words(codes: u4[t], offsets: i8[n+1], kinds: u1[k], slots: u8[s], places: i4[s], "
    "vocabulary: u4[v], starts: i8[m+1], &out: i4[t], &lengths: i8[n]) -> int"
)


def table(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Build the hash table of the distinct ``keys (n,) uint64`` that :func:`find` searches.

    Returns two arrays of the same length, a power of two: the key in each slot, uint64, and its
    index among ``keys``, int32, or -1 in an empty slot.
    """
    size = 1 << max(4, (2 * len(keys)).bit_length())
    slots, places = np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=np.int32)
    _fill(keys, slots, places)
    return slots, places


def trigram_keys(codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the key of the trigram around each character, ``(t,) uint64``.

    Sentences are padded with a space on either side.
    """
    padded = np.full(len(codes) + 2, ord(" "), np.uint64)
    padded[1:-1] = codes
    before, after = padded[:-2].copy(), padded[2:].copy()
    filled = np.diff(offsets) > 0
    before[offsets[:-1][filled]] = after[offsets[1:][filled] - 1] = ord(" ")
    return before << (2 * BITS) | padded[1:-1] << BITS | after


def trigrams(
    codes: np.ndarray, offsets: np.ndarray, slots: np.ndarray, places: np.ndarray, out: np.ndarray
) -> None:
    """Write the index of each trigram in a :func:`table`, or -1, to ``out (t,) int32``."""
    find(trigram_keys(codes, offsets), slots, places, out)
