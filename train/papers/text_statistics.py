"""Statistics of a text and of its sentences: length, word rarity, entropy, repetition.

Wieting, Mallinson & Gimpel 2017 (section 5.6.1) compare references with their back-translations by
these statistics, and correlate them with scores of pairs. Tokens come from `miner.text.words`, in
lower case: words, punctuation marks and, in scripts without spaces, characters. Lengths count the
latter by the letters of a usual word. The statistics of a whole text or of one sentence are:

- idf: mean over its tokens of ln(sentences / sentences with the token), counted in a table of texts
  (`Rarity`). High for rare words. The paper counts in Wikipedia.
- entropy, of a whole text: mean over its tokens of -log2(count of the token / all tokens), in
  bits; of trigrams likewise. High for a rich vocabulary. It grows with the text, so compare texts
  of one size. The mean over the tokens of one sentence is that sentence's surprisal.
- repetition: share of its tokens that stand earlier in their sentence too, among tokens of at least
  3 characters. trigram_repetition: the same for all trigrams, three tokens in a row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import numpy as np

from miner.arrays import GrowingArray
from miner.evaluation.metrics import spearman, value_of
from miner.text.hashes import hash_of
from miner.text.words import count_parts, tokens
from miner_train.papers.counts import Counts, entropy

# Statistics of a sentence, in the order of the rows of `TextCounter.sentence_statistics`.
SENTENCE_STATISTICS = (
    "tokens",
    "characters",
    "idf",
    "surprisal",
    "repetition",
    "trigram_repetition",
)
# Minimum characters of a token whose repetition counts: shorter ones are mostly articles.
LONG = 3
# Distinct trigrams that are counted exactly, in about 170 MB; beyond, a sample is counted.
TRIGRAMS = 1 << 23
# Sentences whose statistics are computed together.
BLOCK = 1 << 13
# Statistics compared as target / source; the others as target - source.
RATIOS = (
    *("sentences", "tokens", "types"),
    *("mean_tokens", "deviation_tokens", "mean_characters", "deviation_characters"),
)


@dataclass(frozen=True)
class TextStatistics:
    """Statistics of a whole text; the module docstring defines them.

    types: distinct tokens. mean_tokens, mean_characters: length of a stripped sentence, and
    deviation_tokens, deviation_characters: its standard deviation, over all sentences. counted:
    share of rare trigrams that were counted; 1 where the trigram entropy is exact. None without
    data: the repetition in a text without long tokens, for example.
    """

    sentences: int
    tokens: int
    types: int
    mean_tokens: float | None
    deviation_tokens: float | None
    mean_characters: float | None
    deviation_characters: float | None
    idf: float | None
    entropy: float | None
    trigram_entropy: float | None
    repetition: float | None
    trigram_repetition: float | None
    counted: float

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the fields by name, in order, ready for JSON."""
        return asdict(self)

    def compared_with(self, source: TextStatistics) -> dict[str, float | None]:
        """Compare with the statistics of a source: ratios of `RATIOS`, differences of others.

        None if either is None, or a ratio is to 0.
        """
        compared: dict[str, float | None] = {}
        others = source.as_dict()
        for name, value in self.as_dict().items():
            other = others[name]
            if value is None or other is None or (name in RATIOS and not other):
                compared[name] = None
            else:
                compared[name] = value / other if name in RATIOS else value - other
        del compared["counted"]
        return compared


