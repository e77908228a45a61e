"""Text to the numbers of its units: a table of whole numbers, and the loops that look units up.

A sentence arrives as the code points of its characters, flat, as everywhere here: sentence ``i``
is ``codes[offsets[i]:offsets[i + 1]]``.
"""

import numba
import numpy as np

# What a character takes in a key: there are fewer code points than 2 ** 21.
BITS = 21
SPACE = 32
# An odd number whose multiples spread over all bits (2 ** 64 over the golden ratio).
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def table(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A hash table of the distinct ``keys (n,) uint64``: where :func:`find` finds them.

    Two arrays of one length, a power of two: the keys, uint64, and the place that each has among
    ``keys``, int32, or -1 where there is none.
    """
    size = 1 << max(4, (2 * len(keys)).bit_length())
    slots, places = np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=np.int32)
    _fill(keys, slots, places)
    return slots, places


@numba.njit(nogil=True, cache=True)
def _fill(keys, slots, places):
    mask = np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        slot = _first(keys[i], mask)
        while places[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = keys[i]
        places[slot] = i


@numba.njit(nogil=True, cache=True, inline="always")
def _first(key, mask):
    return ((key * _SPREAD) >> np.uint64(32)) & mask


@numba.njit(nogil=True, cache=True)
def find(key, slots, places):
    """The place of ``key`` (uint64) among the keys of a table, or -1."""
    mask = np.uint64(len(slots) - 1)
    slot = _first(key, mask)
    while places[slot] >= 0 and slots[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return places[slot]


@numba.njit(nogil=True, cache=True)
def trigram_keys(codes, offsets, out):
    """The trigram around each character, as a number: ``out (t,) uint64``.

    ``codes (t,) uint32``, ``offsets (n + 1,) int64``. Before the first character of a sentence and
    after its last there is a space.
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


@numba.njit(nogil=True, cache=True)
def trigrams(codes, offsets, slots, places, out):
    """The place of each character's trigram in a :func:`table`, or -1: ``out (t,) int32``."""
    keys = np.empty(len(codes), dtype=np.uint64)
    trigram_keys(codes, offsets, keys)
    for j in range(len(keys)):
        out[j] = find(keys[j], slots, places)


def trigrams_reference(sentence: str, vocabulary: dict[str, int]) -> list[int]:
    """What :func:`trigrams` finds in one sentence."""
    padded = f" {sentence} "
    return [vocabulary.get(padded[i : i + 3], -1) for i in range(len(sentence))]


@numba.njit(nogil=True, cache=True)
def words(codes, offsets, kinds, slots, places, vocabulary, starts, out, lengths):
    """The place of each word in a vocabulary, or -1, in ``out (t,) int32``; returns how many.

    A word is a run of characters of kind 2, or one of kind 1; those of kind 0 stand between words:
    ``kinds (k,) uint8`` by code point. The table (``slots``, ``places``) is of the words'
    :func:`fingerprint`; word ``i`` is ``vocabulary[starts[i]:starts[i + 1]]``, uint32.
    ``lengths (n,) int64`` gets the number of words of each sentence.
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


@numba.njit(nogil=True, cache=True)
def _find_word(word, slots, places, vocabulary, starts):
    key, mask = fingerprint(word), np.uint64(len(slots) - 1)
    slot = _first(key, mask)
    while places[slot] >= 0:
        # Other words may have the same fingerprint.
        place = places[slot]
        same = slots[slot] == key and starts[place + 1] - starts[place] == len(word)
        for k in range(len(word) if same else 0):
            same = same and vocabulary[starts[place] + k] == word[k]
        if same:
            return place
        slot = (slot + np.uint64(1)) & mask
    return np.int32(-1)


@numba.njit(nogil=True, cache=True)
def fingerprint(codes):
    """A number, uint64, that hardly any other word has (FNV-1a over its characters)."""
    key = np.uint64(0xCBF29CE484222325)
    for code in codes:
        key = (key ^ np.uint64(code)) * np.uint64(0x100000001B3)
    return key


@numba.njit(nogil=True, cache=True)
def fingerprints(codes, starts, out):
    """The :func:`fingerprint` of each word of a vocabulary: ``out (n,) uint64``."""
    for i in range(len(starts) - 1):
        out[i] = fingerprint(codes[starts[i] : starts[i + 1]])
