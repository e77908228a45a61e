"""Plain references of compiled kernels that several tests use; others are beside their test.

Each takes the arguments of its kernel, with lists in place of flat arrays where that is simpler.
"""

import itertools
import re
from collections.abc import Sequence

import numpy as np

from miner.kernels.dots import cosines
from miner.kernels.fused import UP, Pack
from miner.kernels.hidden_markov import (
    COSINES,
    EVIDENCES,
    LEAST,
    PER_COSINE,
    PER_EVIDENCE,
    REACH,
)
from miner.kernels.long_texts import ORDER_PART, ORDER_REACH, windows
from miner.kernels.ngrams import END, START
from miner.kernels.tokens import COLUMNS, EMPTY, FEWEST, LONGEST, MATCHED, NEAR, ORDER_COLUMNS


def similarity_reference(rows: Pack, columns: Pack) -> np.ndarray:
    """The whole similarity matrix of :func:`miner.kernels.fused.merge`, ``(n, m) float32``."""
    left, right = (
        part.tiles.astype(np.int64).transpose(0, 2, 1, 3).reshape(len(part.scale), -1)
        for part in (rows, columns)
    )
    product = (left @ (right - UP).T).astype(np.float32)
    return (product * columns.scale * rows.scale[:, None])[: rows.count, : columns.count]


