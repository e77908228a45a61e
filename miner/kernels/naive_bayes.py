"""Log-likelihood of texts under many languages, from the byte n-grams that an automaton finds.

The model is that of langid.py (Lui and Baldwin 2012): an automaton walks over the bytes and gives
out features; a language's score is its prior plus the sum of log(1 + count) times the feature's
log-probability.
"""

import numba
import numpy as np

_ABREAST = 16


def naive_bayes_reference(texts, move, row, out, table, prior):
    """What :func:`naive_bayes` computes, for a list of bytes."""
    scores = np.empty((len(texts), len(prior)), dtype=np.float32)
    for i, text in enumerate(texts):
        state, found = 0, []
        for byte in text:
            state = move[row[state] * 256 + byte]
            if out[state] >= 0:
                found.append(out[state])
        features, counts = np.unique(np.array(found, dtype=np.int64), return_counts=True)
        scores[i] = np.log1p(counts) @ table[features].astype(np.float64) + prior
    return scores


@numba.njit(cache=True, nogil=True)
def _walk(text, offsets, move, row, out):
    """The feature that each byte completes, or -1: ``(b,) int32``.

    Each step of the automaton waits for memory, so the walks over a few texts go side by side.
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


@numba.njit(cache=True, nogil=True)
def naive_bayes(text, offsets, move, row, out, table, prior):
    """Scores of n texts under m languages: ``(n, m) float32``, natural logarithms, not normalised.

    text ``(b,) uint8``; text ``i`` is ``text[offsets[i]:offsets[i + 1]]``, offsets ``(n + 1,)
    int64`` from 0. move ``(r * 256,)``: the state after a byte, by row; row ``(s,)``: the row of
    each state; out ``(s,) int32``: the feature that a state gives out, or -1. table ``(f, m)
    float32``: log-probabilities of features; prior ``(m,) float32``. State 0 comes first.
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