class Rarity:
    """Table of inverse document frequencies of tokens, counted in one or more texts.

    A token that no text contains counts as a token of one sentence.
    """

    def __init__(self, *texts: TextCounter) -> None:
        self.sentences = sum(text.sentences for text in texts)
        self.holders: Counter[str] = Counter()
        for text in texts:
            self.holders.update(text.holders())

    def __call__(self, tokens: Iterable[str]) -> np.ndarray:
        """Return ln(sentences / sentences with the token) of each token, ``(t,) float64``."""
        holders = [self.holders.get(token, 1) for token in tokens]
        return np.log(max(1, self.sentences) / np.array(holders, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of a block of n sentences with t tokens, which another process can make.

    ``words`` are the w distinct tokens in the order in which they appear, ``token (t,) int32`` the
    index in ``words`` of each token; ``lengths``, ``sizes`` and ``characters (n,) int64`` of
    sentences: their tokens, the same with words of scripts without spaces, their characters.
    ``count (w,)`` and ``holders (w,)`` are the occurrences of each word and the sentences with it;
    ``every (2, n)`` and ``distinct (2, n)`` the long tokens and the trigrams of each sentence.
    """

    words: list[str]
    token: np.ndarray
    lengths: np.ndarray
    sizes: np.ndarray
    characters: np.ndarray
    count: np.ndarray
    holders: np.ndarray
    every: np.ndarray
    distinct: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str]) -> Counted:
        n, split = len(texts), [tokens(text) for text in texts]
        lengths = np.fromiter(map(len, split), np.int64, n)
        flat = list(chain.from_iterable(split))
        vocabulary = {word: number for number, word in enumerate(dict.fromkeys(flat))}
        token = np.fromiter(map(vocabulary.__getitem__, flat), np.int32, len(flat))
        row = np.repeat(np.arange(n), lengths)  # (t,), the sentence of each token

        def per_sentence(rows: np.ndarray) -> np.ndarray:
            return np.bincount(rows, minlength=n)

        # Distinct tokens of each sentence; with return_counts numpy sorts, which is faster here.
        pairs, _ = np.unique(row * len(vocabulary) + token, return_counts=True)
        holder, kind = np.divmod(pairs, max(1, len(vocabulary)))
        start = trigram_starts(lengths)
        trigram = hash_of(token[start], token[start + 1], token[start + 2], row[start])
        _, first = np.unique(trigram, return_index=True)
        long = np.fromiter((len(word) >= LONG for word in vocabulary), bool, len(vocabulary))
        return cls(
            list(vocabulary),
            token,
            lengths,
            np.fromiter(map(count_parts, texts, split), np.int64, n),
            np.fromiter((len(text.strip()) for text in texts), np.int64, n),
            np.bincount(token, minlength=len(vocabulary)),
            np.bincount(kind, minlength=len(vocabulary)),
            np.stack([per_sentence(row[long[token]]), per_sentence(row[start])]),
            np.stack([per_sentence(holder[long[kind]]), per_sentence(row[start[first]])]),
        )


def trigram_starts(lengths: np.ndarray) -> np.ndarray:
    """Return the positions of tokens followed by two more of the same sentence, ascending."""
    row = np.repeat(np.arange(len(lengths)), lengths)
    return np.flatnonzero(row[2:] == row[:-2])


class TextCounter:
    """Counts of a text, or of a side of a bitext, read block by block.

    Memory grows with the distinct tokens. keep: also keep 4 bytes a token and 20 a sentence, in
    temporary files, for the statistics of each sentence.
    """

    def __init__(self, keep: bool = False) -> None:
        self._numbers: dict[str, int] = {}
        # By token number: its occurrences, and the sentences with it.
        self._count = np.zeros(0, dtype=np.int64)
        self._holders = np.zeros(0, dtype=np.int64)
        self._trigrams = Counts(TRIGRAMS)
        self.sentences = 0
        # Sums and sums of squares over sentences: their tokens, their characters.
        self._sums, self._squares = np.zeros((2, 2), dtype=np.int64)
        # Numbers of long tokens and of trigrams, and how many of them repeat an earlier one.
        self._every = np.zeros(2, dtype=np.int64)
        self._repeated = np.zeros(2, dtype=np.int64)
        # Number of each token, and four statistics of each sentence.
        self._kept = (GrowingArray(np.int32), GrowingArray(np.float32)) if keep else None

    def add(self, block: Counted) -> None:
        """Count a block of sentences. Raises ResourceError where a temporary file has no room."""
        numbers = self._numbers
        number = np.array(
            [numbers.setdefault(word, len(numbers)) for word in block.words], np.int64
        )
        if len(numbers) > len(self._count):
            more = max(len(numbers) - len(self._count), len(self._count))
            self._count = np.append(self._count, np.zeros(more, dtype=np.int64))
            self._holders = np.append(self._holders, np.zeros(more, dtype=np.int64))
        self._count[number] += block.count
        self._holders[number] += block.holders
        token = number[block.token]  # (t,)
        start = trigram_starts(block.lengths)
        self._trigrams.add(hash_of(token[start], token[start + 1], token[start + 2]))
        self.sentences += len(block.lengths)
        sizes = np.stack([block.sizes, block.characters]).astype(np.int64)
        self._sums += sizes.sum(axis=1)
        self._squares += (sizes**2).sum(axis=1)
        self._every += block.every.sum(axis=1)
        self._repeated += (block.every - block.distinct).sum(axis=1)
        if self._kept is not None:
            repetition = (block.every - block.distinct) / np.maximum(block.every, 1)
            self._kept[0].append(token)
            known = [block.lengths, block.sizes, block.characters, *repetition]
            self._kept[1].append(np.stack(known, 1))

    def holders(self) -> dict[str, int]:
        """Return the number of sentences that hold each token."""
        return dict(zip(self._numbers, self._holders.tolist(), strict=False))

    def statistics(self, rarity: Rarity) -> TextStatistics:
        """Return the statistics of all sentences added."""
        count = self._count[: len(self._numbers)]
        total = int(count.sum())
        repetition, trigram_repetition = (
            float(repeated / every) if every else None
            for repeated, every in zip(self._repeated, self._every, strict=True)
        )
        means: list[float | None] = [None, None]
        deviations: list[float | None] = [None, None]
        if n := self.sentences:
            sums, squares = self._sums.tolist(), self._squares.tolist()
            means = [value / n for value in sums]
            # Python's integers until the root: exact, and of any size.
            deviations = [
                math.sqrt(n * square - value**2) / n
                for value, square in zip(sums, squares, strict=True)
            ]
        return TextStatistics(
            sentences=self.sentences,
            tokens=int(self._sums[0]),
            types=len(count),
            mean_tokens=means[0],
            deviation_tokens=deviations[0],
            mean_characters=means[1],
            deviation_characters=deviations[1],
            idf=float(count @ rarity(self._numbers)) / total if total else None,
            entropy=entropy(count) if total else None,
            trigram_entropy=self._trigrams.entropy(),
            repetition=repetition,
            trigram_repetition=trigram_repetition,
            counted=self._trigrams.share,
        )

    def sentence_statistics(self, rarity: Rarity) -> np.ndarray:
        """Return the statistics of each sentence, ``(6, n) float32``; rows: `SENTENCE_STATISTICS`.

        0 if a sentence has no data, for example no trigram in a sentence of two tokens. Raises
        ValueError unless they were kept.
        """
        if self._kept is None:
            raise ValueError("the statistics of sentences were not kept; pass keep=True")
        count = self._count[: len(self._numbers)]
        by_token = rarity(self._numbers), np.log2(max(1, count.sum()) / count)
        statistics = np.zeros((len(SENTENCE_STATISTICS), self.sentences), dtype=np.float32)
        tokens, known = (buffer.array() for buffer in self._kept)
        lengths, *others = known.reshape(-1, 5).T
        statistics[[0, 1, 4, 5]] = others
        done = 0
        for start in range(0, self.sentences, BLOCK):
            block, length = statistics[:, start : start + BLOCK], lengths[start : start + BLOCK]
            row = np.repeat(np.arange(len(length)), length.astype(np.int64))
            token, done = tokens[done : done + len(row)], done + len(row)
            for field, values in zip((2, 3), by_token, strict=True):
                sums = np.bincount(row, weights=values[token], minlength=block.shape[1])
                block[field] = sums / np.maximum(length, 1)
        return statistics


def correlations(score: np.ndarray, statistics: np.ndarray) -> dict[str, float | None]:
    """Correlate ``score (n,)`` with each row of ``statistics (6, n)``: Spearman's, by name.

    The names are `SENTENCE_STATISTICS`. None where either is constant or n is 0.
    """

    def correlation(row: np.ndarray) -> float | None:
        if not len(score) or score.min() == score.max() or row.min() == row.max():
            return None
        return value_of(spearman(score, row), len(score))

    return dict(zip(SENTENCE_STATISTICS, map(correlation, statistics), strict=True))
