"""Pair features: the tokens of two sentences compared. The inner loop of verification.

Every candidate pair is compared on its own, so its features do not depend on the batch.
"""

import numba
import numpy as np

from miner.kernels.cache import njit
from miner.kernels.dots import dots
from miner.kernels.long_texts import (
    ORDER_PART,
    ORDER_REACH,
    PART,
    REACH,
    bounds,
    compare_windows,
    part_count,
)
from miner.kernels.order import MATCHED, order_features

# Tokens of a sentence that is compared as a whole; longer ones are compared by windows.
LONGEST = 128
# Weight of a token's own frequency in its translation probability: Model 1's empty word.
EMPTY = 0.02
# Candidates that a thread takes at a time; distinct tokens of a source's candidates that it keeps.
CHUNK, SLOTS = 4096, 4096
# Columns of the result: four features, each for source and target, and one for the pair.
COLUMNS = 9


@numba.njit(error_model="numpy")
def _features(own, others, best, total, weight, frequency, information, row, side):
    """Write the four features of one side of a pair to ``row``.

    ``own (n,)`` are its token ids, ``others (n,)`` the numbers of tokens that each is compared
    with, ``best (n,)`` the best similarity of each token and ``total (n,)`` its summed translation
    probability.
    """
    heavy = rare = aligned = unmatched = association = covered = 0.0
    for i in range(len(own)):
        token = own[i]
        heavy += weight[token]
        rare += information[token]
        aligned += weight[token] * best[i]
        if best[i] < MATCHED:
            unmatched += weight[token]
        chance = total[i] / others[i] + EMPTY * frequency[token]
        association += np.log(chance / ((1 + EMPTY) * frequency[token]))
        covered += information[token] * min(np.float32(1.0), total[i])
    row[side] = aligned / heavy
    row[2 + side] = unmatched / heavy
    row[4 + side] = association / len(own)
    row[6 + side] = covered / rare


@numba.njit(error_model="numpy")
def _compare_long(a, b, table, information, lexicon, row, order):
    """Write the features of a pair with a side longer than LONGEST, by windows.

    ``row (COLUMNS,)`` and ``order``, which may be empty, are rows of the results of
    :func:`compare`.
    """
    weight, frequency = table[2:]
    part_row = np.ones(4, dtype=np.float32)
    for side in range(2):
        own, others = (a, b) if side == 0 else (b, a)
        n = len(own)
        best, total = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.float32)
        place, size = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        shared = np.empty(n, dtype=np.bool_)
        found = best, place, total, size, shared
        compare_windows(own, others, PART, REACH, table, lexicon, found)
        _features(own, size, best, total, weight, frequency, information, row, side)
        if side == 0:
            common = known = 0.0
            for i in range(n):
                known += information[own[i]]
                if shared[i]:
                    common += information[own[i]]
            row[8] = common / known
        if len(order):
            compare_windows(own, others, ORDER_PART, ORDER_REACH, table, lexicon, found)
            adjacent = correlation = 0.0
            parts = part_count(n, len(others), ORDER_PART)
            for w in range(parts):
                first, last, _, _ = bounds(n, len(others), parts, w, ORDER_REACH)
                part_row[:] = 1.0
                order_features(
                    own[first:last], place[first:last], best[first:last], weight, part_row, side
                )
                adjacent += part_row[side] * (last - first)
                correlation += part_row[2 + side] * (last - first)
            order[side], order[2 + side] = adjacent / n, correlation / n


@numba.njit(error_model="numpy")
def _places(similar, slot, b, n, place_a, best_a, place_b):
    """Find the positions of the counterparts of both sides: ``place_a (n,)`` and ``place_b``.

    ``best_a (n,)`` gets the similarities of the source tokens to their counterparts.
    """
    best_a[:n] = -np.inf
    for j in range(len(b)):
        own = similar[slot[b[j]]]
        nearest = np.float32(-np.inf)
        for i in range(n):
            if own[i] > best_a[i]:
                best_a[i], place_a[i] = own[i], j
            if own[i] > nearest:
                nearest, place_b[j] = own[i], i


