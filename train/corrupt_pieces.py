"""Corruptions of sentences as token ids, in any language: words dropped, added, exchanged, moved.

The comparer learns from them (:mod:`miner_train.learn_comparer`). They need no grammar and no word
list: words are runs of pieces, and a word's opposites are among its neighbours in the embedding.
"""

import random
from collections.abc import Callable, Sequence

import numpy as np

from miner.encoder.pieces import SPACE_MARK, PieceTokenizer

# Neighbours of a piece that it is exchanged for, and pieces compared at a time.
NEIGHBOURS, BLOCK = 10, 1024
# Share of a piece's occurrences on one side from which it belongs to that side's languages.
OWN_SIDE = 0.8
# Most pieces whose neighbours are looked up, the most frequent ones.
FREQUENT = 5_000

Ids = list[int]
# operation(own, other, partner, pieces, generator): new ids, None where it does not apply.
Operation = Callable[[Ids, Ids, Ids, "Pieces", random.Random], Ids | None]


class Pieces:
    """Knowledge of a vocabulary's pieces: word starts, and neighbours in the same languages.

    ``counts (2, V)`` are the occurrences of each piece on the two sides of the text. ``near (V,
    NEIGHBOURS) int32`` are rows of neighbours, -1 for pieces without.
    """

    def __init__(self, tokenizer: PieceTokenizer, table: np.ndarray, counts: np.ndarray):
        names = [tokenizer.processor.id_to_piece(piece) for piece in range(tokenizer.size)]
        self.starts = np.array([begins_word(name) for name in names])
        words = np.array([name.strip(SPACE_MARK).isalpha() for name in names]) & self.starts
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        share = share[1] / np.maximum(share.sum(axis=0), 1e-12)  # (V,) of the target side
        self.near = np.full((len(names), NEIGHBOURS), -1, dtype=np.int32)
        every = counts.sum(axis=0)
        for own in (share >= OWN_SIDE, share <= 1 - OWN_SIDE):
            rows = np.flatnonzero(own & words & (every > 0))
            rows = rows[np.argsort(-every[rows], kind="stable")[:FREQUENT]]
            if len(rows) <= NEIGHBOURS:
                continue
            unit = table[rows] / np.maximum(np.linalg.norm(table[rows], axis=1), 1e-9)[:, None]
            for first in range(0, len(rows), BLOCK):
                alike = unit[first : first + BLOCK] @ unit.T
                own_place = np.arange(len(alike))
                alike[own_place, first + own_place] = -np.inf
                best = np.argpartition(-alike, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
                self.near[rows[first : first + BLOCK]] = rows[best]

    def words(self, ids: Ids) -> list[Ids]:
        """Split token ids into words. The first word begins with the first id."""
        found: list[Ids] = []
        for token in ids:
            if not found or self.starts[token]:
                found.append([token])
            else:
                found[-1].append(token)
        return found


def begins_word(piece: str) -> bool:
    """Tell if a piece is the first of a word: after a space, or in a script without spaces."""
    return piece.startswith(SPACE_MARK) or any("\u3040" <= letter <= "\u9fff" for letter in piece)


def corrupt_pieces(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    """Corrupt a sentence by an operation drawn at random; None where that one does not apply.

    ``other`` is another sentence of the same languages, ``partner`` the sentence's translation.
    """
    operation = generator.choices(OPERATIONS, WEIGHTS)[0]
    found = operation(own, other, partner, pieces, generator)
    return found if found and found != own else None


def _flat(words: Sequence[Ids]) -> Ids:
    return [token for word in words for token in word]


def _dropped(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    words = pieces.words(own)
    size = min(generator.choice((1, 1, 1, 2, 2, 3, 4, 6)), len(words) - 2)
    if size < 1:
        return None
    place = generator.randrange(len(words) - size + 1)
    return _flat(words[:place] + words[place + size :])


def _inserted(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    words, others = pieces.words(own), pieces.words(other)
    size = min(generator.choice((1, 1, 1, 1, 2, 3, 5)), len(others))
    first = generator.randrange(len(others) - size + 1)
    place = generator.randrange(len(words) + 1)
    return _flat(words[:place] + others[first : first + size] + words[place:])


def _neighbour(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    """Exchange one or two words of one piece for neighbours in the embedding."""
    words = pieces.words(own)
    places = [
        place for place, word in enumerate(words) if len(word) == 1 and pieces.near[word[0], 0] >= 0
    ]
    if not places:
        return None
    for place in generator.sample(places, min(len(places), generator.choice((1, 1, 1, 2)))):
        words[place] = [int(pieces.near[words[place][0], generator.randrange(NEIGHBOURS)])]
    return _flat(words)


def _neighbour_inserted(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    """Insert a neighbour of one of the words beside another word."""
    near = [token for token in own if pieces.near[token, 0] >= 0]
    if not near:
        return None
    words = pieces.words(own)
    place = generator.randrange(len(words) + 1)
    new = int(pieces.near[generator.choice(near), generator.randrange(NEIGHBOURS)])
    return _flat([*words[:place], [new], *words[place:]])


def _foreign_word(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    """Exchange a word for a word of another sentence."""
    words = pieces.words(own)
    words[generator.randrange(len(words))] = generator.choice(pieces.words(other))
    return _flat(words)


def _swapped(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    words = pieces.words(own)
    if len(words) < 4:
        return None
    one, two = generator.sample(range(len(words)), 2)
    words[one], words[two] = words[two], words[one]
    return _flat(words)


def _untranslated(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    """Exchange a word for the one at its place in the partner."""
    words, others = pieces.words(own), pieces.words(partner)
    place = generator.randrange(len(words))
    there = place * len(others) // len(words) + generator.choice((-1, 0, 0, 1))
    words[place] = others[min(max(there, 0), len(others) - 1)]
    return _flat(words)


def _half(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    words, others = pieces.words(own), pieces.words(other)
    return _flat(words[: len(words) // 2] + others[len(others) // 2 :])


def _shuffled(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    words = pieces.words(own)
    generator.shuffle(words)
    return _flat(words)


def _repeated(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    words = pieces.words(own)
    place = generator.randrange(len(words) + 1)
    return _flat([*words[:place], generator.choice(words), *words[place:]])


def _copied(
    own: Ids, other: Ids, partner: Ids, pieces: Pieces, generator: random.Random
) -> Ids | None:
    return list(partner)


OPERATIONS: tuple[Operation, ...] = (
    _dropped,
    _inserted,
    _neighbour,
    _neighbour_inserted,
    _foreign_word,
    _swapped,
    _untranslated,
    _half,
    _shuffled,
    _repeated,
    _copied,
)
WEIGHTS = (16, 10, 24, 8, 10, 10, 8, 4, 4, 3, 2)
