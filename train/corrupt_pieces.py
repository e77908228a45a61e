"""Corruptions of token ids, in any language: words dropped, added, replaced, moved.

The comparer learns from them (:mod:`miner_train.learn_comparer`). They need no grammar and no word
list: words are runs of pieces, and a word's opposites are among its neighbours in the embedding.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from miner.encoder.pieces import SPACE_MARK, PieceTokenizer

# Number of neighbours that may replace a piece, and pieces compared at a time.
NEIGHBOURS, BLOCK = 10, 1024
# Share of a piece's occurrences on one side from which it counts as a piece of that side's
# languages.
OWN_SIDE = 0.8
# Maximum number of pieces, the most frequent ones, for which neighbours are computed.
FREQUENT = 5_000

Ids = list[int]


class CorruptionPieces:
    """Vocabulary with the data for corruptions: word starts, and neighbours in the same languages.

    ``counts (2, V)`` are the occurrences of each piece on the two sides of the text. ``near (V,
    NEIGHBOURS) int32`` are rows of neighbours, -1 for pieces without any.
    """

    def __init__(self, tokenizer: PieceTokenizer, table: np.ndarray, counts: np.ndarray):
        names = [tokenizer.processor.id_to_piece(piece) for piece in range(tokenizer.size)]
        self.starts = np.array([begins_word(name) for name in names])
        words = np.array([name.strip(SPACE_MARK).isalpha() for name in names]) & self.starts
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        share = share[1] / np.maximum(share.sum(axis=0), 1e-12)  # (V,) share on the target side
        self.near = np.full((len(names), NEIGHBOURS), -1, dtype=np.int32)
        every = counts.sum(axis=0)
        for mask in (share >= OWN_SIDE, share <= 1 - OWN_SIDE):
            rows = np.flatnonzero(mask & words & (every > 0))
            rows = rows[np.argsort(-every[rows], kind="stable")[:FREQUENT]]
            if len(rows) <= NEIGHBOURS:
                continue
            unit = table[rows] / np.maximum(np.linalg.norm(table[rows], axis=1), 1e-9)[:, None]
            for first in range(0, len(rows), BLOCK):
                alike = unit[first : first + BLOCK] @ unit.T
                row = np.arange(len(alike))
                alike[row, first + row] = -np.inf
                best = np.argpartition(-alike, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
                self.near[rows[first : first + BLOCK]] = rows[best]

    def words(self, ids: Ids) -> list[Ids]:
        """Split token ids into words. The first id always begins a word."""
        split: list[Ids] = []
        for token in ids:
            if not split or self.starts[token]:
                split.append([token])
            else:
                split[-1].append(token)
        return split


def begins_word(piece: str) -> bool:
    """Return True if a piece starts a word: after a space, or in a script without spaces."""
    return piece.startswith(SPACE_MARK) or any("\u3040" <= letter <= "\u9fff" for letter in piece)


def corrupt_pieces(
    sentence: Ids, other: Ids, partner: Ids, pieces: CorruptionPieces, generator: random.Random
) -> Ids | None:
    """Corrupt a sentence by a random operation; None if the operation does not apply.

    ``other`` is another sentence of the same languages, ``partner`` the sentence's translation.
    """
    operation = generator.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
    words = operation(Case(pieces.words(sentence), other, partner, pieces, generator))
    corrupted = [token for word in words or () for token in word]
    return corrupted if corrupted and corrupted != sentence else None


@dataclass(frozen=True)
class Case:
    """Sentence to corrupt, as words; its methods return the new words, or None if not
    applicable.
    """

    words: list[Ids]
    other: Ids
    partner: Ids
    pieces: CorruptionPieces
    generator: random.Random

    def dropped(self) -> list[Ids] | None:
        size = min(self.generator.choice((1, 1, 1, 2, 2, 3, 4, 6)), len(self.words) - 2)
        if size < 1:
            return None
        start = self.generator.randrange(len(self.words) - size + 1)
        return self.words[:start] + self.words[start + size :]

    def inserted(self) -> list[Ids]:
        others = self.pieces.words(self.other)
        size = min(self.generator.choice((1, 1, 1, 1, 2, 3, 5)), len(others))
        first = self.generator.randrange(len(others) - size + 1)
        position = self.generator.randrange(len(self.words) + 1)
        return self.words[:position] + others[first : first + size] + self.words[position:]

    def neighbour(self) -> list[Ids] | None:
        """Replace one or two single-piece words with neighbours in the embedding."""
        near, words = self.pieces.near, list(self.words)
        places = [i for i, word in enumerate(words) if len(word) == 1 and near[word[0], 0] >= 0]
        if not places:
            return None
        count = min(len(places), self.generator.choice((1, 1, 1, 2)))
        for position in self.generator.sample(places, count):
            words[position] = [int(near[words[position][0], self.generator.randrange(NEIGHBOURS)])]
        return words

    def neighbour_inserted(self) -> list[Ids] | None:
        """Insert a neighbour of a word next to another word."""
        known = [token for word in self.words for token in word if self.pieces.near[token, 0] >= 0]
        if not known:
            return None
        position = self.generator.randrange(len(self.words) + 1)
        row, column = self.generator.choice(known), self.generator.randrange(NEIGHBOURS)
        return [
            *self.words[:position],
            [int(self.pieces.near[row, column])],
            *self.words[position:],
        ]

    def foreign_word(self) -> list[Ids]:
        """Replace a word with a word of another sentence."""
        new = self.generator.choice(self.pieces.words(self.other))
        position = self.generator.randrange(len(self.words))
        return [*self.words[:position], new, *self.words[position + 1 :]]

    def swapped(self) -> list[Ids] | None:
        if len(self.words) < 4:
            return None
        words = list(self.words)
        first, second = self.generator.sample(range(len(words)), 2)
        words[first], words[second] = words[second], words[first]
        return words

    def untranslated(self) -> list[Ids]:
        """Replace a word with the word at the same position in the partner."""
        words, others = self.words, self.pieces.words(self.partner)
        position = self.generator.randrange(len(words))
        there = position * len(others) // len(words) + self.generator.choice((-1, 0, 0, 1))
        new = others[min(max(there, 0), len(others) - 1)]
        return [*words[:position], new, *words[position + 1 :]]

    def half(self) -> list[Ids]:
        others = self.pieces.words(self.other)
        return self.words[: len(self.words) // 2] + others[len(others) // 2 :]

    def shuffled(self) -> list[Ids]:
        words = list(self.words)
        self.generator.shuffle(words)
        return words

    def repeated(self) -> list[Ids]:
        position = self.generator.randrange(len(self.words) + 1)
        return [*self.words[:position], self.generator.choice(self.words), *self.words[position:]]

    def copied(self) -> list[Ids]:
        return [self.partner]


# Operations with their weights.
OPERATIONS: dict[Callable[[Case], list[Ids] | None], int] = {
    Case.dropped: 16,
    Case.inserted: 10,
    Case.neighbour: 24,
    Case.neighbour_inserted: 8,
    Case.foreign_word: 10,
    Case.swapped: 10,
    Case.untranslated: 8,
    Case.half: 4,
    Case.shuffled: 4,
    Case.repeated: 3,
    Case.copied: 2,
}
