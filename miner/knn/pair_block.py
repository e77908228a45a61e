"""Block of two sides in which chosen pairs are compared: int8 vectors, and the lists of both sides.

Similarities are exact integers and the order of merges does not matter, so the lists depend only on
the set of compared pairs.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from miner.kernels.fused import Pack
from miner.kernels.gather import gather, put_pairs, similarities
from miner.knn.engines import Int8Engine, round_int8
from miner.knn.lists import Lists
from miner.knn.matrix_threads import run_strips
from miner.knn.vector_set import VectorSet
from miner.machine import release_pages


@dataclass(frozen=True, eq=False)
class Codes:
    """int8 vectors of a side: see :mod:`miner.kernels.gather`."""

    codes: np.ndarray
    scale: np.ndarray
    correction: np.ndarray

    @staticmethod
    def shape(side: VectorSet) -> tuple[int, int]:
        return len(side), 4 * max(1, -(-side.vectors.shape[1] // 4))

    @classmethod
    def of(cls, side: VectorSet, codes: np.ndarray, threads: int, block: int) -> "Codes":
        """Round the vectors of a side to int8, into ``codes`` of :meth:`shape`."""
        n, width = codes.shape
        rounded = cls(codes, np.empty(n, np.float32), np.empty(n, np.int32))
        for start in range(0, n, block):
            part = slice(start, start + block)
            tiles = np.asarray(codes[part]).reshape(-1, width // 4, 1, 4)
            vectors = side.block(start, start + block)
            round_int8(vectors, tiles, 0, rounded.scale[part], rounded.correction[part], threads)
            release_pages(codes)
        return rounded

    def pack(self, places: np.ndarray, *, columns: bool) -> Pack:
        """Pack the vectors at ``places (m,)`` for the int8 engine."""
        return gather(np.asarray(self.codes), self.scale, self.correction, places, columns=columns)


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Codes of both sides, and their candidate lists; positions count from 0 on each side.

    ``block`` bounds the rows of a product.
    """

    codes: tuple[Codes, Codes]
    lists: tuple[Lists, Lists]
    engine: Int8Engine
    block: int

    def compare(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """Compare all ``rows`` with all ``columns``."""
        for t in range(0, len(columns), self.block):
            right = columns[t : t + self.block]
            packed = self.codes[1].pack(right, columns=True)
            for s in range(0, len(rows), self.block):
                left = rows[s : s + self.block]
                self.engine.merge_places(
                    self.codes[0].pack(left, columns=False), left, packed, right, self.lists
                )
        self._release()

    def put(self, here: int, rows: np.ndarray, positions: np.ndarray) -> None:
        """Compare the sentences ``rows (q,)`` of side ``here`` with listed sentences of the other
        side.

        ``positions (q, w) int32`` are positions on the other side; -1 marks an empty slot.
        """
        value, threads = np.empty(positions.shape, np.float32), self.engine.threads
        a, b = self.codes[here], self.codes[1 - here]
        left, right = np.asarray(a.codes), np.asarray(b.codes)
        lists = self.lists[here].arrays, self.lists[1 - here].arrays

        def score(first: int, last: int) -> None:
            swapped = here == 1
            similarities(
                left, a.scale, right, b.scale, rows, positions, first, last, swapped, value
            )

        def put(lane: int) -> None:
            put_pairs(rows, positions, value, lane, threads, *lists[0], *lists[1])

        run_strips(len(rows), threads, score)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(put, range(threads)))
        self._release()

    def _release(self) -> None:
        """Drop the resident pages of codes in a file."""
        for codes in self.codes:
            release_pages(codes.codes)
