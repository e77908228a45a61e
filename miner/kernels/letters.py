"""Names that are spelled in two scripts: the best match of a Latin word within a foreign sentence.

Letters are codes: 0 separates words, 1 to 26 are Latin letters, larger ones foreign. Operations
turn up to two foreign letters into up to five Latin ones, each with its gain: by how much likelier,
as a logarithm, they occur as a segment of a transliteration than by chance
(:mod:`miner.kernels.segments`). Operations are ``(starts, second, latin, gain, inside)``:

- ``starts (c, 28) int32``: operations ``starts[f, l]`` to ``starts[f, l + 1]`` turn foreign code
  ``f`` into letters that begin with the Latin letter ``l``, or into none (0). Code 0 stands for
  Latin letters alone.
- ``second (m,) uint16``: the second foreign code, or 0. ``latin (m, 5) uint8``: the Latin letters,
  then 0. ``gain (m,) float32``.
- ``inside (c,) float32``: gain (<= 0) of a match that begins at this code within a word.
"""

import numpy as np

from miner.kernels.loops import njit

LETTERS = 26
# Code of a foreign letter that has no operations.
UNKNOWN = LETTERS + 1
# Gain of one letter for any other one, or for none, that no operation has.
OTHER = np.float32(-5.0)
# Gain below which the beginning of a match is given up.
HOPELESS = np.float32(-7.0)
# Letters of a word that is looked for; longest foreign text, in letters; most words of a sentence.
SHORTEST, LONGEST = 3, 20
MOST, WORDS = 600, 12
NONE = np.float32(-1e9)
# Numbers that `logit` weighs.
WEIGHTS = 5


@njit(error_model="numpy")
def _relax(gain, begin, row, place, value, start):
    if value > gain[row, place]:
        gain[row, place] = value
        begin[row, place] = start


@njit(error_model="numpy")
def find(text, n, word, m, operations, gain, begin):
    """Find the best match of ``word[:m]`` in ``text[:n]``: gain, start and end in the text.

    ``gain (3, LONGEST + 1) float32`` and ``begin (3, LONGEST + 1) int64`` are work space.
    """
    starts, second, latin, gains, inside = operations
    for row in range(3):
        for i in range(m + 1):
            gain[row, i] = NONE
    best, start, end = NONE, 0, 0
    for j in range(n + 1):
        row, one, two = j % 3, (j + 1) % 3, (j + 2) % 3
        fresh = j == 0 or j == n or text[j - 1] == 0
        _relax(gain, begin, row, 0, np.float32(0.0) if fresh else inside[text[j]], j)
        code = text[j] if j < n else 0
        for i in range(m + 1):
            value = gain[row, i]
            if value < HOPELESS:
                continue
            since = begin[row, i]
            if i < m:
                letter = np.int64(word[i])
                alone = starts[0, letter]
                own = gains[alone] if starts[0, letter + 1] > alone else OTHER
                _relax(gain, begin, row, i + 1, value + own, since)
            if j == n:
                continue
            left_out, replaced = OTHER, OTHER
            for side in range(2):  # operations without a Latin letter, then those with the next one
                if code == 0 or (side == 0 and i == 0) or (side == 1 and i == m):
                    continue
                letter = np.int64(word[i]) if side == 1 else np.int64(0)
                for o in range(starts[code, letter], starts[code, letter + 1]):
                    if second[o] > 0 and (j + 1 >= n or text[j + 1] != second[o]):
                        continue
                    size = 0
                    while size < 5 and latin[o, size] > 0:
                        if i + size >= m or latin[o, size] != word[i + size]:
                            break
                        size += 1
                    if size < 5 and latin[o, size] > 0:
                        continue
                    if second[o] > 0:
                        _relax(gain, begin, two, i + size, value + gains[o], since)
                    elif size == 0:
                        left_out = gains[o]
                    elif size == 1:
                        replaced = gains[o]
                    else:
                        _relax(gain, begin, one, i + size, value + gains[o], since)
            if i > 0:
                _relax(gain, begin, one, i, value + left_out, since)
            if i < m:
                _relax(gain, begin, one, i + 1, value + replaced, since)
        if gain[row, m] > best:
            best, start, end = gain[row, m], begin[row, m], j
        for i in range(m + 1):
            gain[row, i] = NONE
    return best, start, end


