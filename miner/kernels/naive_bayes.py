"""Naive Bayes language identification over byte n-grams, as in langid.py (Lui and Baldwin 2012).

An automaton walks over the bytes and emits features. The score of a language is its prior plus the
sum over features of log(1 + count) times the log-probability of the feature.
"""

import numpy as np

from miner.kernels.loops import njit
from miner.kernels.tile import lowest_bit

# Texts that are walked over side by side.
_ABREAST = 16


def naive_bayes(text, offsets, move, row, out, table, prior):
    """Return the log scores of n texts under m languages, not normalised: ``(n, m) float32``.

    Texts are ``text (b,) uint8`` with ``offsets (n + 1,) int64`` from 0. The automaton starts in
    state 0: ``move (r * 256,)`` is the next state by row and byte, ``row (s,)`` the row of each
    state, ``out (s,) int32`` the feature that a state emits, or -1. ``table (f, m) float32`` holds
    the log-probabilities of features, ``prior (m,) float32`` of languages.
    """
    found = np.empty(len(text), dtype=np.int32)
    _walk(text, offsets, move, row, out, np.empty(_ABREAST, dtype=np.int64), found)
    scores = np.tile(prior, (len(offsets) - 1, 1))
    counts = np.zeros(len(table), dtype=np.int32)
    _add(found, offsets, table, counts, np.zeros(-(-len(table) // 32), dtype=np.int32), scores)
    return scores


@njit(nogil=True)
def _walk(text, offsets, move, row, out, state, found):
    """Write the feature that each byte completes, or -1, to ``found (b,) int32``.

    A step of the automaton waits for memory; interleaving a few texts hides the latency. ``state``
    is scratch.
    """
    n = len(offsets) - 1
    for first in range(0, n, _ABREAST):
        width = min(_ABREAST, n - first)
        longest = 0
        for k in range(width):
            state[k] = 0
            longest = max(longest, offsets[first + k + 1] - offsets[first + k])
        for step in range(longest):
            for k in range(width):
                place = offsets[first + k] + step
                if place < offsets[first + k + 1]:
                    state[k] = move[np.int64(row[state[k]]) * 256 + text[place]]
                    found[place] = out[state[k]]


@njit(nogil=True)
def _add(found, offsets, table, counts, seen, scores):
    """Add the features ``found (b,) int32`` of each text to its row of ``scores``, in order.

    ``counts (f,)`` and ``seen``, a bit for each feature, are scratch: zeros.
    """
    for i in range(len(offsets) - 1):
        for place in range(offsets[i], offsets[i + 1]):
            feature = found[place]
            if feature >= 0:
                counts[feature] += 1
                seen[feature >> 5] |= np.int32(1) << np.int32(feature & 31)
        for word in range(len(seen)):
            mask = seen[word]
            seen[word] = 0
            while mask != 0:
                feature = 32 * word + lowest_bit(mask)
                mask &= mask - np.int32(1)
                weight = np.float32(np.log1p(counts[feature]))
                counts[feature] = 0
                total, own = scores[i], table[feature]
                for language in range(len(total)):
                    total[language] += weight * own[language]
