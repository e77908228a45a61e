"""What a 3-gram language model in backoff form says of sentences: the loop over their words.

The tables are those of :class:`miner.scoring.trigram_lm.Trigrams`, all of natural logarithms, float64:

words: ``(V,)`` probability of each word without context, and ``(V,)`` backoff of each as context.
pairs: a :func:`~miner.kernels.units.table` of keys ``first << 32 | second``; then, by their places,
    the probability of the second word after the first, and the backoff of both as context.
triples: a table of keys ``place of the first two << 32 | third``, and the third's probability.
"""

import numba
import numpy as np

from miner.kernels.units import find

# Numbers of what is no word: any word that was never seen, a sentence's end, what precedes it.
UNKNOWN, END, START = range(3)
_HALF = np.uint64(32)


def surprise_reference(sentences, words, pairs, triples):
    """The logarithm of every word's probability, and the end's, in each of the ``sentences``."""

    def entries(slots, places):
        both = zip(slots.tolist(), places.tolist(), strict=True)
        return {(key >> 32, key & 0xFFFFFFFF): place for key, place in both if place >= 0}

    word_log, word_backoff = words
    pair_place, (pair_log, pair_backoff) = entries(*pairs[:2]), pairs[2:]
    triple_place, triple_log = entries(*triples[:2]), triples[2]

    def log(first, second, third):
        context = pair_place.get((first, second))
        if (context, third) in triple_place:
            return triple_log[triple_place[context, third]]
        seen = pair_place.get((second, third))
        lower = word_backoff[second] + word_log[third] if seen is None else pair_log[seen]
        return lower if context is None else pair_backoff[context] + lower

    padded = ([START, START, *sentence, END] for sentence in sentences)
    return [[log(*line[i - 2 : i + 1]) for i in range(2, len(line))] for line in padded]


@numba.njit(nogil=True, cache=True)
def surprise(ids, offsets, words, pairs, triples, out):
    """Mean of ``-log P`` over the words of each sentence and its end: ``out (n,) float64``, nats.

    ``ids (t,) int32`` below V, `UNKNOWN` for words without a number; ``offsets (n + 1,) int64``.
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
