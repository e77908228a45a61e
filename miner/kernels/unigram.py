"""Random cuts of sentences into the pieces of a unigram model: subword sampling (Kudo 2018).

SentencePiece can sample too, but mixes into its random numbers what differs from one process to
the next, whatever seed it is given; and a training must come out the same when it is repeated.

A cut ``x`` of a sentence is drawn with a probability in proportion to ``P(x) ** alpha``, where
``P`` is the product of the probabilities of its pieces, and a character that is no piece counts as
one unknown piece. First the sum over all cuts of the rest of the sentence is found for every place
in it, from the end; then pieces are drawn from the start.
"""

from collections.abc import Sequence
from itertools import pairwise

import numba
import numpy as np

from miner.kernels.units import BITS, find, table

# (slots, places: a table of what follows which node; child: the node that follows; piece: of each
# node, or -1; score of that piece). Pieces are paths from node 0, a character a step.
Trie = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def trie(pieces: Sequence[str], numbers: Sequence[int], scores: Sequence[float]) -> Trie:
    """The ``pieces``, their ``numbers`` and log-probabilities, as :func:`sample` takes them."""
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
    piece[nodes] = np.asarray(numbers, dtype=np.int32)[order]
    score[nodes] = np.asarray(scores, dtype=np.float64)[order]
    keys = np.fromiter(steps, dtype=np.uint64, count=len(steps))
    child = np.fromiter(steps.values(), dtype=np.int32, count=len(steps))
    return *table(keys), child, piece, score


@numba.njit(nogil=True, cache=True)
def _edges(codes, start, tree, alpha, unknown, total, edge_piece, edge_end, edge_weight):
    """The pieces that begin at ``start``, with the logarithm of what each weighs; how many."""
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


@numba.njit(nogil=True, cache=True)
def _mixed(state):
    """One step of SplitMix64: a number, uint64, that shows no trace of ``state``."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def sample(codes, offsets, tree, longest, unknown, alpha, seed, first, out, lengths):
    """Cut every sentence at random; ``lengths (n,) int64`` gets how many pieces each has.

    ``codes (t,) uint32``, ``offsets (n + 1,) int64``; ``tree`` a :func:`trie` of pieces of at most
    ``longest`` characters; ``unknown`` the log-probability of an unknown piece, whose number is
    -1; ``out (t,) int32`` gets the pieces in a row. Returns how many they are. Sentence ``i`` is
    cut by random numbers that follow from ``seed`` and ``first + i`` (both uint64) alone.
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


def cuts_reference(
    text: str, scores: dict[str, float], unknown: float, alpha: float
) -> dict[tuple[str, ...], float]:
    """Every way to cut a short ``text``, with the probability that :func:`sample` draws it."""
    weights: dict[tuple[str, ...], float] = {}
    for cuts in range(1 << max(len(text) - 1, 0)):
        places = [0, *(i for i in range(1, len(text)) if cuts >> (i - 1) & 1), len(text)]
        pieces = tuple(text[a:b] for a, b in pairwise(places))
        if all(piece in scores or len(piece) == 1 for piece in pieces):
            weights[pieces] = np.exp(alpha * sum(scores.get(piece, unknown) for piece in pieces))
    whole = sum(weights.values())
    return {pieces: weight / whole for pieces, weight in weights.items()}
