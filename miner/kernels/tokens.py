"""What the pieces of two sentences say about each other: the inner loop of the second look.

Every candidate pair is looked at by itself, so its figures depend on nothing else in the batch.
"""

import numba
import numpy as np

from miner.kernels.dots import cosines, dots
from miner.kernels.order import MATCHED, order_figures

# Pieces of a sentence that are looked at; text beyond is not.
LONGEST = 128
# Share of a piece's own frequency mixed into its translation probability (Model 1's empty word).
EMPTY = 0.02
# Candidates that a thread takes at a time, and distinct pieces of a source's candidates to keep.
CHUNK, SLOTS = 4096, 4096
# Columns of the result: two a figure, source and target, but for the last.
COLUMNS = 9


def compare_reference(source, target, rows, codes, scale, weight, frequency, lexicon):
    """What :func:`compare` computes, in plain numpy; ``source`` and ``target`` lists of ids."""
    offsets, pieces, probability = lexicon
    table = np.zeros((len(weight), len(weight)))
    for piece in range(len(weight)):
        span = slice(offsets[piece], offsets[piece + 1])
        table[piece, pieces[span]] = probability[span]
    information = -np.log(frequency)
    out = np.zeros((len(rows), COLUMNS))
    for number, (s, t) in enumerate(rows):
        a, b = source[s][:LONGEST], target[t][:LONGEST]
        if not len(a) or not len(b):
            continue
        similarity = cosines(codes, scale, a, b)
        for side, (own, other, best) in enumerate(
            [(a, b, similarity.max(axis=1)), (b, a, similarity.max(axis=0))]
        ):
            total = table[np.ix_(other, own)].sum(axis=0)
            heavy, rare = weight[own], information[own]
            out[number, side] = (heavy * best).sum() / heavy.sum()
            out[number, 2 + side] = heavy[best < MATCHED].sum() / heavy.sum()
            chance = total / len(other) + EMPTY * frequency[own]
            out[number, 4 + side] = np.log(chance / ((1 + EMPTY) * frequency[own])).mean()
            out[number, 6 + side] = (rare * np.minimum(total, 1)).sum() / rare.sum()
        shared = np.isin(a, b)
        out[number, 8] = information[a][shared].sum() / information[a].sum()
    return out


@numba.njit(error_model="numpy")
def _figures(own, others, best, total, weight, frequency, information, row, side):
    """One side's four figures of a pair, by each piece's best similarity and translation."""
    heavy = rare = aligned = unmatched = association = covered = 0.0
    for i in range(len(own)):
        piece = own[i]
        heavy += weight[piece]
        rare += information[piece]
        aligned += weight[piece] * best[i]
        if best[i] < MATCHED:
            unmatched += weight[piece]
        chance = total[i] / others + EMPTY * frequency[piece]
        association += np.log(chance / ((1 + EMPTY) * frequency[piece]))
        covered += information[piece] * min(np.float32(1.0), total[i])
    row[side] = aligned / heavy
    row[2 + side] = unmatched / heavy
    row[4 + side] = association / len(own)
    row[6 + side] = covered / rare


@numba.njit(error_model="numpy")
def _places(similar, slot, b, n, place_a, best_a, place_b):
    """Where the counterparts stand of ``n`` source pieces, with ``best_a``, and of the target's."""
    best_a[:n] = -np.inf
    for j in range(len(b)):
        own = similar[slot[b[j]]]
        nearest = np.float32(-np.inf)
        for i in range(n):
            if own[i] > best_a[i]:
                best_a[i], place_a[i] = own[i], j
            if own[i] > nearest:
                nearest, place_b[j] = own[i], i


