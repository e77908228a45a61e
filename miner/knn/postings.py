"""Retrieval of sentences by their tokens: an inverted index, queried across languages.

A query has the sentence's tokens, which retrieve names and numbers, and their translations by the
lexicon. It retrieves translations whose average vectors are far apart, which clusters miss.
"""

from dataclasses import dataclass

import numpy as np

from miner.arrays import Room
from miner.encoder.lexicon import Lexicon
from miner.kernels.inverted import count_holders, inverse_lengths, invert, retrieve
from miner.knn.matrix_threads import run_strips
from miner.knn.vector_set import VectorSet
from miner.ragged import offsets_of

# Tokens in more than this share of the sentences have no postings.
COMMON = 0.05
# Weight of a token itself in a query, and minimum probability of a translation in it.
OWN, PROBABLE = 0.5, 0.05
# Maximum postings read for a query, its rarest tokens first. Bounds the time of a query for any
# size of corpus.
BUDGET = 10_000
# Number of sentences that a query retrieves.
RETRIEVED = 64


# Token ids ``int32`` of the sentences of one side, and offsets ``(n + 1,) int64``: one list per row
# of the side's matrix of vectors, also for rows not selected.
SideTokens = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Frequency:
    """Document frequencies of a whole side: ``count (V,) int64`` of its ``size`` sentences."""

    count: np.ndarray
    size: int

    @classmethod
    def of(cls, side: SideTokens, base: VectorSet, vocabulary: int) -> "Frequency":
        """Count the sentences ``base`` of a side that hold each token of the vocabulary."""
        ids, offsets = map(np.asarray, side)
        return cls(count_holders(ids, offsets, base.rows, vocabulary), len(base))


class Postings:
    """Inverted index of one side: for each token the positions of the sentences that hold it.

    Tokens are weighted by inverse document frequency, log(n / n_y) for a token in n_y of n
    sentences. The index may cover a part of a side; ``frequency`` counts the whole side. So the
    best of all parts, by score and position, are the best of the whole.
    """

    def __init__(
        self,
        side: SideTokens,
        base: VectorSet,
        lexicon: Lexicon,
        room: Room,
        frequency: Frequency,
    ):
        lists = np.asarray(side[0]), np.asarray(side[1]), base.rows
        count = count_holders(*lists, len(lexicon.frequency))
        self.lexicon = lexicon
        common = frequency.count > max(1, COMMON * frequency.size)
        self.holders = np.where(common, 0, frequency.count)
        self.idf = np.log(frequency.size / np.maximum(self.holders, 1)).astype(np.float32)
        self.idf[self.holders == 0] = 0
        self.starts = offsets_of(np.where(self.holders == 0, 0, count))
        self.rows = room.empty(int(self.starts[-1]), np.int32)
        invert(*lists, self.starts, self.rows)
        self.inverse = np.empty(len(base), np.float32)
        inverse_lengths(*lists, self.idf, self.inverse)

    def search(
        self, side: SideTokens, rows: np.ndarray, width: int, threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions with the highest scores for the queries ``rows (q,)`` of ``side``.

        Returns ``(q, width) int32``, by score descending, then position, and the scores ``(q,
        width) float32``; -1 and -inf mark empty slots.
        """
        out = np.empty((len(rows), width), np.int32)
        scores = np.empty((len(rows), width), np.float32)
        table = self.lexicon.entries
        ids, offsets = map(np.asarray, side)

        def work(first: int, last: int) -> None:
            part = slice(first, last)
            retrieve(
                ids, offsets, rows[part], table, OWN, PROBABLE, self.idf, self.holders, self.starts,
                self.rows, self.inverse, BUDGET, out[part], scores[part],
            )  # fmt: skip

        run_strips(len(rows), threads, work)
        return out, scores
