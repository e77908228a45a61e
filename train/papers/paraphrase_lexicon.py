"""Paraphrase lexicon: pairs of words from paraphrases (P18, supplement).

P18 ranks pairs of words by adjusted pointwise mutual information (PMI): the PMI of occurring on
different sides of a paraphrase, minus the PMI of occurring in one sentence. Without the second term
"Hong" would be a paraphrase of "Kong".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from miner.errors import CorpusError
from miner.text.words import tokens

# Maximum words of a sentence, as in P18; pairs counted at a time.
LONGEST, BLOCK = 30, 1000


@dataclass(frozen=True)
class WordPair:
    """Word and a paraphrase of it, with a score.

    ``count``: number of pairs with the two on opposite sides.
    """

    word: str
    other: str
    score: float
    count: int


def adjusted_pmi(pairs: Sequence[tuple[str, str]], least: int = 10) -> list[WordPair]:
    """Rank pairs of words by adjusted PMI, in nats; pairs of a word are consecutive.

    ``least``: minimum number of pairs with two words on opposite sides (10 in P18's examples). A
    word counts once in a sentence, both directions of a paraphrase count, and PMI within sentences
    is the mean of both columns, as in P18. One is added to the counts within sentences, because
    synonyms often never share one. Raises CorpusError if no pair of words is frequent enough.
    """
    number: dict[str, int] = {}
    both: list[tuple[np.ndarray, np.ndarray]] = []
    for pair in pairs:
        words = [tokens(side) for side in pair]
        if all(0 < len(side_words) <= LONGEST for side_words in words):
            first, second = (
                np.unique(
                    [number.setdefault(word, len(number)) for word in side_words if word.isalnum()]
                )
                for side_words in words
            )
            if len(first) and len(second):
                both.append((first.astype(np.int64), second.astype(np.int64)))
    size, total = len(number), len(both)
    occurrences = [_occurrences((pair[side] for pair in both), size) for side in (0, 1)]
    across, counts = _counted(((a, b) for a, b in both), size)
    # Both directions: (u, v) and (v, u) are the same pair of words.
    keys = np.concatenate([across, across % size * size + across // size])
    keys, inverse = np.unique(keys, return_inverse=True)
    joint = np.bincount(inverse, np.tile(counts, 2), len(keys)).astype(np.int64)
    u, v = keys // size, keys % size
    kept = (joint >= least) & (u != v)
    if not kept.any():
        raise CorpusError(
            f"no two words stand {least} times on opposite sides; give more text, or a smaller "
            "--least"
        )
    keys, joint, u, v = keys[kept], joint[kept], u[kept], v[kept]
    share = (occurrences[0] + occurrences[1]) / (2 * total)
    score = np.log(joint / (2 * total) / (share[u] * share[v]))
    for side in (0, 1):
        within, times = _counted(((pair[side], pair[side]) for pair in both), size)
        score -= 0.5 * _pmi(_looked_up(within, times, keys), occurrences[side], u, v, total)
    names = np.array(list(number), dtype=object)
    ranked = [
        WordPair(str(names[a]), str(names[b]), float(s), int(n))
        for a, b, s, n in zip(u, v, score, joint, strict=True)
    ]
    return sorted(ranked, key=lambda pair: (pair.word, -pair.score, pair.other))


def _occurrences(sentences: Iterator[np.ndarray], size: int) -> np.ndarray:
    """Count the sentences that have each word: ``(size,) int64``."""
    every = list(sentences)
    return np.bincount(np.concatenate(every) if every else np.empty(0, np.int64), minlength=size)


def _counted(
    pairs: Iterator[tuple[np.ndarray, np.ndarray]], size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Count pairs of words: ascending keys ``u * size + v``, and the count of each."""
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    waiting: list[np.ndarray] = []

    def merged() -> tuple[np.ndarray, np.ndarray]:
        new, times = np.unique(np.concatenate(waiting), return_counts=True)
        every, inverse = np.unique(np.concatenate([keys, new]), return_inverse=True)
        weights = np.concatenate([counts, times])
        return every, np.bincount(inverse, weights, len(every)).astype(np.int64)

    for first, second in pairs:
        waiting.append(np.add.outer(first * size, second).ravel())
        if len(waiting) == BLOCK:
            keys, counts = merged()
            waiting.clear()
    return merged() if waiting else (keys, counts)


def _looked_up(keys: np.ndarray, counts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the counts of the wanted keys; 0 for missing keys."""
    positions = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[positions] == wanted, counts[positions], 0)


def _pmi(
    joint: np.ndarray, occurrences: np.ndarray, u: np.ndarray, v: np.ndarray, total: int
) -> np.ndarray:
    """Return the PMI of words within the sentences of one column, with add-one smoothing."""
    return np.log((joint + 1) * total / ((occurrences[u] + 1) * (occurrences[v] + 1)))
