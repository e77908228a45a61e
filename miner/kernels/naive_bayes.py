"""Naive Bayes language identification over byte n-grams, as in langid.py (Lui and Baldwin 2012).

An automaton walks over the bytes and emits features. The score of a language is its prior plus the
sum over features of log(1 + count) times the log-probability of the feature.
"""

import numpy as np

from miner.kernels.library import kernel

# Writes the feature that each byte completes, or -1, to ``found``, and adds the features of each
# text, in order, to its scores. ``counts`` and ``seen`` (a bit for each feature) are scratch, zero
# at the start.
_naive_bayes = kernel(
    "naive_bayes(text: u1[b], offsets: i8[n+1], move: u4[r], row: u2[s], out: i4[s], "
    "table: f4[f, m], &found: i4[b], &counts: i4[f], &seen: u8[words], &scores: f4[n, m])"
)


def naive_bayes(
    text: np.ndarray,
    offsets: np.ndarray,
    move: np.ndarray,
    row: np.ndarray,
    out: np.ndarray,
    table: np.ndarray,
    prior: np.ndarray,
) -> np.ndarray:
    """Return the log scores of n texts under m languages, not normalised: ``(n, m) float32``.

    Texts are ``text (b,) uint8`` with ``offsets (n + 1,) int64`` from 0. The automaton starts in
    state 0: ``move (r * 256,) uint32`` is the next state by row and byte, ``row (s,) uint16`` the
    row of each state, ``out (s,) int32`` the feature that a state emits, or -1. ``table (f, m)
    float32`` holds the log-probabilities of features, ``prior (m,) float32`` of languages.
    """
    scores = np.tile(prior, (len(offsets) - 1, 1))
    features, counts = np.empty(len(text), np.int32), np.zeros(len(table), np.int32)
    seen = np.zeros(-(-len(table) // 64), np.uint64)
    _naive_bayes(text, offsets, move, row, out, table, features, counts, seen, scores)
    return scores
