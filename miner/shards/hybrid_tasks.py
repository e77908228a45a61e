"""Tasks of a hybrid search: centroids, assign, retrieve, hybrid, recall.

They do what :mod:`miner.knn.hybrid` does in one process, with the same result to the last bit: the
centroids come from the same sample of both sides; the weights of tokens from the document
frequencies of all shards; the sentences found by tokens are the best of all shards before any is
compared. Each pair lies in one block of shard x shard, which compares the members of the same
clusters and the pairs found by tokens.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import Room, create_npy
from miner.kernels.blocks import merge_lists
from miner.knn import clusters, hybrid
from miner.knn.clusters import Groups
from miner.knn.engines import Int8Engine
from miner.knn.knn_search import BLOCK
from miner.knn.lists import Lists
from miner.knn.pair_block import Codes, PairBlock
from miner.knn.postings import Frequency, Postings, SideTokens
from miner.machine import release_pages
from miner.mining import search_recall
from miner.mining.verification import release
from miner.shards.context import Context, save
from miner.shards.search_tasks import save_lists


def centroids(context: Context, out: Path) -> None:
    """Learn the centroids of the clusters from a sample of both sides.

    Memory: the sample, which grows with the root of the number of sentences.
    """
    sides = context.vectors(0), context.vectors(1)
    save(out, centroids=clusters.learn(sides, _clusters(context), context.threads))


def assign(context: Context, out: Path, side: int, span: list[int]) -> None:
    """Round the vectors of a shard to int8, group them by cluster, and count their tokens."""
    part, _ = context.part(side, *span)
    codes = create_npy(out / "codes.npy", np.int8, Codes.shape(part))
    made = Codes.of(part, codes, context.threads, BLOCK)
    codes.flush()
    save(out, scale=made.scale, correction=made.correction)
    own, probing = clusters.grouped(
        part,
        context.array("centroids/all", "centroids"),
        (_clusters(context), hybrid.probes(side)),
        Room(context.memory),
        context.threads,
        BLOCK,
    )
    save(out, own=own.rows, own_offsets=own.offsets)
    save(out, probing=probing.rows, probing_offsets=probing.offsets)
    if context.plan.verifying:
        vocabulary = len(context.verifier.tokens.lexicon.frequency)
        tokens = _tokens(context, side, span)
        save(out, frequency=Frequency.of(tokens, part, vocabulary).count)


def retrieve(
    context: Context,
    out: Path,
    side: int,
    span: list[int],
    others: list[str],
    spans: list[list[int]],
) -> None:
    """Find the sentences of the other side that tokens suggest for each sentence of a shard.

    ``others`` are the tasks that counted the tokens of the other side's shards, ``spans`` the rows
    of those. One after the other they are indexed and asked; the best of all are kept.
    """
    queries, _ = context.part(side, *span)
    asked, lexicon = _tokens(context, side, span), context.verifier.tokens.lexicon
    count = np.zeros(len(lexicon.frequency), np.int64)
    for task in others:
        count += context.array(task, "frequency")
    frequency = Frequency(count, len(context.vectors(1 - side)))
    best = Lists.empty(len(queries), hybrid.RETRIEVED)
    memory = context.memory - _bytes(best)
    for other in spans:
        base, first = context.part(1 - side, *other)
        tokens, room = _tokens(context, 1 - side, other), Room(memory)
        postings = Postings(tokens, base, lexicon, room, frequency)
        release_pages(tokens.ids)
        for start in range(0, len(queries), hybrid.QUERIES):
            rows = queries.rows[start : start + hybrid.QUERIES]
            found, score = postings.search(asked, rows, hybrid.RETRIEVED, context.threads)
            merge_lists(score, np.where(found < 0, found, found + first), start, *best.arrays)
            release_pages(asked.ids)
    save(out, retrieved=best.position)


def block(
    context: Context,
    out: Path,
    source: list[int],
    target: list[int],
    shards: list[str],
    retrieved: list[str],
) -> None:
    """Compare some pairs of a block of the similarity matrix, for both directions.

    ``shards`` and ``retrieved`` are the tasks that assigned and asked both shards; the latter are
    none without a lexicon.
    """
    (left, first), (right, start) = context.part(0, *source), context.part(1, *target)
    width = context.plan.settings.neighbors + Int8Engine.slack
    forward = Lists.empty(len(left), max(1, min(width, len(right))))
    backward = Lists.empty(len(right), max(1, min(width, len(left))))
    room = Room(context.memory - _bytes(forward) - _bytes(backward))
    codes = _codes(context, shards[0], room), _codes(context, shards[1], room)
    pairs = PairBlock(codes, (forward, backward), Int8Engine(context.threads), BLOCK)
    for here, task in enumerate(retrieved):
        found = context.array(task, "retrieved")
        # Positions in the other side; those of other blocks are left out.
        begin, size = ((start, len(right)), (first, len(left)))[here]
        for query in range(0, len(found), hybrid.QUERIES):
            places = found[query : query + hybrid.QUERIES] - np.int32(begin)
            places[(places < 0) | (places >= size)] = -1
            rows = np.arange(query, query + len(places), dtype=np.int32)
            pairs.put(here, rows, np.ascontiguousarray(places))
            release_pages(found)
    own, probing = (
        [
            Groups(context.array(task, f"{name}-offsets"), context.array(task, name))
            for task in shards
        ]
        for name in ("own", "probing")
    )
    for cluster in range(len(own[0].offsets) - 1):
        pairs.compare(probing[0].of(cluster), own[1].of(cluster))
        pairs.compare(own[0].of(cluster), probing[1].of(cluster))
    save_lists(out, "forward", forward, start, len(right))
    save_lists(out, "backward", backward, first, len(left))


def recall(context: Context, out: Path) -> dict[str, Any]:
    """Measure the recall of the lists of both sides on a sample that is compared with everything.

    Memory: 4 bytes a sentence of the larger side.
    """
    sides = context.vectors(0), context.vectors(1)
    lists = context.neighbors(["lists/source"]), context.neighbors(["lists/target"])
    logits_of: search_recall.LogitsOf | None = None
    if context.plan.verifying:
        left, right, verifier = context.text(0), context.text(1), context.verifier

        def logits(source_row: np.ndarray, target_row: np.ndarray) -> np.ndarray:
            logit = verifier.pair_logits(left, right, source_row, target_row)
            release(left, right)
            return logit

        logits_of = logits
    return {"recall": asdict(search_recall.measure(sides, lists, context.settings, logits_of))}


def _clusters(context: Context) -> int:
    return hybrid.number_of_clusters((len(context.vectors(0)), len(context.vectors(1))))


def _bytes(lists: Lists) -> int:
    return sum(array.nbytes for array in lists.arrays)


def _tokens(context: Context, side: int, span: list[int]) -> SideTokens:
    text = context.text(side, *span)
    return SideTokens(text.ids, text.offsets)


def _codes(context: Context, task: str, room: Room) -> Codes:
    """Read the codes of a shard; those that exceed the memory stay in their file."""
    codes, scale, correction = (
        context.array(task, name) for name in ("codes", "scale", "correction")
    )
    if codes.nbytes <= room.left:
        held = room.empty(codes.shape, codes.dtype)
        held[:] = codes
        release_pages(codes)
        codes = held
    return Codes(codes, np.array(scale), np.array(correction))
