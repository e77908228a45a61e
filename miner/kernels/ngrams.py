"""Scores of sentences under a 3-gram language model with backoff.

Tables of :class:`miner.scoring.trigram_lm.Trigrams`; probabilities and backoff weights are natural
logarithms, float64:

- words: probability of each word without context, ``(V,)``, and its backoff as a context, ``(V,)``.
- pairs: a :func:`~miner.kernels.units.table` of the keys ``first << 32 | second``; then, by place
  in the table, the probability of the second word after the first, and the backoff of the pair.
- triples: a table of the keys ``place of the first two << 32 | third``, and the probability of
  the third word.
"""

import numpy as np

from miner.kernels.loops import njit
from miner.kernels.units import find

# Ids of an unknown word, of the end of a sentence and of the padding before its start.
UNKNOWN, END, START = range(3)
_HALF = np.uint64(32)


@njit(nogil=True)
def surprise(ids, offsets, words, pairs, triples, out):
    """Write the mean of ``-log P`` over the words and the end of each sentence to ``out``.

    ``ids (t,) int32`` in [0, V) with ``offsets (n + 1,) int64``; `UNKNOWN` is the id of unknown
    words. ``out (n,) float64`` is in nats.
    """
    word_log, word_backoff = words
    pair_slots, pair_places, pair_log, pair_backoff = pairs
    triple_slots, triple_places, triple_log = triples
    start = (np.uint64(START) << _HALF) | np.uint64(START)
    opening = find(start, pair_slots, pair_places)
    for i in range(len(offsets) - 1):
        before, context, total = START, opening, 0.0
        for j in range(offsets[i], offsets[i + 1] + 1):
            word = ids[j] if j < offsets[i + 1] else END
            key = (np.uint64(before) << _HALF) | np.uint64(word)
            pair = find(key, pair_slots, pair_places)
            triple = -1
            if context >= 0:
                key = (np.uint64(context) << _HALF) | np.uint64(word)
                triple = find(key, triple_slots, triple_places)
            if triple >= 0:
                total -= triple_log[triple]
            else:
                if context >= 0:
                    total -= pair_backoff[context]
                if pair >= 0:
                    total -= pair_log[pair]
                else:
                    total -= word_backoff[before] + word_log[word]
            before, context = word, pair
        out[i] = total / (offsets[i + 1] - offsets[i] + 1)


@njit(nogil=True)
def conditional(before, middle, word, words, pairs, triples):
    """Return log P(word | before middle); ids as in :func:`surprise`, which sums these."""
    word_log, word_backoff = words
    pair_slots, pair_places, pair_log, pair_backoff = pairs
    triple_slots, triple_places, triple_log = triples
    context = find((np.uint64(before) << _HALF) | np.uint64(middle), pair_slots, pair_places)
    total = 0.0
    if context >= 0:
        key = (np.uint64(context) << _HALF) | np.uint64(word)
        triple = find(key, triple_slots, triple_places)
        if triple >= 0:
            return triple_log[triple]
        total = pair_backoff[context]
    pair = find((np.uint64(middle) << _HALF) | np.uint64(word), pair_slots, pair_places)
    if pair >= 0:
        return total + pair_log[pair]
    return total + word_backoff[middle] + word_log[word]
