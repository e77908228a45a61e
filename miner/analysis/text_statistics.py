"""Figures of a text and of its sentences: length, rarity, entropy, repetition; and correlations.

Wieting, Mallinson & Gimpel 2017 (section 6) compare references with their back-translations by
such figures, and scores of pairs with those of their sentences. Tokens are those of `miner.text.words`:
words, marks and, of scripts without spaces, characters; in lower case. What the figures are, of a
whole text or of one sentence of it:

- idf: the mean over its tokens of ln(sentences of the text / sentences with the token). High for
  rare words.
- entropy, of a text alone: the mean over its tokens of -log2(count of the token / all tokens), in
  bits; of trigrams likewise. High for a rich vocabulary. It grows with the text, so compare texts
  of one size. The mean over the tokens of one sentence is that sentence's surprisal.
- repetition: the share of its tokens that stand earlier in their sentence too, among tokens of at
  least 3 characters. trigram_repetition: that of all trigrams, three tokens in a row.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice

import numpy as np

from miner.text.counts import Counts, entropy, hash_of
from miner.text.output import resource_error
from miner.text.words import tokens

# The figures of a sentence, in the order of the rows of `Side.sentences`.
SENTENCE = ("tokens", "characters", "idf", "surprisal", "repetition", "trigram_repetition")
# The shortest token whose repetition counts: shorter ones are mostly articles and the like.
LONG = 3
# Distinct trigrams that are counted, each, which takes some 170 MB; of more, a share is.
TRIGRAMS = 1 << 23
# What is kept of sentences beyond this many bytes goes to a temporary file.
HELD = 1 << 26
# Figures that are compared as target / source; the others as target - source.
RATIOS = ("sentences", "tokens", "types", "mean_tokens", "mean_characters")


@dataclass(frozen=True)
class Figures:
    """Figures of a whole text; the head of the module says what they are.

    sentences, tokens, types: how many; types are distinct tokens. mean_tokens, mean_characters: of
    a sentence, white space at its ends aside. idf, entropy, trigram_entropy, repetition,
    trigram_repetition: over all of its tokens and trigrams. counted: the share of rare trigrams
    that were counted, 1 where the trigram entropy is exact and less where it is an estimate.

    A figure of nothing, such as the repetition in a text without long tokens, is None.
    """

    sentences: int
    tokens: int
    types: int
    mean_tokens: float | None
    mean_characters: float | None
    idf: float | None
    entropy: float | None
    trigram_entropy: float | None
    repetition: float | None
    trigram_repetition: float | None
    counted: float

    def as_dict(self) -> dict[str, float | int | None]:
        """The fields by name, in order, ready for JSON."""
        return asdict(self)

    def against(self, other: Figures) -> dict[str, float | None]:
        """How these compare with those of a source: ratios of `RATIOS`, differences of others.

        None where either is None, or a ratio is to 0.
        """
        found: dict[str, float | None] = {}
        there = other.as_dict()
        for name, mine in self.as_dict().items():
            theirs = there[name]
            if mine is None or theirs is None or (name in RATIOS and not theirs):
                found[name] = None
            else:
                found[name] = mine / theirs if name in RATIOS else mine - theirs
        del found["counted"]
        return found


class Side:
    """One side of a bitext, or any text, counted as it is read.

    keep: keep what the figures of each sentence take: 4 bytes a token and 16 a sentence, which
        go to a temporary file beyond 64 MB. trigrams: how many distinct ones are counted.

    Else memory grows with the distinct tokens alone. It is a context manager, whose end removes
    the temporary file.
    """

    def __init__(self, keep: bool = False, trigrams: int = TRIGRAMS) -> None:
        self._numbers: dict[str, int] = {}
        # Of each token: whether it is long, how often it occurs, and in how many sentences.
        self._long = np.zeros(0, dtype=bool)
        self._count = np.zeros(0, dtype=np.int64)
        self._holders = np.zeros(0, dtype=np.int64)
        self._trigrams = Counts(trigrams)
        self._sentences = self._characters = 0
        # Of long tokens and of trigrams: how many there are, and how many of them repeat one.
        self._every = np.zeros(2, dtype=np.int64)
        self._repeated = np.zeros(2, dtype=np.int64)
        self._file = tempfile.SpooledTemporaryFile(HELD) if keep else None  # noqa: SIM115
        self._blocks: list[tuple[int, int]] = []  # sentences and tokens of what the file holds

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, texts: Sequence[str]) -> None:
        """Count n more sentences; raises ResourceError where the temporary file has no room."""
        n = len(texts)
        lengths, token = self._tokens(texts)
        row = np.repeat(np.arange(n), lengths)
        characters = np.array([len(text.strip()) for text in texts], dtype=np.int64)

        # What is distinct in its sentence.
        size = len(self._numbers)
        pairs, count = np.unique(row * size + token, return_counts=True)
        holder, kind = np.divmod(pairs, max(1, size))
        np.add.at(self._count, kind, count)
        np.add.at(self._holders, kind, 1)

        # A trigram stands where the token after the next is of the same sentence.
        start = np.flatnonzero(row[2:] == row[:-2])
        trigram = hash_of(token[start], token[start + 1], token[start + 2])
        self._trigrams.add(trigram)
        _, first = np.unique(hash_of(trigram, row[start]), return_index=True)

        def of_rows(rows: np.ndarray) -> np.ndarray:
            return np.bincount(rows, minlength=n)

        every = np.stack([of_rows(row[self._long[token]]), of_rows(row[start])])
        distinct = np.stack([of_rows(holder[self._long[kind]]), of_rows(row[start[first]])])
        self._sentences += n
        self._characters += int(characters.sum())
        self._every += every.sum(axis=1)
        self._repeated += (every - distinct).sum(axis=1)
        if self._file is not None:
            repetition = (every - distinct) / np.maximum(every, 1)
            figures = np.stack([lengths, characters, *repetition]).astype(np.float32)
            self._keep(figures, token.astype(np.int32))

    def figures(self) -> Figures:
        """The figures of all that was added."""
        count = self._count[: len(self._numbers)]
        total = int(count.sum())
        repetition, trigram_repetition = (
            float(repeated / every) if every else None
            for repeated, every in zip(self._repeated, self._every, strict=True)
        )
        return Figures(
            sentences=self._sentences,
            tokens=total,
            types=len(count),
            mean_tokens=total / self._sentences if self._sentences else None,
            mean_characters=self._characters / self._sentences if self._sentences else None,
            idf=float(count @ self._idf()) / total if total else None,
            entropy=entropy(count) if total else None,
            trigram_entropy=self._trigrams.entropy(),
            repetition=repetition,
            trigram_repetition=trigram_repetition,
            counted=self._trigrams.share,
        )

    def sentences(self) -> np.ndarray:
        """The figures of each sentence, ``(6, n) float32``: the rows are those of `SENTENCE`.

        0 where there is nothing to have the figure, such as a trigram in a sentence of two tokens.
        Raises ValueError where they were not kept.
        """
        if self._file is None:
            raise ValueError("the figures of sentences were not kept; pass keep=True")
        count = self._count[: len(self._numbers)]
        by_token = self._idf(), np.log2(max(1, count.sum()) / count)
        found = np.zeros((len(SENTENCE), self._sentences), dtype=np.float32)
        done = 0
        self._file.seek(0)
        for rows, size in self._blocks:
            known = np.frombuffer(self._file.read(16 * rows), np.float32).reshape(4, rows)
            token = np.frombuffer(self._file.read(4 * size), np.int32)
            row = np.repeat(np.arange(rows), known[0].astype(np.int64))
            block = found[:, done : done + rows]
            block[[0, 1, 4, 5]] = known
            for place, values in zip((2, 3), by_token, strict=True):
                sums = np.bincount(row, weights=values[token], minlength=rows)
                block[place] = sums / np.maximum(known[0], 1)
            done += rows
        return found

    def _tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """How many tokens each text has, and the numbers of all of them, new ones included."""
        numbers = self._numbers
        before = len(numbers)
        rows = [[numbers.setdefault(token, len(numbers)) for token in tokens(t)] for t in texts]
        size = len(numbers)
        if size > len(self._count):
            more = max(size, 2 * len(self._count)) - len(self._count)
            self._long = np.append(self._long, np.zeros(more, dtype=bool))
            self._count = np.append(self._count, np.zeros(more, dtype=np.int64))
            self._holders = np.append(self._holders, np.zeros(more, dtype=np.int64))
        newest_first = islice(reversed(numbers), size - before)
        self._long[before:size] = [len(token) >= LONG for token in newest_first][::-1]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        return lengths, np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))

    def _keep(self, figures: np.ndarray, token: np.ndarray) -> None:
        assert self._file is not None
        self._blocks.append((figures.shape[1], len(token)))
        try:
            self._file.write(figures.tobytes() + token.tobytes())
        except OSError as error:
            raise resource_error(error, tempfile.gettempdir()) from error

    def _idf(self) -> np.ndarray:
        return np.log(self._sentences / self._holders[: len(self._numbers)])


def correlations(score: np.ndarray, figures: np.ndarray) -> dict[str, float | None]:
    """Spearman's correlation of ``score (n,)`` with each row of ``figures (6, n)``, by `SENTENCE`.

    None where it is not defined: either has one value throughout.
    """
    scores = ranks(score)

    def correlation(figure: np.ndarray) -> float | None:
        if not len(score) or score.min() == score.max() or figure.min() == figure.max():
            return None
        return pearson(scores, ranks(figure))

    return dict(zip(SENTENCE, map(correlation, figures), strict=True))


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's correlation of ``x (n,)`` and ``y (n,)``, n >= 1; 0 where either is constant."""
    x, y = (values - values.mean() for values in (x.astype(np.float64), y.astype(np.float64)))
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale else 0.0


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's: Pearson's of the ranks."""
    return pearson(ranks(x), ranks(y))


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each, from 1, equal values sharing the mean of theirs: ``(n,) float64``."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]