@njit(parallel=True, error_model="numpy")
def compare(source, target, source_row, target_row, table, lexicon, out, order):
    """Write the pair features of every candidate pair to ``out (m, COLUMNS) float32``.

    ``source`` and ``target`` are token ids ``(t,) int32`` with offsets ``(n + 1,) int64``; pair
    ``c`` is the sentence ``source_row[c]`` with ``target_row[c]``. ``table`` is ``(codes, scale,
    weight, frequency)`` of V tokens: ``codes (V, p) int8``, with p a multiple of
    :data:`miner.kernels.dots.STEP`, times ``scale (V,) float32`` are unit rows, ``weight (V,)`` > 0
    and ``frequency (V,)`` in (0, 1). ``lexicon`` is ``(offsets, translations, probability)``.

    Columns 0 to 7 are four features, each for the tokens of the source, then of the target:

    - mean similarity to the most similar token of the other side, by weight;
    - share of the weight in tokens whose best similarity is below MATCHED;
    - mean of log p(token | other sentence) / p(token) by IBM Model 1 (Brown et al. 1993);
    - share of the information (-log frequency) that the other sentence translates.

    Column 8 is the share of the source's information in tokens that the target has too. All are
    zero for a sentence without tokens. If a sentence has more than LONGEST tokens, each token is
    compared with a window (:mod:`miner.kernels.long_texts`). ``order (m, 4) float32`` gets the
    features of :mod:`miner.kernels.order`; with no rows, they are not computed.

    Candidates sorted by source are several times faster: what relates a target token to a source is
    computed once for consecutive candidates of that source.
    """
    codes, scale, weight, frequency = table
    offsets, translations, probability = lexicon
    source_ids, source_offsets = source
    target_ids, target_offsets = target
    m = len(source_row)
    information = -np.log(frequency)
    for chunk in numba.prange((m + CHUNK - 1) // CHUNK):
        left = np.zeros((LONGEST, codes.shape[1]), dtype=np.int16)
        left_scale = np.empty(LONGEST, dtype=np.float32)
        eight = np.empty(8, dtype=np.int32)
        # Row of each target token in the tables below; -1 if it has none yet.
        slot = np.full(len(weight), -1, dtype=np.int32)
        used = np.empty(SLOTS, dtype=np.int32)
        count = 0
        # (slot, source position): similarity, and probability of the source token given the other.
        similar = np.empty((SLOTS, LONGEST), dtype=np.float32)
        backward = np.zeros((SLOTS, LONGEST), dtype=np.float32)
        # By slot: best similarity, and summed probability given the source.
        nearest = np.empty(SLOTS, dtype=np.float32)
        forward = np.empty(SLOTS, dtype=np.float32)
        # First source position of each token, and the next position of the same token.
        position = np.full(len(weight), -1, dtype=np.int32)
        following = np.empty(LONGEST, dtype=np.int32)
        # Summed probability of each token given the source.
        translated = np.zeros(len(weight), dtype=np.float32)
        best_a = np.empty(LONGEST, dtype=np.float32)
        best_b = np.empty(LONGEST, dtype=np.float32)
        place_a = np.empty(LONGEST, dtype=np.int64)
        place_b = np.empty(LONGEST, dtype=np.int64)
        total_a = np.empty(LONGEST, dtype=np.float32)
        total_b = np.empty(LONGEST, dtype=np.float32)
        size_a = np.empty(LONGEST, dtype=np.int64)
        size_b = np.empty(LONGEST, dtype=np.int64)
        before = -1
        a = source_ids[:0]
        for c in range(chunk * CHUNK, min(m, (chunk + 1) * CHUNK)):
            s, t = source_row[c], target_row[c]
            out[c] = 0.0
            if len(order):
                order[c] = 1.0
            b = target_ids[target_offsets[t] : target_offsets[t + 1]]
            own_source = source_ids[source_offsets[s] : source_offsets[s + 1]]
            if len(own_source) == 0 or len(b) == 0:
                continue
            if len(own_source) > LONGEST or len(b) > LONGEST:
                row = order[c] if len(order) else order[:0].ravel()
                _compare_long(own_source, b, table, information, lexicon, out[c], row)
                continue
            if s != before or count + len(b) > SLOTS:
                for place in range(count):
                    slot[used[place]] = -1
                count = 0
            if s != before:
                for token in a:
                    position[token] = -1
                    for entry in range(offsets[token], offsets[token + 1]):
                        translated[translations[entry]] = 0.0
                a = own_source
                for i in range(len(a) - 1, -1, -1):
                    code, own = codes[a[i]], left[i]
                    for k in range(len(code)):
                        own[k] = code[k]
                    left_scale[i] = scale[a[i]]
                    following[i] = position[a[i]]
                    position[a[i]] = i
                for token in a:
                    for entry in range(offsets[token], offsets[token + 1]):
                        translated[translations[entry]] += probability[entry]
                before = s
            known_before = count
            for token in b:
                if slot[token] < 0:
                    slot[token] = count
                    used[count] = token
                    count += 1
            new = count - known_before
            dots(left, len(a), codes, used[known_before:], new, similar[known_before:], eight)
            for place in range(known_before, count):
                token = used[place]
                own = similar[place]
                best = np.float32(-np.inf)
                for i in range(len(a)):
                    value = own[i] * (scale[token] * left_scale[i])
                    own[i] = value
                    best = value if value > best else best
                nearest[place] = best
                forward[place] = translated[token]
                backward[place, : len(a)] = 0.0
                for entry in range(offsets[token], offsets[token + 1]):
                    i = position[translations[entry]]
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
            size_a[: len(a)], size_b[: len(b)] = len(b), len(a)
            _features(a, size_a, best_a, total_a, weight, frequency, information, row, 0)
            _features(b, size_b, best_b, total_b, weight, frequency, information, row, 1)
            shared = known = 0.0
            for token in a:
                known += information[token]
            for j in range(len(b)):
                i = position[b[j]]
                while i >= 0:  # each source position once, also if the target repeats the token
                    if best_a[i] > -np.inf:
                        shared += information[b[j]]
                        best_a[i] = -np.inf
                    i = following[i]
            row[8] = shared / known
            if len(order):
                _places(similar, slot, b, len(a), place_a, best_a, place_b)
                order_features(a, place_a, best_a, weight, order[c], 0)
                order_features(b, place_b, best_b, weight, order[c], 1)
