"""Spherical k-means over both sides of a search, and the nearest clusters of each vector.

A sentence is compared with all members of its nearest clusters on the other side: an inverted file,
as in Jégou et al. 2011, probed from both sides. The centroids are learned from a sample of both
sides. Products are exact integers, as in the int8 engine, and means are summed in the order of the
sample: clusters are the same for every thread count and block.
"""

from dataclasses import dataclass

import numpy as np

from miner.arrays import Room
from miner.kernels.inverted import count_holders, invert
from miner.knn.engines import Int8Engine
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet
from miner.ragged import offsets_of

# Clusters of a side of n sentences: PER_ROOT times the square root of n, rounded to a power of two;
# and number of clusters that each sentence probes, including the cluster that it belongs to.
PER_ROOT, PROBES = 4, 32
# Sampled vectors per cluster, half of them from each side, and iterations of k-means.
SAMPLED, ROUNDS = 24, 6
SEED = 1
# Vectors compared with the centroids at a time.
BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class Groups:
    """Members of each cluster: cluster c has ``rows[offsets[c]:offsets[c + 1]]``, ascending.

    ``offsets (C + 1,) int64``, ``rows int32``: positions in one side.
    """

    offsets: np.ndarray
    rows: np.ndarray

    def of(self, cluster: int) -> np.ndarray:
        """Return the members of one cluster, ``(m,) int32``."""
        return self.rows[self.offsets[cluster] : self.offsets[cluster + 1]]

    @classmethod
    def by(cls, keys: np.ndarray, number: int, room: Room) -> "Groups":
        """Group positions by ``keys (n, p) int32``, their clusters."""
        flat, width = np.ascontiguousarray(keys).reshape(-1), keys.shape[1]
        lists = np.arange(len(keys) + 1, dtype=np.int64) * width, np.arange(len(keys))
        offsets = offsets_of(count_holders(flat, *lists, number))
        rows = room.empty(int(offsets[-1]), np.int32)
        invert(flat, *lists, offsets, rows)
        return cls(offsets, rows)


def number_of_clusters(sizes: tuple[int, int]) -> int:
    """Return the number of clusters for sides of these sizes."""
    root = PER_ROOT * float(np.sqrt(max(1, *sizes)))
    return max(1, 1 << round(float(np.log2(root))))


def probes(here: int) -> slice:
    """Return the range of nearest clusters that a sentence of side ``here`` probes.

    Sources probe their own cluster as well. Targets leave it out, because the sources have compared
    the pairs within it.
    """
    return slice(here, PROBES)


def learn(sides: tuple[VectorSet, VectorSet], number: int, threads: int) -> np.ndarray:
    """Learn at most ``number`` centroids, unit vectors ``(C, d) float32``."""
    rows = [side.sample(number * SAMPLED // 2) for side in sides]
    sample = np.empty((sum(map(len, rows)), sides[0].vectors.shape[1]), np.float32)
    start = 0
    for side, part in zip(sides, rows, strict=True):
        sample[start : start + len(part)] = side.take(part)
        start += len(part)
    number = min(number, len(sample))
    chosen = np.random.default_rng(SEED).choice(len(sample), number, replace=False)
    centroids = sample[np.sort(chosen)]
    for _ in range(ROUNDS):
        cluster = nearest(sample, centroids, 1, threads)[:, 0]
        total = np.zeros_like(centroids)
        for start in range(0, len(sample), BLOCK):
            part = cluster[start : start + BLOCK]
            order = np.argsort(part, kind="stable")
            filled, first = np.unique(part[order], return_index=True)
            total[filled] += np.add.reduceat(sample[start : start + BLOCK][order], first, axis=0)
        _normalise(total)
        filled = np.unique(cluster)  # an empty cluster keeps its old centroid
        centroids[filled] = total[filled]
    return centroids


def nearest(vectors: np.ndarray, centroids: np.ndarray, probes: int, threads: int) -> np.ndarray:
    """Return the clusters nearest to each of ``vectors (n, d)``, nearest first.

    Returns ``(n, min(probes, C)) int32``, by similarity descending, then cluster.
    """
    engine = Int8Engine(threads)
    columns = engine.prepare(centroids, columns=True)
    width = min(probes, len(centroids))
    out = np.empty((len(vectors), width), np.int32)
    closed = Lists.closed(len(centroids))
    for start in range(0, len(vectors), BLOCK):
        part = vectors[start : start + BLOCK]
        lists = Lists.empty(len(part), width)
        engine.merge(engine.prepare(part, columns=False), 0, columns, 0, (lists, closed))
        out[start : start + BLOCK] = lists.position
    return out


def grouped(
    side: VectorSet,
    centroids: np.ndarray,
    probed: tuple[int, slice],
    room: Room,
    threads: int,
    block: int,
) -> tuple[Groups, Groups]:
    """Return each cluster's members on one side, and the sentences that probe it.

    ``probed``: the number of clusters (at least one per centroid), and the slice ``(i, j)`` of its
    nearest clusters that a sentence probes. ``block`` bounds the vectors in memory.
    """
    number, chosen = probed
    keys = room.empty((len(side), min(chosen.stop, len(centroids))), np.int32)
    for start in range(0, len(side), block):
        vectors = side.block(start, start + block)
        keys[start : start + block] = nearest(vectors, centroids, chosen.stop, threads)
    groups = Groups.by(keys[:, :1], number, room), Groups.by(keys[:, chosen], number, room)
    room.free(keys)
    return groups


def _normalise(vectors: np.ndarray) -> None:
    """Scale ``vectors (n, d) float32`` to unit length in place; zero rows stay zero."""
    for start in range(0, len(vectors), BLOCK):
        part = vectors[start : start + BLOCK]
        length = np.sqrt(np.einsum("nd,nd->n", part, part))
        part /= np.where(length > 0, length, 1)[:, None]
