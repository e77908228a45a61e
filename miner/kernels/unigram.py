"""Subword sampling (Kudo 2018): random segmentations of sentences by a unigram model.

A segmentation ``x`` is sampled in proportion to ``P(x) ** alpha``, where ``P`` is the product of
the probabilities of its pieces. A character that is no piece counts as one unknown piece. A
backward pass sums, for every position, over all segmentations of the rest of the sentence; a
forward pass samples pieces from the start. SentencePiece's own sampling differs from process to
process for one seed.
"""

from collections.abc import Sequence

import numpy as np

from miner.kernels.cache import njit
from miner.kernels.units import BITS, find, table

# (slots, places): a hash table of (node, character); child: the node that follows, by place;
# piece: the piece that ends at each node, or -1; score of that piece. Node 0 is the root.
Trie = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def trie(pieces: Sequence[str], ids: Sequence[int], scores: Sequence[float]) -> Trie:
    """Build the trie that :func:`sample` takes from ``pieces``, their ids and log-probabilities."""
    steps: dict[int, int] = {}
    ends: dict[int, int] = {}
    for i, text in enumerate(pieces):
        node = 0
        for character in text:
            node = steps.setdefault(node << BITS | ord(character), len(steps) + 1)
        ends[node] = i
    nodes = np.fromiter(ends, dtype=np.int64, count=len(ends))
    order = np.fromiter(ends.values(), dtype=np.int64, count=len(ends))
    piece = np.full(len(steps) + 1, -1, dtype=np.int32)
    score = np.zeros(len(steps) + 1, dtype=np.float64)
    piece[nodes] = np.asarray(ids, dtype=np.int32)[order]
    score[nodes] = np.asarray(scores, dtype=np.float64)[order]
    keys = np.fromiter(steps, dtype=np.uint64, count=len(steps))
    child = np.fromiter(steps.values(), dtype=np.int32, count=len(steps))
    return *table(keys), child, piece, score


@njit(nogil=True)
def _edges(codes, start, tree, alpha, unknown, total, edge_piece, edge_end, edge_weight):
    """List the pieces that begin at ``start``: id, end and log weight; returns their number.

    The weight is the sum over all segmentations that begin with the piece.
    """
    slots, places, child, piece, score = tree
    count, node, single = 0, 0, False
    for end in range(start + 1, min(len(codes), start + len(edge_piece) - 1) + 1):
        place = find(
            (np.uint64(node) << np.uint64(BITS)) | np.uint64(codes[end - 1]), slots, places
        )
        if place < 0:
            break
        node = child[place]
        if piece[node] >= 0:
            edge_piece[count], edge_end[count] = piece[node], end
            edge_weight[count] = alpha * score[node] + total[end]
            single = single or end == start + 1
            count += 1
    if not single:
        edge_piece[count], edge_end[count] = -1, start + 1
        edge_weight[count] = alpha * unknown + total[start + 1]
        count += 1
    return count


@njit(nogil=True)
def _mixed(state):
    """Return the SplitMix64 output of ``state``, uint64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@njit(nogil=True)
def sample(codes, offsets, tree, longest, unknown, alpha, seed, first, out, lengths):
    """Sample a segmentation of every sentence; returns the total number of pieces.

    ``codes (t,) uint32`` are code points with ``offsets (n + 1,) int64``. ``tree`` is a
    :func:`trie` of pieces of at most ``longest`` characters. ``unknown`` is the log-probability of
    an unknown piece, whose id is -1. ``out (t,) int32`` gets the token ids of all sentences in a
    row, ``lengths (n,) int64`` their number in each sentence. The random numbers of sentence ``i``
    depend only on ``seed`` and ``first + i``, both uint64.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    edge_piece = np.empty(longest + 1, dtype=np.int32)
    edge_end = np.empty(longest + 1, dtype=np.int64)
    edge_weight = np.empty(longest + 1, dtype=np.float64)
    done = 0
    for i in range(len(offsets) - 1):
        own = codes[offsets[i] : offsets[i + 1]]
        total = np.zeros(len(own) + 1, dtype=np.float64)
        for start in range(len(own) - 1, -1, -1):
            count = _edges(
                own, start, tree, alpha, unknown, total, edge_piece, edge_end, edge_weight
            )
            highest = edge_weight[:count].max()
            share = 0.0
            for k in range(count):
                share += np.exp(edge_weight[k] - highest)
            total[start] = highest + np.log(share)
        state = _mixed(_mixed(seed + golden) + (first + np.uint64(i)) * golden)
        start, before = 0, done
        while start < len(own):
            count = _edges(
                own, start, tree, alpha, unknown, total, edge_piece, edge_end, edge_weight
            )
            state += golden
            left = np.float64(_mixed(state) >> np.uint64(11)) * 2.0**-53
            chosen = 0
            for k in range(count):
                chosen = k
                left -= np.exp(edge_weight[k] - total[start])
                if left < 0:
                    break
            out[done] = edge_piece[chosen]
            start = edge_end[chosen]
            done += 1
        lengths[i] = done - before
    return done
