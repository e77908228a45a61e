"""Examples for the comparer: translations, each with similar wrong pairs.

A wrong pair is a nearest neighbour in either direction, the translation with one changed fact in
its English, or a corruption of the token ids of either side, which needs no English
(:mod:`miner_train.corrupt_pieces`).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from miner.encoder.encoder import Encoder
from miner.encoder.lexicon import Lexicon
from miner.encoder.pieces import PieceTokenizer
from miner.kernels.aligned import COLUMNS
from miner.ragged import offsets_of
from miner.scoring.comparer import Matching, describe_pairs
from miner.scoring.pair_features import TokenTable
from miner.text.corruptions import KINDS, Material, corrupt
from miner_train.corrupt_pieces import CorruptionPieces, Ids, corrupt_pieces

# Wrong pairs per right pair, how many of them at most by rules of English, and share of corruptions
# in the target.
WRONG, BY_RULE, IN_TARGET = 5, 2, 0.7
# Minimum and maximum tokens of a sentence to learn from.
SHORTEST, LONGEST = 3, 80
# Share of pairs joined to the next one: much training text has short sentences, web text does not.
JOINED = 0.25
# Sentences among which a pair's nearest neighbours are searched, and number of neighbours drawn
# from.
POOL, NEAREST = 2000, 3
# Pairs of a text sampled for its names, clauses and token frequencies.
SAMPLE = 20_000
# Share of token ids masked as unknown at a time: new text has words that the training never saw.
UNKNOWN = 0.1


@dataclass(frozen=True, eq=False)
class Examples:
    """Pairs in groups of one right pair and ``WRONG`` wrong ones, with described tokens.

    ``starts (p + 1,) int64`` are offsets of the pairs, ``sizes (p,) int64`` the tokens of their
    first sides; ``ids (t, 4) int32`` and ``numbers (t, COLUMNS) float32`` describe the tokens as
    :func:`miner.scoring.comparer.describe_pairs` does, except that the vocabulary's size is the id
    of a missing or unknown token.
    """

    starts: np.ndarray
    sizes: np.ndarray
    ids: np.ndarray
    numbers: np.ndarray

    @property
    def groups(self) -> int:
        """Number of right pairs."""
        return len(self.sizes) // (WRONG + 1)


class ExampleMaker:
    """Generator of examples from the text of one pair of languages.

    ``text``: source and target sentences, translations by position; ``tokens``: with the lexicon of
    their languages; ``matching``: arrays that describe how well tokens are matched. The encoder
    reads pieces.
    """

    def __init__(
        self,
        encoder: Encoder,
        tokens: TokenTable,
        matching: Matching,
        text: tuple[Sequence[str], Sequence[str]],
        seed: int,
    ):
        assert isinstance(encoder.tokenizer, PieceTokenizer)
        assert encoder.model.verifying is not None
        self.encoder, self.tokens, self.text = encoder, tokens, text
        self.matching = matching
        self.tokenizer = encoder.tokenizer
        count = len(text[0])
        rows = random.Random(seed).sample(range(count), min(count, SAMPLE))
        sample = [[side[row] for row in rows] for side in text]
        counts = [
            np.bincount(self.tokenizer(side)[0], minlength=self.tokenizer.size) for side in sample
        ]
        table = encoder.model.verifying.table()
        self.pieces = CorruptionPieces(self.tokenizer, table, np.stack(counts))
        self.material = Material.of(sample[1])

    def __call__(self, rows: Sequence[int], generator: random.Random) -> Examples:
        """Generate examples of the pairs ``rows``; pairs that are too short or too long have
        none.
        """
        sides: list[list[str]] = [[], []]
        left = [[side[row] for row in rows] for side in self.text]
        position = 0
        while position < len(rows):
            more = position + 1 < len(rows) and generator.random() < JOINED
            for side, sentences in zip(sides, left, strict=True):
                side.append(" ".join(sentences[position : position + 1 + more]))
            position += 1 + more
        lists = [_lists(self.tokenizer, side) for side in sides]
        usable = [
            row
            for row in range(len(sides[0]))
            if all(SHORTEST <= len(side[row]) <= LONGEST for side in lists)
        ]
        near = _nearest(self.encoder, sides, usable)
        ruled = self._by_rules(sides[1], list(near), generator)
        pairs = [
            pair
            for row in near
            for pair in self._group(row, near[row], ruled[row], lists, generator)
        ]
        source, target = (_ragged([pair[side] for pair in pairs]) for side in range(2))
        drawn = np.random.default_rng(generator.getrandbits(64)).random(self.tokenizer.size)
        unknown = drawn < UNKNOWN
        aligner, surprise = self.matching
        # Id 0 represents characters without a piece and otherwise never occurs.
        surprise = np.where(unknown[:, None], surprise[:1], surprise)
        tokens = self.tokens.with_lexicon(forgetting(self.tokens.lexicon, unknown))
        starts, ids, numbers = describe_pairs(tokens, (aligner, surprise), source, target)
        ids[(ids < 0) | unknown[ids]] = self.tokenizer.size
        return Examples(starts, np.diff(source[1]), ids, numbers)

    def _group(
        self,
        row: int,
        others: list[int],
        ruled: list[Ids],
        lists: list[list[Ids]],
        generator: random.Random,
    ) -> list[tuple[Ids, Ids]]:
        """Return the right pair of a row and its wrong pairs; empty if there are too few."""
        source, target = lists[0][row], lists[1][row]
        wrong = [(source, new) for new in ruled]
        other = generator.choice(others)
        if generator.random() < 0.5:
            wrong.append((source, lists[1][other]))
        else:
            wrong.append((lists[0][other], target))
        for _ in range(10 * WRONG):
            if len(wrong) >= WRONG:
                break
            other = generator.choice(others)
            if generator.random() < IN_TARGET:
                new = corrupt_pieces(target, lists[1][other], source, self.pieces, generator)
                wrong += [(source, new)] if new else []
            else:
                new = corrupt_pieces(source, lists[0][other], target, self.pieces, generator)
                wrong += [(new, target)] if new else []
        return [(source, target), *wrong[:WRONG]] if len(wrong) >= WRONG else []

    def _by_rules(
        self, sentences: Sequence[str], rows: Sequence[int], generator: random.Random
    ) -> dict[int, list[Ids]]:
        """Corrupt sentences by rules of English; few of them apply to other languages."""
        corrupted: list[tuple[int, str]] = []
        for row in rows:
            kinds = generator.sample(list(KINDS), 2 * BY_RULE)
            texts = [corrupt(sentences[row], kind, self.material, generator) for kind in kinds]
            corrupted += [(row, text) for text in texts if text is not None][:BY_RULE]
        tokens = dict(
            zip(rows, _lists(self.tokenizer, [sentences[row] for row in rows]), strict=True)
        )
        out: dict[int, list[Ids]] = {row: [] for row in rows}
        for (row, _), ids in zip(
            corrupted, _lists(self.tokenizer, [new for _, new in corrupted]), strict=True
        ):
            # Texts that differ only in capitals or unknown characters have the same tokens.
            if ids and ids != tokens[row]:
                out[row].append(ids)
        return out


def forgetting(lexicon: Lexicon, unknown: np.ndarray) -> Lexicon:
    """Return a lexicon without the ``unknown (V,) bool`` token ids on either side."""
    rows = np.repeat(np.arange(lexicon.size), np.diff(lexicon.offsets))
    kept = ~(unknown[rows] | unknown[lexicon.pieces])
    offsets = offsets_of(np.bincount(rows[kept], minlength=lexicon.size))
    pieces, probability = lexicon.pieces[kept], lexicon.probability[kept]
    return replace(lexicon, offsets=offsets, pieces=pieces, probability=probability)


def joined(parts: Sequence[Examples]) -> Examples:
    """Concatenate examples; there may be none."""
    none = np.empty(0, dtype=np.int64)
    counts = [none, *(np.diff(part.starts) for part in parts)]
    return Examples(
        offsets_of(np.concatenate(counts)),
        np.concatenate([none, *(part.sizes for part in parts)]),
        np.concatenate([np.empty((0, 4), np.int32), *(part.ids for part in parts)]),
        np.concatenate([np.empty((0, COLUMNS), np.float32), *(part.numbers for part in parts)]),
    )


def _nearest(
    encoder: Encoder, text: Sequence[Sequence[str]], rows: Sequence[int]
) -> dict[int, list[int]]:
    """Find near sentences in both directions for each pair, within pools of `POOL` pairs.

    A neighbour shares neither side with the pair. Pairs without a neighbour are omitted.
    """
    out: dict[int, list[int]] = {}
    for first in range(0, len(rows), POOL):
        pool = list(rows[first : first + POOL])
        if len(pool) <= NEAREST:
            continue
        vectors = [encoder.encode([side[row] for row in pool]) for side in text]
        alike = vectors[0] @ vectors[1].T  # (n, n)
        np.fill_diagonal(alike, -np.inf)
        best = [
            np.argpartition(-matrix, NEAREST - 1, axis=1)[:, :NEAREST].tolist()
            for matrix in (alike, alike.T)
        ]
        for position, row in enumerate(pool):
            near = [pool[other] for matrix in best for other in matrix[position]]
            others = [other for other in near if all(side[other] != side[row] for side in text)]
            if others:
                out[row] = others
    return out


def _lists(tokenizer: PieceTokenizer, sentences: Sequence[str]) -> list[Ids]:
    ids, offsets = tokenizer(sentences)
    every, ends = ids.tolist(), offsets.tolist()
    return [every[start:end] for start, end in zip(ends, ends[1:], strict=False)]


def _ragged(lists: Sequence[Ids]) -> tuple[np.ndarray, np.ndarray]:
    offsets = offsets_of(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)))
    flat = np.fromiter((token for ids in lists for token in ids), np.int32, count=offsets[-1])
    return flat, offsets
