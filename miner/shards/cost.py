"""Cost of a sharded mining: tasks, core-hours and bytes, from rates of each kind of task.

Each kind of task takes time in proportion to a number of units: sentences, cells of the similarity
matrix, or lists that are merged or scanned. :mod:`miner.shards.rates` measures the rates. A plan
has the kinds of task whose rates were measured: those of the exhaustive search or of the hybrid
one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from miner.knn.clusters import ROUNDS, SAMPLED
from miner.knn.engines import Int8Engine
from miner.knn.hybrid import PROBES, RETRIEVED, number_of_clusters
from miner.knn.settings import NEIGHBORS, SearchSettings
from miner.precision.decoys import DECOYS
from miner.scoring.search_recall import SAMPLE
from miner.shards.duplicate_sentences import HASHED
from miner.shards.exchange import LISTED, RIVAL
from miner.shards.search_tasks import PLACE

# Time to merge one list into a longer one, as a share of the time to rank a list exactly.
MERGE = 0.03
# Time to look at one target while decoys are chosen, as a share of the time to encode a decoy.
PASS = 0.1
# Times of a hybrid search, as numbers of products of two vectors: to round a vector and count its
# tokens; to compare a pair that tokens found, which may lie anywhere; to begin with a cluster in a
# block; to pack a vector for each cluster that it probes in a block; to fill its list there. Time
# to ask a further shard by tokens, as a share of the time of a query. Measured on 36,000 lines.
ROUNDED, PAIR, CLUSTER, PACKED, FILLED, ASKED = 6000, 80, 70_000, 80, 2600, 0.15
# Bytes of a place in a neighbour list, and of a candidate among the logits of a shard; of what is
# looked up for a candidate: the mean of its target's list, then also its nearest and best logits.
NEIGHBOR, LOGIT, MEAN, TARGET = 12, 16, 4, 36
# Memory, in bytes: of a process with the libraries and the model that ships, and of each row of a
# shard in the kinds of task that hold most; of each sentence of both sides in those of one task.
BASE = 500 << 20
ROW = {
    "search": 700, "merge": 700, "verify": 1100, "score": 1300, "duplicates": 100,
    "assign": 700, "retrieve": 900, "hybrid": 900,
}  # fmt: skip
ALL = {"match": 190, "recall": 2}


@dataclass(frozen=True)
class Rates:
    """Core-seconds of a unit of each kind of task, and its bytes on disk for each sentence.

    ``dimension`` is that of the vectors, ``draws`` the number of draws of decoys.
    """

    seconds: dict[str, float]
    disk: dict[str, float]
    dimension: int
    draws: int


@dataclass(frozen=True)
class Cost:
    """Cost of the tasks of one kind: core-seconds, bytes that they write and read in all.

    ``memory`` is that of one task, in bytes. A vector or list that is read out of order counts with
    its own size, not with that of a page.
    """

    kind: str
    tasks: int
    core_seconds: float
    disk: float
    read: float
    memory: float


def units_of(sizes: tuple[int, int], lines: int, decoys: int) -> dict[str, float]:
    """Return the units of each kind of task for so many sentences a side."""
    n, m = map(float, sizes)
    left, right = (max(1, math.ceil(size / lines)) for size in sizes)
    both, clusters = n + m, number_of_clusters(sizes)
    probes, shards = min(PROBES, clusters), n * right + m * left
    probed = probes * (2 * n * m / clusters + PACKED * shards) + FILLED * shards
    return {
        "read": both, "encode": both, "duplicates": both, "index": both, "probe": 1.0,
        "decoys": PASS * m + decoys,
        "search": n * m, "against": n * decoys,
        "centroids": float(ROUNDS) * clusters * sampled(sizes),
        "assign": both * (ROUNDED + clusters),
        "retrieve": n * (1 + ASKED * right) + m * (1 + ASKED * left),
        "hybrid": probed + PAIR * RETRIEVED * both + float(CLUSTER) * clusters * left * right,
        "recall": SAMPLE * both,
        "merge": n * (1 + MERGE * right) + m * (1 + MERGE * left), "lists": both,
        "verify": n, "rivals": n, "contest": m, "score": n, "match": both, "features": n,
    }  # fmt: skip


def sampled(sizes: tuple[int, int]) -> int:
    """Return the number of vectors from which the centroids of a hybrid search are learned."""
    return min(SAMPLED * number_of_clusters(sizes), sum(sizes))


def rows_of(kind: str, sizes: tuple[int, int]) -> int:
    """Return the number of sentences with which the bytes that a kind of task writes grow."""
    if kind in ("probe", "decoys", "recall"):
        return 1
    if kind == "centroids":
        return number_of_clusters(sizes)
    if kind in ("rivals", "contest"):
        return sizes[1]
    return sizes[0] if kind in ("against", "verify", "score", "features") else sum(sizes)


def _read(
    sizes: tuple[int, int], lines: int, k: int, rates: Rates, disk: dict[str, float]
) -> dict[str, float]:
    """Return the bytes that all tasks of each kind read, given what each kind writes."""
    n, m = map(float, sizes)
    left, right = (max(1, math.ceil(size / lines)) for size in sizes)
    rounds, vector, both = 1 + rates.draws, 2.0 * rates.dimension, n + m
    tokens = max(0.0, rates.disk["encode"] - vector)
    lists, places = k * NEIGHBOR, float(LISTED.itemsize) * k * m
    candidates = 2.0 * k * n  # pairs of both directions, at most
    shards, centroids = n * right + m * left, 2 * vector * number_of_clusters(sizes)
    found = {
        "read": disk["read"],
        "encode": disk["read"],
        "duplicates": float(HASHED.itemsize) * both,
        "index": disk["read"] + disk["encode"] + disk["duplicates"],
        "decoys": tokens * m,
        "search": vector * shards,
        "centroids": vector * sampled(sizes),
        "assign": (vector + tokens) * both + centroids * (left + right),
        # Tokens of all shards of the other side; codes, clusters, and what tokens found.
        "retrieve": tokens * (both + shards),
        "hybrid": (code_bytes(rates.dimension) + 4 * RETRIEVED) * shards,
        "recall": vector * both,
        "against": vector * (n + DECOYS * left),
        # Each candidate's vector is read again, to rank it exactly.
        "merge": disk["search"] + vector * both * (1 + k + Int8Engine.slack),
        "lists": disk["merge"],
        "contest": disk.get("rivals", 0.0),
        "match": disk.get("score", 0.0),
        # A shard of either side reads what the other side's shards wrote for it.
        "verify": (lists * n + MEAN * candidates) * rounds + places + tokens * (n + candidates),
        "score": (lists * n + (LOGIT + TARGET) * candidates) * rounds + places,
        "rivals": RIVAL.itemsize * candidates * rounds,
        "features": tokens * 2 * n + LOGIT * candidates * rounds,
    }
    return {kind: found.get(kind, 0.0) for kind in disk}


def code_bytes(dimension: int) -> int:
    """Return the bytes of a sentence in a hybrid search: its int8 vector and its clusters."""
    return dimension + 8 + 4 * (1 + PROBES)


def costs(
    sizes: tuple[int, int], files: tuple[int, int], lines: int, k: int, rates: Rates
) -> list[Cost]:
    """Return the cost of mining so many sentences, in so many files and shards of ``lines``."""
    units = units_of(sizes, lines, DECOYS)
    left, right = (max(1, math.ceil(size / lines)) for size in sizes)
    counts = {
        "read": sum(files), "encode": max(sum(files), left + right), "duplicates": left + right,
        "index": 2, "probe": 1, "decoys": 1, "search": left * right, "against": left,
        "merge": left + right, "lists": 3, "verify": left, "rivals": right, "contest": 1,
        "score": left, "match": 1, "features": left, "centroids": 1, "assign": left + right,
        "retrieve": left + right, "hybrid": left * right, "recall": 1,
    }  # fmt: skip
    width = k + Int8Engine.slack
    disk = {kind: value * rows_of(kind, sizes) for kind, value in rates.disk.items()}
    # Lists grow with the rows of a block, not with its cells.
    for kind in ("search", "hybrid"):
        disk[kind] = PLACE.itemsize * width * float(sizes[0] * right + sizes[1] * left)
    # Offsets of clusters and counts of tokens are few, except in a small sample.
    disk["assign"] = float(code_bytes(rates.dimension) * sum(sizes))
    read = _read(sizes, lines, k, rates, disk)
    found = []
    for kind, seconds in rates.seconds.items():
        memory = BASE + ROW.get(kind, 100) * min(lines, max(sizes))
        memory += ALL.get(kind, 0) * sum(sizes)
        if kind == "centroids":
            memory += 4 * rates.dimension * sampled(sizes)
        cost = Cost(kind, counts[kind], seconds * units[kind], disk[kind], read[kind], memory)
        found.append(cost)
    return found


def neighbors(settings: SearchSettings, verifying: bool) -> int:
    """Return k of a search by these settings."""
    return settings.k or NEIGHBORS["probability" if verifying else "margin"]
