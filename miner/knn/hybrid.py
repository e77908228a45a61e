"""Hybrid search: candidates of both directions without comparing all with all.

Two ways of finding candidates, whose misses differ:

- **Clusters** (:mod:`miner.knn.clusters`). A sentence is compared with all members of the few
  clusters of the other side that are nearest to it, by the int8 kernel, whose products serve both
  directions (an inverted file, as in Jégou et al. 2011, probed from both sides).
- **Tokens** (:mod:`miner.knn.postings`), where there is a lexicon. A sentence is compared with
  those that hold translations of its rare tokens.

Similarities are exact integers and lists keep the best of whatever comes in any order, so the lists
do not depend on blocks and threads. Codes, groups and postings that exceed the memory are temporary
files. The search is a row of steps, of which a checkpoint counts those done.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from miner.kernels.fused import Pack, quantise
from miner.kernels.gather import gather, put_pairs, similarities
from miner.kernels.half import bits
from miner.knn import clusters
from miner.knn.clusters import Groups
from miner.knn.engines import Int8Engine
from miner.knn.lists import Lists
from miner.knn.postings import Postings, Tokens
from miner.knn.room import Room
from miner.knn.search_checkpoint import Checkpoint, Plan
from miner.knn.strips import Strip, cut
from miner.knn.vector_set import VectorSet
from miner.machine import release_pages

# Clusters for each side of n sentences: PER_ROOT times the root of n, rounded to a power of two;
# and clusters that each sentence probes, its own included.
PER_ROOT, PROBES = 4, 32
# Sentences found by tokens for each query, and queries of one step.
RETRIEVED, QUERIES = 64, 8192

Step = tuple[str, int]


@dataclass(frozen=True, eq=False)
class Codes:
    """int8 vectors of a side: see :mod:`miner.kernels.gather`."""

    codes: np.ndarray
    scale: np.ndarray
    correction: np.ndarray

    def pack(self, places: np.ndarray, *, columns: bool) -> Pack:
        """Pack the vectors at ``places (m,)`` for the int8 engine."""
        return gather(np.asarray(self.codes), self.scale, self.correction, places, columns=columns)


def number_of_clusters(sizes: tuple[int, int]) -> int:
    """Return the number of clusters for sides of these sizes."""
    root = PER_ROOT * float(np.sqrt(max(1, *sizes)))
    return max(1, 1 << round(float(np.log2(root))))


class HybridSearch:
    """One search of two sides; :meth:`run` fills the lists of both.

    ``memory`` bounds what is held beside the lists, ``block`` the rows of one product. ``advance``
    is called with the share of the work that each step is.
    """

    def __init__(
        self,
        sides: tuple[VectorSet, VectorSet],
        tokens: Tokens | None,
        lists: tuple[Lists, Lists],
        engine: Int8Engine,
        memory: int,
        block: int,
    ):
        self.sides, self.tokens, self.lists, self.engine = sides, tokens, lists, engine
        self.block = block
        self.number = number_of_clusters((len(sides[0]), len(sides[1])))
        # Scores and touched sentences of every thread that retrieves.
        scratch = 8 * engine.threads * max(map(len, sides))
        self.room = Room(max(0, memory - scratch))

    @property
    def name(self) -> str:
        """Name in a checkpoint: another one makes other candidates."""
        n, m = map(len, self.sides)
        tokens = "none" if self.tokens is None else self.tokens.digest()
        return (
            f"hybrid of {n} x {m} sentences, {self.number} clusters, {PROBES} probed, "
            f"tokens {tokens}, {RETRIEVED} retrieved"
        )

    def run(self, checkpoint: Checkpoint | None, advance: Callable[[float], None]) -> None:
        """Do all steps that ``checkpoint`` has not done."""
        steps = list(self._steps())
        plan = Plan(((0, len(steps), 0, 1),), 1)
        if checkpoint is not None:
            plan = checkpoint.resume(self.name, *self.sides, self.lists, plan)
        first = len(steps) - plan.cells
        advance(first / len(steps))
        for _ in self._work(steps[first:]):
            plan = replace(plan, done=plan.done + 1)
            advance(1 / len(steps))
            if checkpoint is not None and checkpoint.due:
                checkpoint.save(self.lists, plan)
        if checkpoint is not None:
            checkpoint.finish(self.lists, plan)

    def _steps(self) -> Iterator[Step]:
        """Yield the steps: blocks of queries of either side, then clusters."""
        if self.tokens is not None:
            for name, side in zip(("source", "target"), self.sides, strict=True):
                yield from ((name, start) for start in range(0, len(side), QUERIES))
        yield from (("cluster", cluster) for cluster in range(self.number))

    def _work(self, steps: list[Step]) -> Iterator[None]:
        """Do the steps, one at each ``next``."""
        self.codes = self._codes(self.sides[0]), self._codes(self.sides[1])
        for name in ("source", "target"):
            postings = None
            for kind, start in steps:
                if kind == name:
                    postings = postings or self._postings(name)
                    self._retrieve(name, postings, start)
                    yield
            if postings is not None:
                self.room.free(postings.rows)
        if not any(kind == "cluster" for kind, _ in steps):
            return
        own, probing = self._groups()
        for kind, cluster in steps:
            if kind == "cluster":
                self._compare(probing[0].of(cluster), own[1].of(cluster))
                self._compare(own[0].of(cluster), probing[1].of(cluster))
                yield

    def _codes(self, side: VectorSet) -> Codes:
        """Round the vectors of a side to int8."""
        n, quads = len(side), max(1, -(-side.vectors.shape[1] // 4))
        made = Codes(
            self.room.empty((n, 4 * quads), np.int8),
            np.empty(n, np.float32),
            np.empty(n, np.int32),
        )
        for start in range(0, n, self.block):
            part = slice(start, start + self.block)
            codes = np.asarray(made.codes[part]).reshape(-1, quads, 1, 4)
            vectors = side.block(start, start + self.block)
            self._round(vectors, codes, made.scale[part], made.correction[part])
            release_pages(made.codes)
        return made

    def _round(
        self, vectors: np.ndarray, codes: np.ndarray, scale: np.ndarray, correction: np.ndarray
    ) -> None:
        """Round ``vectors (b, d)`` to int8, each in a tile of its own."""
        numbers, threads = bits(vectors), self.engine.threads

        def work(strip: Strip) -> None:
            first, last = strip
            quantise(numbers, codes, 0, scale, correction, first, last)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, cut(len(numbers), threads)))

    def _postings(self, name: str) -> Postings:
        """Index the side that the queries of side ``name`` are asked of."""
        assert self.tokens is not None
        tokens, base = self.tokens.target, self.sides[1]
        if name == "target":
            tokens, base = self.tokens.source, self.sides[0]
        return Postings(tokens, base, self.tokens.lexicon, self.room)

    def _retrieve(self, name: str, postings: Postings, start: int) -> None:
        """Find candidates of one block of queries by tokens, and put them into the lists."""
        assert self.tokens is not None
        here = 0 if name == "source" else 1
        side, tokens = self.sides[here], (self.tokens.source, self.tokens.target)[here]
        rows = np.arange(start, min(start + QUERIES, len(side)), dtype=np.int32)
        threads = self.engine.threads
        found = postings.search(tokens, side.rows[rows], RETRIEVED, threads)
        value = np.empty(found.shape, np.float32)
        a, b = self.codes[here], self.codes[1 - here]
        left, right = np.asarray(a.codes), np.asarray(b.codes)
        lists = self.lists[here].arrays, self.lists[1 - here].arrays

        def score(strip: Strip) -> None:
            first, last = strip
            swapped = name == "target"
            similarities(left, a.scale, right, b.scale, rows, found, first, last, swapped, value)

        def put(lane: int) -> None:
            put_pairs(rows, found, value, lane, threads, *lists)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(score, cut(len(rows), threads)))
            list(pool.map(put, range(threads)))
        release_pages(tokens.ids)
        self._release()

    def _groups(self) -> tuple[tuple[Groups, Groups], tuple[Groups, Groups]]:
        """Return the members of each cluster on both sides, and those that probe it.

        Sources probe the cluster that they belong to; targets need not, as all is compared then.
        """
        centroids = clusters.learn(self.sides, self.number, self.engine.threads)
        own: list[Groups] = []
        probing: list[Groups] = []
        for side, first in zip(self.sides, (0, 1), strict=True):
            keys = self.room.empty((len(side), min(PROBES, len(centroids))), np.int32)
            for start in range(0, len(side), self.block):
                vectors = side.block(start, start + self.block)
                keys[start : start + self.block] = clusters.nearest(
                    vectors, centroids, PROBES, self.engine.threads
                )
            own.append(Groups.by(keys[:, :1], self.number, self.room))
            probing.append(Groups.by(keys[:, first:], self.number, self.room))
            self.room.free(keys)
        return (own[0], own[1]), (probing[0], probing[1])

    def _compare(self, rows: np.ndarray, columns: np.ndarray) -> None:
        """Compare all of some sources with all of some targets."""
        for t in range(0, len(columns), self.block):
            right = columns[t : t + self.block]
            packed = self.codes[1].pack(right, columns=True)
            for s in range(0, len(rows), self.block):
                left = rows[s : s + self.block]
                self.engine.merge_places(
                    self.codes[0].pack(left, columns=False), left, packed, right, self.lists
                )
        self._release()

    def _release(self) -> None:
        """Drop the resident pages of codes in a file."""
        for codes in self.codes:
            release_pages(codes.codes)
