"""Trigram language model with Kneser-Ney smoothing, trained in memory."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError
from miner.ragged import offsets_of

# Discount of a text that is too small to estimate it.
DISCOUNT = 0.5
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, eq=False)
class Trigrams:
    """Interpolated Kneser-Ney smoothing of order 3 (Chen & Goodman 1998, section 2.7).

    Each order has one absolute discount D, ``n1 / (n1 + 2 n2)`` of the n-grams seen once and twice
    (Ney et al. 1994). Two start marks precede each sentence, one end mark follows it::

        P(w | u v) = (c(u v w) - D3) / c(u v) + D3 N(u v .) / c(u v) * P(w | v)

    where N counts the distinct words in place of a dot. P(w | v) has N(. v w) instead of c(u v w),
    P(w) has N(. w). The rest of P(w) is shared equally by all words, the end mark and one unknown
    word, so that all probabilities are above 0 and sum to 1.

    ``numbers``: id of each word seen, from 3. ``words``, ``pairs``, ``triples``: as in
    :mod:`miner.kernels.ngrams`. Training is deterministic.
    """

    numbers: Mapping[str, int]
    words: tuple[np.ndarray, np.ndarray]
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    triples: tuple[np.ndarray, np.ndarray, np.ndarray]

    @classmethod
    def train(cls, sentences: Iterable[Sequence[str]], name: str) -> Trigrams:
        """Train on sentences, which are lists of words; empty ones are ignored.

        Raises CorpusError, which names the text ``name``, if there are no words.
        """
        from miner.kernels.ngrams import END, START, UNKNOWN
        from miner.kernels.units import table

        numbers: dict[str, int] = {}
        lowest = 1 + max(UNKNOWN, END, START)
        flat = array("i")
        for sentence in sentences:
            if sentence:
                words = [numbers.setdefault(word, len(numbers) + lowest) for word in sentence]
                flat.extend([START, START, *words, END])
        if not flat:
            raise CorpusError(
                f"{name}: has no words to learn a language model from; give a file with sentences"
            )
        text, size = np.array(flat, dtype=np.int64), len(numbers) + lowest

        # For every word and end mark: the pair that ends there, and the preceding pair.
        pair_keys, pair = np.unique(_key(text[:-1], text[1:]), return_inverse=True)
        here = np.flatnonzero(text != START)
        context, pair, third = pair[here - 2], pair[here - 1], text[here]
        triple_keys, first_index, count = np.unique(
            _key(context, third), return_index=True, return_counts=True
        )
        context, pair, third = context[first_index], pair[first_index], third[first_index]

        # Counts of the shorter n-grams are numbers of distinct preceding words.
        pair_count = np.bincount(pair, minlength=len(pair_keys))
        first, second = (part.astype(np.int64) for part in (pair_keys >> _HALF, pair_keys & _LOW))
        word_count = np.bincount(second[pair_count > 0], minlength=size)

        possible = np.ones(size)
        possible[START] = 0
        alone, left = _discounted(word_count, np.zeros(size, np.int64), 1)
        word = alone + left * possible / possible.sum()
        alone, word_left = _discounted(pair_count, first, size)
        after_one = alone + word_left[first] * word[second]
        alone, pair_left = _discounted(count, context, len(pair_keys))
        after_two = alone + pair_left[context] * after_one[pair]
        with np.errstate(divide="ignore"):  # the start mark is never predicted
            return cls(
                numbers,
                (np.log(word), np.log(word_left)),
                (*table(pair_keys), np.log(after_one), np.log(pair_left)),
                (*table(triple_keys), np.log(after_two)),
            )

    @property
    def unknown(self) -> float:
        """Perplexity of an unknown word without context."""
        from miner.kernels.ngrams import UNKNOWN

        return math.exp(-self.words[0][UNKNOWN])

    def perplexity(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """Return ``exp`` of the mean ``-log P`` over words and end mark of each sentence: ``(n,)``.

        It is above 1 and finite; a sentence without words has the perplexity of its end mark.
        """
        from miner.kernels.ngrams import UNKNOWN, surprise

        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        offsets, number = offsets_of(lengths), self.numbers.get
        ids = np.fromiter(
            (number(word, UNKNOWN) for words in sentences for word in words), np.int32, offsets[-1]
        )
        out = np.empty(len(sentences))
        surprise(ids, offsets, self.words, self.pairs, self.triples, out)
        return np.exp(out)


def _key(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left.astype(np.uint64) << _HALF | right.astype(np.uint64)


def _discounted(
    count: np.ndarray, context: np.ndarray, contexts: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return each n-gram's discounted probability, and each context's mass for shorter n-grams.

    ``count (m,)`` may be 0; ``context (m,)`` is below ``contexts``. A context without n-grams
    leaves its whole probability.
    """
    once, twice = (int((count == times).sum()) for times in (1, 2))
    # Without n-grams seen once the unknown word would get nothing; without any seen twice,
    # everything.
    discount = once / (once + 2 * twice) if once and twice else DISCOUNT
    total = np.bincount(context, count, contexts)
    kinds = np.bincount(context, count > 0, contexts)
    left = np.ones(contexts)
    np.divide(discount * kinds, total, out=left, where=total > 0)
    probability = np.zeros(len(count))
    np.divide(count - discount, total[context], out=probability, where=count > 0)
    return probability, left
