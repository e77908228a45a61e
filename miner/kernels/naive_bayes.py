"""Naive Bayes language identification over byte n-grams, as in langid.py (Lui and Baldwin 2012).

An automaton walks over the bytes and emits features. The score of a language is its prior plus the
sum over features of log(1 + count) times the log-probability of the feature.
"""

import numpy as np

from miner.kernels.cache import njit

# Texts that are walked over side by side.
_ABREAST = 16


@njit(nogil=True)
def _walk(text, offsets, move, row, out):
    """Return the feature that each byte completes, or -1: ``(b,) int32``.

    A step of the automaton waits for memory; interleaving a few texts hides the latency.
    """
    found = np.empty(len(text), dtype=np.int32)
    state = np.empty(_ABREAST, dtype=np.int64)
    n = len(offsets) - 1
    for first in range(0, n, _ABREAST):
        width = min(_ABREAST, n - first)
        state[:] = 0
        longest = 0
        for i in range(first, first + width):
            longest = max(longest, offsets[i + 1] - offsets[i])
        for step in range(longest):
            for k in range(width):
                place = offsets[first + k] + step
                if place < offsets[first + k + 1]:
                    state[k] = move[np.int64(row[state[k]]) * 256 + text[place]]
                    found[place] = out[state[k]]
    return found


@njit(nogil=True)
def naive_bayes(text, offsets, move, row, out, table, prior):
    """Return the log scores of n texts under m languages, not normalised: ``(n, m) float32``.

    Texts are ``text (b,) uint8`` with ``offsets (n + 1,) int64`` from 0. The automaton starts in
    state 0: ``move (r * 256,)`` is the next state by row and byte, ``row (s,)`` the row of each
    state, ``out (s,) int32`` the feature that a state emits, or -1. ``table (f, m) float32`` holds
    the log-probabilities of features, ``prior (m,) float32`` of languages.
    """
    n, m = len(offsets) - 1, table.shape[1]
    scores = np.empty((n, m), dtype=np.float32)
    total = np.empty(m, dtype=np.float32)
    found = _walk(text, offsets, move, row, out)
    for i in range(n):
        features = found[offsets[i] : offsets[i + 1]]
        features.sort()
        total[:] = prior
        place = 0
        while place < len(features):
            feature = features[place]
            first = place
            while place < len(features) and features[place] == feature:
                place += 1
            if feature >= 0:
                weight = np.float32(np.log1p(place - first))
                for language in range(m):
                    total[language] += weight * table[feature, language]
        scores[i] = total
    return scores
