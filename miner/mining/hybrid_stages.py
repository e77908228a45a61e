"""Stages of a hybrid search: centroids, assign, retrieve, block, recall.

The search avoids comparing all pairs. It selects candidates in two ways whose misses differ: by
clusters (:mod:`miner.knn.clusters`) and, with a lexicon, by tokens (:mod:`miner.knn.postings`). A
sentence is compared with the members of the clusters nearest to it, and with sentences that hold
translations of its rare tokens.

The result does not depend on the parts: centroids come from one sample of both sides, weights of
tokens from the document frequencies of all parts, and retrieval by tokens keeps the best sentences
of all parts before any is compared. Each pair belongs to one block of part x part, which compares
the members of the same clusters and the pairs retrieved by tokens.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from miner.arrays import Room, temporary_array
from miner.knn import clusters
from miner.knn.clusters import Groups
from miner.knn.engines import Int8Engine
from miner.knn.knn_search import BLOCK
from miner.knn.lists import Lists
from miner.knn.neighbors import Neighbors
from miner.knn.pair_block import Codes, PairBlock
from miner.knn.postings import RETRIEVED, Frequency, Postings, SideTokens
from miner.knn.settings import SearchSettings
from miner.machine import release_pages
from miner.mining.search_stages import save_lists, settings_of
from miner.mining.sides import Part, Scorer, Side, cross, each
from miner.option_values import SIDES
from miner.scoring import search_recall
from miner.scoring.verification import LogitsOf, logits_function
from miner.tasks.run import Run
from miner.tasks.task import Job, Result, hints

# Queries per step of the search by tokens.
QUERIES = 8192
# Time to round a vector and count its tokens, in products of vectors; time to query a further part
# by tokens, as a share of a query.
ROUNDED, ASKED = 6000, 0.15
# Times of a block, in products of two vectors, measured on 36,000 lines: comparing a pair retrieved
# by tokens, at random positions; starting a cluster; packing a vector for each cluster that it
# probes; filling its list.
PAIR, CLUSTER, PACKED, FILLED = 80, 70_000, 80, 2600


def search(run: Run, sides: tuple[Side, Side], scorer: Scorer | None, k: int) -> list[Result]:
    """Register the comparison of selected pairs, block by block, and the stages that select
    them.
    """
    number = clusters.number_of_clusters((sides[0].whole.size, sides[1].whole.size))
    learned = run.task(
        "centroids",
        centroids,
        units=float(clusters.ROUNDS * clusters.SAMPLED) * number**2,
        rows=number,
        sides=tuple(side.whole.without_text for side in sides),
        number_of_clusters=number,
    )
    assigned = [
        run.stage(
            "assign",
            assign,
            each(queries, ROUNDED + number, f"{SIDES[side]}-"),
            side=side,
            centroids=learned,
            number_of_clusters=number,
            scorer=scorer,
        )
        for side, queries in enumerate(sides)
    ]
    retrieved: list[list[Result]] = []
    if scorer is not None:
        retrieved = [
            run.stage(
                "retrieve",
                retrieve,
                each(queries, 1 + ASKED * len(sides[1 - side].parts), f"{SIDES[side]}-"),
                others=sides[1 - side].parts,
                assigned=assigned[1 - side],
                scorer=scorer,
            )
            for side, queries in enumerate(sides)
        ]
    cost = partial(products, number, (len(sides[0].parts), len(sides[1].parts)))
    calls = cross(sides, cost, assigned=assigned, retrieved=retrieved)
    return run.stage("hybrid", block, calls, k=k)


@hints(seconds=2e-8, memory=50_000)
def centroids(job: Job, sides: tuple[Part, Part], number_of_clusters: int) -> None:
    """Learn the centroids of the clusters from a sample of both sides.

    Memory: the sample, :data:`miner.knn.clusters.SAMPLED` vectors per cluster.
    """
    vectors = sides[0].vectors(), sides[1].vectors()
    job.save(centroids=clusters.learn(vectors, number_of_clusters, job.threads))


@hints(seconds=8e-9, memory=700, searches=True)
def assign(
    job: Job,
    part: Part,
    side: int,
    centroids: Result,
    number_of_clusters: int,
    scorer: Scorer | None,
) -> None:
    """Round the vectors of a part to int8, group them by cluster, and count their tokens."""
    vectors = part.vectors()
    codes = temporary_array(Codes.shape(vectors), np.int8, job.out)
    rounded = Codes.of(vectors, codes, job.threads, BLOCK)
    job.save(codes=codes, scale=rounded.scale, correction=rounded.correction)
    members, probing = clusters.grouped(
        vectors,
        centroids.array("centroids"),
        (number_of_clusters, clusters.probes(side)),
        Room(job.memory),
        job.threads,
        BLOCK,
    )
    job.save(own=members.rows, own_offsets=members.offsets)
    job.save(probing=probing.rows, probing_offsets=probing.offsets)
    if scorer is not None:
        vocabulary = len(scorer.open(job.threads).tokens.lexicon.frequency)
        job.save(frequency=Frequency.of(_tokens(part), vectors, vocabulary).count)


@hints(seconds=2e-4, memory=900, searches=True)
def retrieve(
    job: Job, part: Part, others: tuple[Part, ...], assigned: list[Result], scorer: Scorer
) -> None:
    """Find candidates on the other side by tokens, for each sentence of a part.

    ``assigned`` are the tasks that counted the tokens of ``others``, the parts of the other side.
    They are indexed and queried one after the other; the best over all are kept.
    """
    queries = part.vectors()
    asked = _tokens(part)
    lexicon = scorer.open(job.threads).tokens.lexicon
    count = np.zeros(len(lexicon.frequency), np.int64)
    for task in assigned:
        count += task.array("frequency")
    frequency = Frequency(count, sum(other.size for other in others))
    best = Lists.empty(len(queries), RETRIEVED)
    memory = job.memory - best.bytes
    for other in others:
        base, tokens = other.vectors(), _tokens(other)
        postings = Postings(tokens, base, lexicon, Room(memory), frequency)
        release_pages(tokens[0])
        for start in range(0, len(queries), QUERIES):
            rows = queries.rows[start : start + QUERIES]
            positions, score = postings.search(asked, rows, RETRIEVED, job.threads)
            positions = np.where(positions < 0, positions, positions + other.first)
            best.merge(start, score, positions)
            release_pages(asked[0])
    job.save(retrieved=best.position)


def products(number: int, parts: tuple[int, int], n: int, m: int) -> float:
    """Return the time of a block of n x m sentences, in products of two vectors.

    ``number``: of clusters; candidates by tokens are spread over all ``parts``.
    """
    probes = min(clusters.PROBES, number)
    clustered = probes * (2 * n * m / number + PACKED * (n + m)) + FILLED * (n + m)
    return clustered + PAIR * RETRIEVED * (n / parts[1] + m / parts[0]) + CLUSTER * number


@hints(seconds=8e-9, memory=900, searches=True)
def block(
    job: Job,
    parts: tuple[Part, Part],
    k: int,
    assigned: list[Result],
    retrieved: Sequence[Result] = (),
) -> None:
    """Compare selected pairs of a block of the similarity matrix, for both directions.

    ``assigned`` and ``retrieved`` are the results of both parts; ``retrieved`` is empty without a
    lexicon.
    """
    left, right = (part.vectors() for part in parts)
    first, start = parts[0].first, parts[1].first
    width = k + Int8Engine.slack
    forward = Lists.empty(len(left), max(1, min(width, len(right))))
    backward = Lists.empty(len(right), max(1, min(width, len(left))))
    room = Room(job.memory - forward.bytes - backward.bytes)
    codes = _codes(assigned[0], room), _codes(assigned[1], room)
    pairs = PairBlock(codes, (forward, backward), Int8Engine(job.threads), BLOCK)
    for here, task in enumerate(retrieved):
        candidates = task.array("retrieved")
        # Positions on the other side; those of other blocks are skipped.
        begin, size = ((start, len(right)), (first, len(left)))[here]
        for query in range(0, len(candidates), QUERIES):
            places = candidates[query : query + QUERIES] - np.int32(begin)
            places[(places < 0) | (places >= size)] = -1
            rows = np.arange(query, query + len(places), dtype=np.int32)
            pairs.put(here, rows, np.ascontiguousarray(places))
            release_pages(candidates)
    members, probing = (
        [Groups(task.array(f"{name}-offsets"), task.array(name)) for task in assigned]
        for name in ("own", "probing")
    )
    number = len(members[0].offsets) - 1
    for cluster in range(number):
        pairs.compare(probing[0].of(cluster), members[1].of(cluster))
        pairs.compare(members[0].of(cluster), probing[1].of(cluster))
        job.report("searching clusters", cluster + 1, number)
    save_lists(job, "forward", forward, start)
    save_lists(job, "backward", backward, first)


@hints(seconds=4e-5, memory=2)
def recall(
    job: Job,
    sides: tuple[Part, Part],
    lists: tuple[Result, Result],
    settings: SearchSettings,
    scorer: Scorer | None,
) -> dict[str, Any]:
    """Measure the recall of the lists of both sides, on a sample compared with everything.

    Memory: 4 bytes per sentence of the larger side.
    """
    logits_of: LogitsOf | None = None
    if scorer is not None:
        verifier = scorer.open(job.threads)
        logits_of = logits_function(verifier, sides[0].tokens(), sides[1].tokens())
    forward, backward = (
        Neighbors(result.array("similarity"), result.array("row")) for result in lists
    )
    vectors, local_settings = (sides[0].vectors(), sides[1].vectors()), settings_of(job, settings)
    return asdict(search_recall.measure(vectors, (forward, backward), local_settings, logits_of))


def _tokens(part: Part) -> SideTokens:
    text = part.tokens()
    return text.ids, text.offsets


def _codes(task: Result, room: Room) -> Codes:
    """Read the codes of a part; codes beyond the memory budget stay in their file."""
    codes, scale, correction = (task.array(name) for name in ("codes", "scale", "correction"))
    if codes.nbytes <= room.left:
        held = room.empty(codes.shape, codes.dtype)
        held[:] = codes
        release_pages(codes)
        codes = held
    return Codes(codes, np.array(scale), np.array(correction))