@numba.njit(parallel=True, cache=True, error_model="numpy")
def compare(
    source_ids,
    source_offsets,
    target_ids,
    target_offsets,
    source_row,
    target_row,
    codes,
    scale,
    weight,
    frequency,
    offsets,
    pieces,
    probability,
    out,
    order,
):
    """Figures of every candidate pair into ``out (m, COLUMNS) float32``.

    Sentences are flat ids, ``(t,) int32`` with ``(n + 1,) int64`` offsets; pair ``c`` is source
    ``source_row[c]`` and target ``target_row[c]``. ``codes (V, p) int8``, p a multiple of
    :data:`miner.kernels.dots.STEP`, times ``scale (V,) float32`` are the unit rows of the
    embedding; ``weight (V,)`` > 0 says how much a piece counts, ``frequency (V,)`` in (0, 1) how
    common it is; ``offsets``, ``pieces``, ``probability`` are the lexicon. Columns, each for the
    source's pieces and then the target's: weighted mean of the best similarity to a piece of the
    other side; share of weight whose best is below MATCHED; mean log of p(piece | other sentence) /
    p(piece) by IBM Model 1 (Brown et al. 1993); share of information (-log frequency) that the
    other sentence translates. Last, the share of the source's information in pieces that the target
    has too. Zeros for a sentence without pieces. ``order (m, 4) float32`` gets the figures of
    :mod:`miner.kernels.order`, or nothing where it has no rows.

    What a target's piece has to do with a source is worked out once for all candidates of that
    source that stand in a row, so it is several times faster where they are sorted by source.
    """
    m = len(source_row)
    information = -np.log(frequency)
    for chunk in numba.prange((m + CHUNK - 1) // CHUNK):
        left = np.zeros((LONGEST, codes.shape[1]), dtype=np.int16)
        left_scale = np.empty(LONGEST, dtype=np.float32)
        eight = np.empty(8, dtype=np.int32)
        # The place of a target's piece in the tables below; -1: not there yet.
        slot = np.full(len(weight), -1, dtype=np.int32)
        used = np.empty(SLOTS, dtype=np.int32)
        count = 0
        # By slot and source position: similarity, and probability of the source's piece given it.
        similar = np.empty((SLOTS, LONGEST), dtype=np.float32)
        backward = np.zeros((SLOTS, LONGEST), dtype=np.float32)
        # By slot: best similarity, summed probability given the source, whether the source has it.
        nearest = np.empty(SLOTS, dtype=np.float32)
        forward = np.empty(SLOTS, dtype=np.float32)
        # Of the source: its first position of each piece, and the next of the same piece.
        position = np.full(len(weight), -1, dtype=np.int32)
        following = np.empty(LONGEST, dtype=np.int32)
        # What the source's pieces are translated by.
        translated = np.zeros(len(weight), dtype=np.float32)
        best_a = np.empty(LONGEST, dtype=np.float32)
        best_b = np.empty(LONGEST, dtype=np.float32)
        place_a = np.empty(LONGEST, dtype=np.int64)
        place_b = np.empty(LONGEST, dtype=np.int64)
        total_a = np.empty(LONGEST, dtype=np.float32)
        total_b = np.empty(LONGEST, dtype=np.float32)
        before = -1
        a = source_ids[:0]
        for c in range(chunk * CHUNK, min(m, (chunk + 1) * CHUNK)):
            s, t = source_row[c], target_row[c]
            first, last = target_offsets[t], target_offsets[t + 1]
            b = target_ids[first : min(last, first + LONGEST)]
            if s != before or count + len(b) > SLOTS:
                for place in range(count):
                    slot[used[place]] = -1
                count = 0
            if s != before:
                for piece in a:
                    position[piece] = -1
                    for entry in range(offsets[piece], offsets[piece + 1]):
                        translated[pieces[entry]] = 0.0
                first, last = source_offsets[s], source_offsets[s + 1]
                a = source_ids[first : min(last, first + LONGEST)]
                for i in range(len(a) - 1, -1, -1):
                    code, own = codes[a[i]], left[i]
                    for k in range(len(code)):
                        own[k] = code[k]
                    left_scale[i] = scale[a[i]]
                    following[i] = position[a[i]]
                    position[a[i]] = i
                for piece in a:
                    for entry in range(offsets[piece], offsets[piece + 1]):
                        translated[pieces[entry]] += probability[entry]
                before = s
            out[c] = 0.0
            if len(order):
                order[c] = 1.0
            if len(a) == 0 or len(b) == 0:
                continue
            known_before = count
            for piece in b:
                if slot[piece] < 0:
                    slot[piece] = count
                    used[count] = piece
                    count += 1
            new = count - known_before
            dots(left, len(a), codes, used[known_before:], new, similar[known_before:], eight)
            for place in range(known_before, count):
                piece = used[place]
                own = similar[place]
                best = np.float32(-np.inf)
                for i in range(len(a)):
                    value = own[i] * (scale[piece] * left_scale[i])
                    own[i] = value
                    best = value if value > best else best
                nearest[place] = best
                forward[place] = translated[piece]
                backward[place, : len(a)] = 0.0
                for entry in range(offsets[piece], offsets[piece + 1]):
                    i = position[pieces[entry]]
                    while i >= 0:
                        backward[place, i] = probability[entry]
                        i = following[i]
            best_a[: len(a)] = -np.inf
            total_a[: len(a)] = 0.0
            for j in range(len(b)):
                place = slot[b[j]]
                best_b[j], total_b[j] = nearest[place], forward[place]
                own, back = similar[place], backward[place]
                for i in range(len(a)):
                    best_a[i] = own[i] if own[i] > best_a[i] else best_a[i]
                    total_a[i] += back[i]
            row = out[c]
            _figures(a, len(b), best_a, total_a, weight, frequency, information, row, 0)
            _figures(b, len(a), best_b, total_b, weight, frequency, information, row, 1)
            shared = known = 0.0
            for piece in a:
                known += information[piece]
            for j in range(len(b)):
                i = position[b[j]]
                while i >= 0:  # each position of the source once, whatever repeats in the target
                    if best_a[i] > -np.inf:
                        shared += information[b[j]]
                        best_a[i] = -np.inf
                    i = following[i]
            row[8] = shared / known
            if len(order):
                _places(similar, slot, b, len(a), place_a, best_a, place_b)
                order_figures(a, place_a, best_a, weight, order[c], 0)
                order_figures(b, place_b, best_b, weight, order[c], 1)