@njit(error_model="numpy")
def logit(best, n, m, weights):
    """Return the log-odds that a word of ``m`` letters with this match is in a text of ``n``."""
    high = max(best, np.float32(0.0))
    return (
        weights[0]
        + weights[1] * max(best, HOPELESS)
        + weights[2] * np.log(np.float32(n + 1))
        + weights[3] * m
        + weights[4] * high * high / np.float32(10.0)
    )


@njit(error_model="numpy")
def hashed(word, m):
    """Return the 32-bit FNV-1a hash of a word's letters."""
    value = np.uint64(2166136261)
    for i in range(m):
        value = ((value ^ np.uint64(word[i])) * np.uint64(16777619)) & np.uint64(0xFFFFFFFF)
    return value


@njit(error_model="numpy")
def _foreign(word, m):
    most = 0
    for i in range(m):
        most = max(most, word[i])
    return most > LETTERS


@njit(error_model="numpy")
def _listed(words, value):
    low, high = 0, len(words)
    while low < high:
        middle = (low + high) // 2
        if np.uint64(words[middle]) < value:
            low = middle + 1
        else:
            high = middle
    return low < len(words) and np.uint64(words[low]) == value


@njit(error_model="numpy")
def _spell(ids, first, last, spelling, offsets, text):
    """Write the letters of a sentence, with one 0 between words; returns their number."""
    n = 0
    for t in range(first, last):
        for place in range(offsets[ids[t]], offsets[ids[t] + 1]):
            if n < len(text) and (spelling[place] > 0 or (n > 0 and text[n - 1] > 0)):
                text[n] = spelling[place]
                n += 1
    return n


@njit(lanes=True, nogil=True, error_model="numpy")
def share_names(
    lane,
    lanes,
    foreign,
    latin,
    foreign_row,
    latin_row,
    spelled,
    operations,
    ordinary,
    weights,
    out,
):
    """Write the share of the Latin sentence's names that are spelled in the foreign one, ``(m,)``.

    It is the sum of their probabilities over their number plus one. Names are words that are not
    ``ordinary (w,) uint32``, hashes in ascending order. ``spelled``: letters of each token id
    ``(t,) uint16`` and their offsets.
    """
    text, words = np.zeros(MOST, dtype=np.uint16), np.zeros(MOST + 1, dtype=np.uint16)
    gain = np.empty((3, LONGEST + 1), dtype=np.float32)
    begin = np.zeros((3, LONGEST + 1), dtype=np.int64)
    for c in range(lane, len(foreign_row), lanes):
        i, j = foreign_row[c], latin_row[c]
        n = _spell(foreign[0], foreign[1][i], foreign[1][i + 1], *spelled, text)
        m = _spell(latin[0], latin[1][j], latin[1][j + 1], *spelled, words[:MOST])
        words[m] = 0
        first, names, found = 0, 0, np.float32(0.0)
        for place in range(m + 1):
            if words[place] > 0 or names == WORDS:
                continue
            size = place - first
            word = words[first:place]
            first = place + 1
            if size < SHORTEST or size > LONGEST or _foreign(word, size):
                continue
            if _listed(ordinary, hashed(word, size)):
                continue
            best, _, _ = find(text, n, word, size, operations, gain, begin)
            names += 1
            odds = np.exp(-logit(best, n, size, weights))
            found += np.float32(1.0) / (np.float32(1.0) + odds)
        out[c] = found / np.float32(names + 1)


@njit(lanes=True, nogil=True, error_model="numpy")
def find_all(lane, lanes, texts, text_offsets, words, word_offsets, text_row, operations, out):
    """Write gain, start and end of the match of each word ``(m, 3) float32`` in its text."""
    gain = np.empty((3, LONGEST + 1), dtype=np.float32)
    begin = np.zeros((3, LONGEST + 1), dtype=np.int64)
    for c in range(lane, len(text_row), lanes):
        text = texts[text_offsets[text_row[c]] : text_offsets[text_row[c] + 1]]
        word = words[word_offsets[c] : word_offsets[c + 1]]
        best, start, end = find(text, len(text), word, len(word), operations, gain, begin)
        out[c, 0], out[c, 1], out[c, 2] = best, start, end


@njit(nogil=True)
def hash_words(letters, offsets, out):
    """Write the hash of each word, ``out (w,) uint32``."""
    for i in range(len(offsets) - 1):
        out[i] = hashed(letters[offsets[i] :], offsets[i + 1] - offsets[i])
