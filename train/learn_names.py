"""Model of letters, learned from bitext: how English names are spelled in other scripts.

There are no labels. An English name (capitalised, rarely written otherwise) and the foreign word
that occurs with it most form a pair of words; some pairs are transliterations, which expectation
maximisation finds (Sajjad et al. 2012). The learned model then finds each name in the foreign
sentence of its pair, and is learned again from these matches.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from miner.kernels.letters import HOPELESS, LONGEST, SHORTEST, WEIGHTS, find_all, hash_words
from miner.kernels.segments import FOREIGN_BITS, learn
from miner.scoring.transliteration import FIRST, codes_of, normalised, operations_of, spell
from miner_train.language_texts import LanguageText
from miner_train.learn_verifier import fit

# Maximum pairs of sentences of a language to learn from, and to weigh matches with.
PAIRS, WEIGHED = 60_000, 4_000
# Minimum share of letters outside Latin in a language whose names are learned.
FOREIGN = 0.5
# Excluded scripts, whose spelling says too little (benchmarks/LOG.md).
LEFT_OUT = re.compile("[\u0e00-\u0eff]")
# Share of a word's lower-case occurrences from which it is no name; minimum occurrences of a listed
# word.
USUAL, LISTED = 0.3, 2
# Minimum occurrences of a letter with a code.
SEEN = 3
# Minimum association (Dice's coefficient) of a name and a word; maximum rows of a name that are
# read.
ASSOCIATED, LOOKED_AT = 0.3, 200
# Han characters per letter of a name.
HAN = 0.42
# Rounds that find names with the learned model and learn from them again.
AGAIN = 2
# Maximum letters of a word, and of a run of letters in a script without spaces.
WORD, SEQUENCE = 24, 8
# Minimum gain of a match beyond chance to learn from it again.
SURE = 4.0

# Segments with their expected counts, and counts by chance.
Learned = tuple[np.ndarray, np.ndarray, np.ndarray]

_NAME = re.compile(r"(?<![^\W\d_])[A-ZÀ-ÖØ-Þ][^\W\d_]{2,}")
_USUAL = re.compile(r"\b[a-z]{3,}\b")
# Words: runs of Han, of katakana, or of other letters between spaces, without Latin letters.
_SPACELESS = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[\u3400-\u9fff]+|[\u30a1-\u30ff]+|[^ a-z{_SPACELESS}]+")
_HAN = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True)
class Spelled:
    """Sentences of one language with normalised letters, and the names in their translations."""

    foreign: list[str]
    names: list[list[str]]

    def words(self, row: int) -> set[str]:
        """Return the words of a sentence that may be a name's counterpart."""
        words = set()
        for word in _WORD.findall(self.foreign[row]):
            if not _HAN.match(word):
                words.add(word)
                continue
            for i in range(len(word) - 1):
                words.update(word[i:j] for j in range(i + 2, min(i + SEQUENCE, len(word)) + 1))
        return {word for word in words if 2 <= len(word) <= WORD}


def learn_names(texts: Sequence[LanguageText]) -> dict[str, np.ndarray]:
    """Learn the arrays of :class:`miner.scoring.transliteration.Names`.

    They are empty without English names in text with a language in another script.
    """
    sides = [_sides(text) for text in texts if "en" in text.languages]
    ordinary = _ordinary(english for _, english in sides)
    spelled = [
        names for foreign, english in sides if (names := _spelled(foreign, english, ordinary))
    ]
    counts = Counter(letter for text in spelled for sentence in text.foreign for letter in sentence)
    often = [
        letter
        for letter, count in counts.most_common()
        if count >= SEEN and not letter.isascii() and not LEFT_OUT.match(letter)
    ]
    letters = sorted(often[: (1 << FOREIGN_BITS) - FIRST])  # as many codes as a segment can hold
    codes = codes_of(np.array([*map(ord, letters)], dtype=np.uint32))
    learned = []
    for text in spelled:
        pairs = _associated(text)
        for _ in range(AGAIN):
            pairs = _found_again(text, codes, *merged([_learned(pairs, codes)])) if pairs else []
        if pairs:
            learned.append(_learned(pairs, codes))
    if not learned:
        return {}
    segments, gains = merged(learned)
    known = np.array([*map(ord, letters)], dtype=np.uint32), segments, gains.astype(np.float32)
    weights = _weights(spelled, codes, operations_of(*known))
    if not len(weights):
        return {}
    return {
        **dict(zip(("letters", "segments", "gains"), known, strict=True)),
        "ordinary": np.unique(_hashes(ordinary)),
        "weights": weights,
    }


