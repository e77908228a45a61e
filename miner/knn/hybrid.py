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
from dataclasses import replace

import numpy as np

from miner.arrays import Room
from miner.knn import clusters
from miner.knn.clusters import Groups
from miner.knn.engines import Int8Engine
from miner.knn.lists import Lists
from miner.knn.pair_block import Codes, PairBlock
from miner.knn.postings import Postings, Tokens
from miner.knn.search_checkpoint import Checkpoint, Plan
from miner.knn.vector_set import VectorSet
from miner.machine import release_pages

# Clusters for each side of n sentences: PER_ROOT times the root of n, rounded to a power of two;
# and clusters that each sentence probes, its own included.
PER_ROOT, PROBES = 4, 32
# Sentences found by tokens for each query, and queries of one step.
RETRIEVED, QUERIES = 64, 8192

Step = tuple[str, int]


def number_of_clusters(sizes: tuple[int, int]) -> int:
    """Return the number of clusters for sides of these sizes."""
    root = PER_ROOT * float(np.sqrt(max(1, *sizes)))
    return max(1, 1 << round(float(np.log2(root))))


def probes(here: int) -> slice:
    """Return which of the nearest clusters a sentence of side ``here`` probes.

    Sources probe the cluster that they belong to; targets need not, as all is compared then.
    """
    return slice(here, PROBES)


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
        codes = self._codes(self.sides[0]), self._codes(self.sides[1])
        self.pairs = PairBlock(codes, self.lists, self.engine, self.block)
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
                self.pairs.compare(probing[0].of(cluster), own[1].of(cluster))
                self.pairs.compare(own[0].of(cluster), probing[1].of(cluster))
                yield

    def _codes(self, side: VectorSet) -> Codes:
        """Round the vectors of a side to int8."""
        codes = self.room.empty(Codes.shape(side), np.int8)
        return Codes.of(side, codes, self.engine.threads, self.block)

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
        found, _ = postings.search(tokens, side.rows[rows], RETRIEVED, self.engine.threads)
        self.pairs.put(here, rows, found)
        release_pages(tokens.ids)

    def _groups(self) -> tuple[tuple[Groups, Groups], tuple[Groups, Groups]]:
        """Return the members of each cluster on both sides, and those that probe it."""
        threads = self.engine.threads
        centroids = clusters.learn(self.sides, self.number, threads)
        (left, probing_left), (right, probing_right) = (
            clusters.grouped(
                part, centroids, (self.number, probes(here)), self.room, threads, self.block
            )
            for here, part in enumerate(self.sides)
        )
        return (left, right), (probing_left, probing_right)
