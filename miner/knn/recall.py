"""How much of the truth a search finds, by samples of it; and the truth."""

import numpy as np

from miner.knn.engines import Bytes, Lists
from miner.knn.neighbors import Neighbors
from miner.knn.vector_set import Side

# Rows of one block of an exact scan.
BLOCK = 16_384
# Sentences by which the recall of a compressed index is measured.
SAMPLE = 1000
# Sentences by which bytes are tried before a search, of how many of the other side, and the share
# of neighbours that they may miss there.
PROBES, PROBED = 512, 4096
MISSED = 0.0002


def scan(queries: np.ndarray, base: Side, k: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Exact top-k of all of ``base``, without an engine: similarities and positions, ``(n, k)``."""
    from miner.kernels import exact

    similarity = np.full((len(queries), k), -np.inf, dtype=np.float32)
    position = np.full((len(queries), k), -1, dtype=np.int64)
    for start in range(0, len(base), block):
        exact.scan(queries, base.floats(start, start + block), start, similarity, position)
    return similarity, position


def measured_recall(queries: Side, base: Side, found: Neighbors) -> float:
    """The share of the true k nearest in ``base`` that ``found`` has, for a sample of ``queries``.

    Counted by similarity, so that of several equally near ones any counts. 1.0 without a query.
    """
    rows = queries.sample(SAMPLE)
    k = min(found.row.shape[1], len(base))
    if not len(rows) or not k:
        return 1.0
    sample = queries.vectors[queries.rows[rows]].astype(np.float32)
    true, _ = scan(sample, base, k, BLOCK)
    listed = found.similarity[queries.rows[rows]]
    return float(np.mean(listed[:, :k] >= true[:, -1:]))


def bytes_suffice(queries: Side, base: Side, k: int) -> bool:
    """Whether the engine of bytes finds the neighbours of these vectors, by a sample of them.

    It does where components are of one size, as those of a trained model are. Where a few of them
    are huge in all vectors, nothing is left of the others in a byte.
    """
    from miner.kernels.fused import merge, pack

    probes, probed = (
        np.asarray(side.vectors[side.rows[side.sample(size)]])
        for side, size in ((queries, PROBES), (base, PROBED))
    )
    width = min(k, len(probed))
    if not len(probes) or not width:
        return True
    lists = (
        Lists.empty(len(probes), min(k + Bytes.slack, len(probed))),
        Lists.empty(len(probed), 1),
    )
    rows, columns = pack(probes, columns=False), pack(probed, columns=True)
    tiles = 0, len(rows.tiles), 0, len(columns.tiles)
    merge(
        rows.tiles, rows.scale, rows.correction, rows.count, columns.tiles, columns.scale,
        columns.count, *tiles, 0, 0, *lists[0].arrays, *lists[1].arrays,
    )  # fmt: skip
    floats = probed.astype(np.float32)
    missed = 0
    for start in range(0, len(probes), 32):
        cosine = probes[start : start + 32].astype(np.float32) @ floats.T
        # Nearer than the k-th by more than a float32 product may be off, and not in the list.
        near = cosine > np.partition(cosine, -width, axis=1)[:, -width, None] + 1e-5
        found = lists[0].position[start : start + 32].astype(np.int64)
        np.put_along_axis(near, found, False, axis=1)
        missed += int(near.sum())
    return missed <= MISSED * len(probes) * width