def _sides(text: LanguageText) -> tuple[list[str], list[str]]:
    """Return foreign and English sentences of a text, an evenly spaced sample."""
    step = max(1, len(text.training[0]) // PAIRS)
    sides = [side[::step][:PAIRS] for side in text.training]
    return (sides[0], sides[1]) if text.languages[1] == "en" else (sides[1], sides[0])


def _latin(word: str) -> str:
    return "".join(latin for letter in word for latin in normalised(letter) if "a" <= latin <= "z")


def _names(sentence: str) -> list[str]:
    words = map(_latin, _NAME.findall(sentence))
    return [word for word in words if SHORTEST <= len(word) <= LONGEST]


def _ordinary(sides: Iterator[Sequence[str]]) -> set[str]:
    usual: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for side in sides:
        for sentence in side:
            usual.update(set(_USUAL.findall(sentence)))
            capital.update(set(_names(sentence)))
    return {
        word
        for word, count in usual.items()
        if count >= LISTED and count >= USUAL * (count + capital[word])
    }


def _spelled(foreign: Sequence[str], english: Sequence[str], ordinary: set[str]) -> Spelled | None:
    """Normalise a text; None if it is in Latin letters."""
    texts = ["".join(map(normalised, sentence)) for sentence in foreign]
    sample = "".join(texts[:: max(1, len(texts) // 200)]).replace(" ", "")
    other = sum(not (letter.isascii() or LEFT_OUT.match(letter)) for letter in sample)
    if other <= FOREIGN * len(sample):
        return None
    names = (
        [name for name in _names(there) if name not in ordinary and name not in here]
        for there, here in zip(english, texts, strict=True)
    )
    return Spelled(texts, list(names))


def _associated(text: Spelled) -> list[tuple[str, str]]:
    """Return pairs of a name and the foreign word most associated with it."""
    rows = defaultdict(list)
    for row, names in enumerate(text.names):
        for name in set(names):
            rows[name].append(row)
    words = {row: text.words(row) for row in set().union(*rows.values())} if rows else {}
    total = Counter(word for row_words in words.values() for word in row_words)
    pairs = []
    for name, places in rows.items():
        size = min(len(places), LOOKED_AT)
        counts = Counter(word for row in places[:size] for word in words[row])
        ranked = sorted(
            ((2 * n / (size + min(total[word], 10 * size)), word) for word, n in counts.items()),
            key=lambda item: (-item[0], item[1]),
        )
        if not ranked or ranked[0][0] < ASSOCIATED:
            continue
        if _HAN.match(ranked[0][1]):
            near = [word for value, word in ranked if value >= 0.9 * ranked[0][0]]
            usual = HAN * len(name)
            if size > 1:
                pairs.append((min(near, key=lambda word: abs(len(word) - usual)), name))
            continue
        least = min(0.99 * ranked[0][0], 0.5)
        pairs += [(word, name) for value, word in ranked[:4] if value >= least]
    return pairs


def _learned(pairs: Sequence[tuple[str, str]], codes: dict[str, int]) -> Learned:
    """Return the segments of pairs of words, with their expected counts, and counts by chance."""
    sides = [spell(side, codes) for side in zip(*pairs, strict=True)]
    segments, *shares, _ = learn(*((flat.astype(np.int64), offsets) for flat, offsets in sides))
    return segments, shares[0] * len(pairs), shares[1] * len(pairs)


def merged(learned: Sequence[Learned]) -> tuple[np.ndarray, np.ndarray]:
    """Return the segments of all languages, and their gains, ``(m,)``.

    Languages in one script share segments, weighted by the number of their pairs.
    """
    segments, *counts = (np.concatenate(column) for column in zip(*learned, strict=True))
    unique, ids = np.unique(segments, return_inverse=True)
    often, chance = (np.bincount(ids, count) for count in counts)
    return unique, np.log(often / chance)


def _found_again(
    text: Spelled, codes: dict[str, int], segments: np.ndarray, gains: np.ndarray
) -> list[tuple[str, str]]:
    """Return names with the words of their sentences that match them."""
    known = np.array([ord(letter) for letter in codes], dtype=np.uint32)
    names = [
        (row, name) for row, row_names in enumerate(text.names) for name in sorted(set(row_names))
    ]
    matches = _matches(text.foreign, names, codes, operations_of(known, segments, gains))
    pairs = set()
    for (row, name), (gain, start, end) in zip(names, matches.tolist(), strict=True):
        sentence, first, last = text.foreign[row], int(start), int(end)
        if gain - math.log(max(len(sentence), 1)) <= SURE or last - first < 2:
            continue
        for word in _WORD.finditer(sentence, sentence.rfind(" ", 0, first + 1) + 1):
            if word.start() <= first and last <= word.end():
                # A match must start a word, except in Han, and end near its end, except in scripts
                # without spaces.
                near = not _HAN.match(word.group()) and last - word.start() <= WORD
                start = word.start() if near else first
                pairs.add((sentence[start:last], name))
    return sorted(pairs)


def _matches(
    sentences: Sequence[str],
    names: Sequence[tuple[int, str]],
    codes: dict[str, int],
    operations: tuple[np.ndarray, ...],
) -> np.ndarray:
    """Return gain, start and end of each name's match in its sentence, ``(m, 3)``."""
    out = np.zeros((len(names), 3), dtype=np.float32)
    rows = np.array([row for row, _ in names], dtype=np.int64)
    words = spell([name for _, name in names], codes)
    find_all(spell(sentences, codes), words, rows, operations, out)
    return out


def _weights(
    texts: Sequence[Spelled], codes: dict[str, int], operations: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Fit the probability that a match is not by chance, from names in their sentence and in
    others.

    The weights are empty if no name can be looked for in another sentence.
    """
    values, true = [], []
    for text in texts:
        rows = [row for row, names in enumerate(text.names) if names]
        rows = rows[:: max(1, len(rows) // WEIGHED)][:WEIGHED]
        for shift in (0, len(rows) // 2):
            moved = rows[shift:] + rows[:shift]
            names = [
                (other, name)
                for row, other in zip(rows, moved, strict=True)
                for name in text.names[row]
                if row == other or name not in text.names[other]
            ]
            gain = _matches(text.foreign, names, codes, operations)[:, 0]
            size = np.array([len(text.foreign[row]) for row, _ in names], dtype=np.float64)
            length = np.array([len(name) for _, name in names], dtype=np.float64)
            high = np.maximum(gain, 0)
            values.append(
                np.stack(
                    [np.maximum(gain, HOPELESS), np.log(size + 1), length, high**2 / 10], axis=1
                )
            )
            true.append(np.full(len(names), shift == 0))
    columns, labels = ("gain", "size", "length", "square"), np.concatenate(true)
    if labels.all():
        return np.empty(0, dtype=np.float32)
    fitted = fit(np.concatenate(values).astype(np.float32), labels, columns)
    weight = fitted.weight
    weights = np.array([fitted.intercept - weight @ fitted.mean, *weight], dtype=np.float32)
    assert len(weights) == WEIGHTS
    return weights


def _hashes(words: set[str]) -> np.ndarray:
    flat, offsets = spell(sorted(words), {})
    out = np.empty(len(words), dtype=np.uint32)
    hash_words(flat, offsets, out)
    return out
