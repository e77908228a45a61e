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

from miner.kernels.library import kernel

# Ids of an unknown word, of the end of a sentence and of the padding before its start.
UNKNOWN, END, START = range(3)

_MODEL = (
    "word_log: f8[v], word_backoff: f8[v], pair_slots: u8[s], pair_places: i4[s], "
    "pair_log: f8[p], pair_backoff: f8[p], triple_slots: u8[z], triple_places: i4[z], "
    "triple_log: f8[q]"
)
_surprise = kernel(f"surprise(ids: i4[t], offsets: i8[n+1], {_MODEL}, &out: f8[n])")
_conditional = kernel(f"conditional(before: int, middle: int, word: int, {_MODEL}) -> float")

_Arrays = tuple[np.ndarray, ...]


def surprise(
    ids: np.ndarray,
    offsets: np.ndarray,
    words: _Arrays,
    pairs: _Arrays,
    triples: _Arrays,
    out: np.ndarray,
) -> None:
    """Write the mean of ``-log P`` over the words and the end of each sentence to ``out``.

    ``ids (t,) int32`` in [0, V) with ``offsets (n + 1,) int64``; `UNKNOWN` is the id of unknown
    words. ``out (n,) float64`` is in nats.
    """
    _surprise(ids, offsets, *words, *pairs, *triples, out)


def conditional(
    before: int, middle: int, word: int, words: _Arrays, pairs: _Arrays, triples: _Arrays
) -> float:
    """Return log P(word | before middle); ids as in :func:`surprise`, which sums these."""
    return float(_conditional(before, middle, word, *words, *pairs, *triples))
