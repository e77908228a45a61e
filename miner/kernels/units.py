"""Tokenisation into character trigrams and words: a hash table and the loops that look ids up.

Sentences are flat code points: sentence ``i`` is ``codes[offsets[i]:offsets[i + 1]]``.
"""

import numpy as np

from miner.kernels.loops import njit

# Bits of a character in a key: there are fewer than 2 ** 21 code points.
BITS = 21
SPACE = 32
# Multiplier of Fibonacci hashing: 2 ** 64 over the golden ratio.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def table(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Build the hash table of the distinct ``keys (n,) uint64`` that :func:`find` searches.

    Returns two arrays of one length, a power of two: the key in each slot, uint64, and its place
    among ``keys``, int32, or -1 in an empty slot.
    """
    size = 1 << max(4, (2 * len(keys)).bit_length())
    slots, places = np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=np.int32)
    _fill(keys, slots, places)
    return slots, places


@njit(nogil=True)
def _fill(keys, slots, places):
    mask = np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        slot = _first(keys[i], mask)
        while places[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = keys[i]
        places[slot] = i


@njit(nogil=True)
def _first(key, mask):
    return ((key * _SPREAD) >> np.uint64(32)) & mask


@njit(nogil=True)
def find(key, slots, places):
    """Return the place of ``key`` (uint64) among the keys of a table, or -1."""
    mask = np.uint64(len(slots) - 1)
    slot = _first(key, mask)
    while places[slot] >= 0 and slots[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return places[slot]


@njit(nogil=True)
def trigram_keys(codes, offsets, out):
    """Write the key of the trigram around each character to ``out (t,) uint64``.

    ``codes (t,) uint32``, ``offsets (n + 1,) int64``. Sentences are padded with a space on either
    side.
    """
    for i in range(len(offsets) - 1):
        start, end = offsets[i], offsets[i + 1]
        before = np.uint64(SPACE)
        for j in range(start, end):
            own = np.uint64(codes[j])
            after = np.uint64(codes[j + 1]) if j + 1 < end else np.uint64(SPACE)
            key = (before << np.uint64(2 * BITS)) | (own << np.uint64(BITS)) | after
            out[j] = key
            before = own


@njit(nogil=True)
def trigrams(codes, offsets, slots, places, out):
    """Write the place of each trigram in a :func:`table`, or -1, to ``out (t,) int32``."""
    keys = np.empty(len(codes), dtype=np.uint64)
    trigram_keys(codes, offsets, keys)
    for j in range(len(keys)):
        out[j] = find(keys[j], slots, places)


@njit(nogil=True)
def words(codes, offsets, kinds, slots, places, vocabulary, starts, out, lengths):
    """Write the id of each word, or -1, to ``out (t,) int32``; returns the number of words.

    ``kinds (k,) uint8`` holds the kind of each code point: 0 separates words, 1 is a word of its
    own, and a run of 2 is a word. ``slots`` and ``places`` are the table of the
    :func:`fingerprints` of the vocabulary, uint32 code points from ``starts``. ``lengths (n,)
    int64`` gets the number of words of each sentence.
    """
    done = 0
    for i in range(len(offsets) - 1):
        first, end = done, offsets[i + 1]
        j = offsets[i]
        while j < end:
            begun = j
            kind = kinds[codes[j]]
            j += 1
            if kind == 0:
                continue
            if kind == 2:
                while j < end and kinds[codes[j]] == 2:
                    j += 1
            place = _find_word(codes[begun:j], slots, places, vocabulary, starts)
            out[done] = place
            done += 1
        lengths[i] = done - first
    return done


@njit(nogil=True)
def _find_word(word, slots, places, vocabulary, starts):
    key, mask = fingerprint(word), np.uint64(len(slots) - 1)
    slot = _first(key, mask)
    while places[slot] >= 0:
        # Two words may have one fingerprint.
        place = places[slot]
        same = slots[slot] == key and starts[place + 1] - starts[place] == len(word)
        for k in range(len(word) if same else 0):
            same = same and vocabulary[starts[place] + k] == word[k]
        if same:
            return place
        slot = (slot + np.uint64(1)) & mask
    return np.int32(-1)


@njit(nogil=True)
def fingerprint(codes):
    """Return the FNV-1a hash of a word, over its code points, as uint64."""
    key = np.uint64(0xCBF29CE484222325)
    for code in codes:
        key = (key ^ np.uint64(code)) * np.uint64(0x100000001B3)
    return key


@njit(nogil=True)
def fingerprints(codes, starts, out):
    """Write the :func:`fingerprint` of each word of a vocabulary to ``out (n,) uint64``."""
    for i in range(len(starts) - 1):
        out[i] = fingerprint(codes[starts[i] : starts[i + 1]])