def mean_pool_reference(
    table: np.ndarray, scales: np.ndarray, ids: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Unit vectors by :func:`miner.kernels.pool.mean_pool`, in double precision."""
    out = np.zeros((len(offsets) - 1, table.shape[1]), dtype=np.float64)
    for row in range(len(out)):
        own = ids[offsets[row] : offsets[row + 1]]
        total = (table[own].astype(np.float64) * scales[own, None]).sum(axis=0)
        norm = np.sqrt(total @ total)
        if norm > 0:
            out[row] = total / norm
    return out


# Separators of thousands: space, no-break space, narrow no-break space, apostrophes.
_GROUP = "[ \u00a0\u202f'\u2019]"
_NUMBER = re.compile(
    rf"(?<!\d)\d{{1,3}}(?:{_GROUP}[0-9]{{3}}(?!\d))+(?:[.,٫٬]\d+)*|\d+(?:[.,٫٬]\d+)*"
)
_MASK = (1 << 64) - 1


def find_numbers_reference(sentence: str) -> list[int]:
    """Numbers of one sentence by :func:`miner.kernels.numbers.find_numbers`."""
    found = (re.sub(r"\D", "", match) for match in _NUMBER.findall(sentence))
    return sorted({int(digits) & _MASK for digits in found})


def shared_numbers_reference(
    source: list[list[int]], target: list[list[int]], rows: list[tuple[int, int]]
) -> list[int]:
    """Counts by :func:`miner.kernels.numbers.shared_numbers`."""
    return [len(set(source[s]) & set(target[t])) for s, t in rows]


def surprise_reference(sentences, words, pairs, triples):
    """Log probability of every word and of the end, for each of ``sentences`` (lists of ids).

    :func:`miner.kernels.ngrams.surprise` returns their negative mean.
    """

    def entries(slots, places):
        both = zip(slots.tolist(), places.tolist(), strict=True)
        return {(key >> 32, key & 0xFFFFFFFF): place for key, place in both if place >= 0}

    word_log, word_backoff = words
    pair_place, (pair_log, pair_backoff) = entries(*pairs[:2]), pairs[2:]
    triple_place, triple_log = entries(*triples[:2]), triples[2]

    def log(first, second, third):
        context = pair_place.get((first, second))
        if (context, third) in triple_place:
            return triple_log[triple_place[context, third]]
        seen = pair_place.get((second, third))
        lower = word_backoff[second] + word_log[third] if seen is None else pair_log[seen]
        return lower if context is None else pair_backoff[context] + lower

    padded = ([START, START, *sentence, END] for sentence in sentences)
    return [[log(*line[i - 2 : i + 1]) for i in range(2, len(line))] for line in padded]


def compared(a, b):
    """Mask ``(n, m)`` of the position pairs that are compared: all, or windows of long texts."""
    if max(len(a), len(b)) <= LONGEST:
        return np.ones((len(a), len(b)), dtype=bool)
    mask = np.zeros((len(a), len(b)), dtype=bool)
    for own, others in windows(len(a), len(b)):
        mask[own, others] = True
    return mask


def compare_reference(source, target, rows, codes, scale, weight, frequency, lexicon):
    """Features by :func:`miner.kernels.tokens.compare`, for lists of token ids."""
    offsets, pieces, probability = lexicon
    table = np.zeros((len(weight), len(weight)))
    for piece in range(len(weight)):
        span = slice(offsets[piece], offsets[piece + 1])
        table[piece, pieces[span]] = probability[span]
    information = -np.log(frequency)
    out = np.zeros((len(rows), COLUMNS))
    for number, (s, t) in enumerate(rows):
        a, b = source[s], target[t]
        if not len(a) or not len(b):
            continue
        mask = compared(a, b)
        similarity = np.where(mask, cosines(codes, scale, a, b), -np.inf)
        for side, (own, other, values, near) in enumerate(
            [(a, b, similarity, mask), (b, a, similarity.T, mask.T)]
        ):
            best = np.where(near.any(axis=1), values.max(axis=1), 0)
            total = (table[np.ix_(other, own)].T * near).sum(axis=1)
            heavy, rare = weight[own], information[own]
            out[number, side] = (heavy * best).sum() / heavy.sum()
            out[number, 2 + side] = heavy[best < MATCHED].sum() / heavy.sum()
            chance = total / np.maximum(near.sum(axis=1), 1) + EMPTY * frequency[own]
            out[number, 4 + side] = np.log(chance / ((1 + EMPTY) * frequency[own])).mean()
            out[number, 6 + side] = (rare * np.minimum(total, 1)).sum() / rare.sum()
        shared = (mask & np.equal.outer(a, b)).any(axis=1)
        out[number, 8] = information[a][shared].sum() / information[a].sum()
    return out


def order_reference(source, target, codes, scale, weight):
    """Features of order by :func:`miner.kernels.tokens.compare`, ``(n, 4)``, for lists of ids."""
    out = np.ones((len(source), ORDER_COLUMNS))
    for number, (a, b) in enumerate(zip(source, target, strict=True)):
        if not len(a) or not len(b):
            continue
        a, b = np.array(a), np.array(b)
        parts = [(slice(0, len(a)), slice(0, len(b)))]
        if max(len(a), len(b)) > LONGEST:
            parts = windows(len(a), len(b), ORDER_PART, ORDER_REACH)
        rows = np.array(
            [_order_of_part(a[own], b[other], codes, scale, weight) for own, other in parts]
        )
        for column in range(4):
            share = [part[column % 2].stop - part[column % 2].start for part in parts]
            out[number, column] = np.average(rows[:, column], weights=share)
    return out


def _order_of_part(a, b, codes, scale, weight):
    row = np.ones(ORDER_COLUMNS)
    if not len(a) or not len(b):
        return row
    similarity = cosines(codes, scale, a, b)
    for side, (own, table) in enumerate(((a, similarity), (b, similarity.T))):
        place, matched = table.argmax(axis=1), table.max(axis=1) >= MATCHED
        both = matched[1:] & matched[:-1]
        heavy = np.minimum(weight[own][1:], weight[own][:-1]) * both
        if heavy.sum() > 0:
            near = np.abs(np.diff(place)) <= NEAR
            row[side] = (heavy * near).sum() / heavy.sum()
        rank, found = np.arange(matched.sum()), place[matched]
        if len(found) >= FEWEST and found.std() > 0:
            row[2 + side] = np.corrcoef(rank, found)[0, 1]
    return row


def emissions_reference(
    a: Sequence[int],
    b: Sequence[int],
    cosine: np.ndarray,
    evidence: np.ndarray,
    emission: np.ndarray,
) -> np.ndarray:
    """Emissions of the tokens of ``b (m,)`` at those of ``a (n,)``, whose tables are ``(m, n)``."""
    row = np.trunc((cosine - LEAST) * PER_COSINE).clip(0, COSINES - 2).astype(int)
    row[np.asarray(b)[:, None] == np.asarray(a)] = COSINES - 1
    column = np.trunc(1 + evidence * PER_EVIDENCE).clip(1, EVIDENCES - 1).astype(int)
    return emission[row, np.where(evidence > 0, column, 0)].astype(np.float64)


def alignments_reference(
    emission: np.ndarray, jump: np.ndarray, unaligned: float
) -> tuple[np.ndarray, np.ndarray]:
    """Likelihoods ``(m,)`` and posteriors ``(m, n)`` of :mod:`miner.kernels.hidden_markov`.

    ``emission (m, n)`` are those of all tokens at all positions. Every sequence of positions is
    weighed, with each token aligned or not.
    """
    m, n = emission.shape
    distance = np.arange(n) - np.arange(n)[:, None]  # jump from the row's position to the column's
    near = np.abs(distance) <= REACH
    moves = np.where(near, jump[distance.clip(-REACH, REACH) + REACH], 0) + jump[-1] / n
    moves /= moves.sum(axis=1, keepdims=True)
    totals, posterior = [1.0], np.zeros((m, n))
    for length in range(1, m + 1):
        total = 0.0
        for path in itertools.product(itertools.product(range(n), (True, False)), repeat=length):
            weight, before = 1.0, None
            for j, (position, aligned) in enumerate(path):
                if before is None:
                    weight /= n
                elif aligned:
                    weight *= moves[before, position]
                else:
                    weight *= position == before
                weight *= (1 - unaligned) * emission[j, position] if aligned else unaligned
                before = position
            total += weight
            for j, (position, aligned) in enumerate(path):
                posterior[j, position] += weight * aligned * (length == m)
        totals.append(total)
    return np.divide(totals[1:], totals[:-1]), posterior / totals[-1]
