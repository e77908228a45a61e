"""Pair features: the tokens of two sentences compared. The inner loop of verification.

Every candidate pair is compared on its own, so its features do not depend on the batch.
"""

import numpy as np

from miner.kernels.dots import dots, sums_of_tile
from miner.kernels.long_texts import (
    ORDER_PART,
    ORDER_REACH,
    PART,
    REACH,
    bounds,
    compare_windows,
    part_count,
    window_scratch,
)
from miner.kernels.loops import njit
from miner.kernels.order import MATCHED, order_features
from miner.parallel import in_ranges

# Tokens of a sentence that is compared as a whole; longer ones are compared by windows.
LONGEST = 128
# Weight of a token's own frequency in its translation probability: Model 1's empty word.
EMPTY = 0.02
# Candidates that a thread takes at a time, of long texts fewer; distinct tokens of a source's
# candidates that it keeps.
CHUNK, LONG_CHUNK, SLOTS = 4096, 64, 4096
# Columns of the result: four features, each for source and target, and one for the pair.
COLUMNS = 9


@njit(error_model="numpy")
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


@njit(nogil=True, error_model="numpy")
def _compare_long(pairs, texts, table, information, lexicon, scratch, out, order):
    """Write the features of ``pairs`` with a side longer than LONGEST, by windows.

    ``texts`` are the sides, ids and offsets, and the rows of the pairs. ``scratch`` is by
    :func:`miner.kernels.long_texts.window_scratch`.
    """
    weight, frequency = table[2:]
    source, target, source_row, target_row = texts
    best, total = scratch[5][0], scratch[5][1]
    place, size = scratch[6][0], scratch[6][1]
    shared = scratch[7]
    part_row = np.ones(4, dtype=np.float32)
    for c in pairs:
        a, b = _sentence(source, source_row[c]), _sentence(target, target_row[c])
        for side in range(2):
            own, others = (a, b) if side == 0 else (b, a)
            n = len(own)
            # Numba would compile what is called for each constant, so these are variables.
            for ordered in range(2 if len(order) else 1):
                part, reach = (ORDER_PART, ORDER_REACH) if ordered else (PART, REACH)
                compare_windows(own, others, part, reach, table, lexicon, scratch)
                if ordered:
                    adjacent = correlation = 0.0
                    parts = part_count(n, len(others), part)
                    for w in range(parts):
                        first, last, _, _ = bounds(n, len(others), parts, w, reach)
                        for column in range(4):
                            part_row[column] = 1.0
                        order_features(
                            own[first:last],
                            place[first:last],
                            best[first:last],
                            weight,
                            part_row,
                            side,
                        )
                        adjacent += part_row[side] * (last - first)
                        correlation += part_row[2 + side] * (last - first)
                    order[c, side], order[c, 2 + side] = adjacent / n, correlation / n
                    continue
                _features(own, size, best, total, weight, frequency, information, out[c], side)
                if side == 0:
                    common = known = 0.0
                    for i in range(n):
                        known += information[own[i]]
                        if shared[i]:
                            common += information[own[i]]
                    out[c, 8] = common / known


@njit(error_model="numpy")
def _sentence(text, row):
    ids, offsets = text
    return ids[offsets[row] : offsets[row + 1]]


@njit(error_model="numpy")
def _places(similar, slot, b, n, place_a, best_a, place_b):
    """Find the positions of the counterparts of both sides: ``place_a (n,)`` and ``place_b``.

    ``best_a (n,)`` gets the similarities of the source tokens to their counterparts.
    """
    for i in range(n):
        best_a[i] = -np.inf
    for j in range(len(b)):
        own = similar[slot[b[j]]]
        nearest = np.float32(-np.inf)
        for i in range(n):
            if own[i] > best_a[i]:
                best_a[i], place_a[i] = own[i], j
            if own[i] > nearest:
                nearest, place_b[j] = own[i], i


@njit(nogil=True, error_model="numpy")
def _logarithms(frequency, information):
    for token in range(len(frequency)):
        information[token] = -np.log(frequency[token])


def _scratch(table: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Allocate what `_compare_short` works in."""
    codes = table[0]
    return (
        np.zeros((LONGEST, codes.shape[1]), dtype=np.int16),
        sums_of_tile(),
        np.full((2, len(codes)), -1, dtype=np.int32),
        np.zeros(len(codes), dtype=np.float32),
        np.empty((2, SLOTS, LONGEST), dtype=np.float32),
        np.empty((2, SLOTS), dtype=np.float32),
        np.empty(max(SLOTS, LONGEST), dtype=np.int32),
        np.empty(LONGEST, dtype=np.int32),
        np.empty((5, LONGEST), dtype=np.float32),
        np.empty((4, LONGEST), dtype=np.int64),
    )


@njit(nogil=True, error_model="numpy")
def _compare_short(start, end, texts, table, information, lexicon, scratch, out, order):
    """Write the features of the pairs from ``start`` to ``end``, but for long ones.

    Arguments as of `_compare_long`; ``scratch`` is by `_scratch`. Compiles fast because it makes no
    array and assigns to no slice, for which numba compiles the texts of errors, too.
    """
    codes, scale, weight, frequency = table
    offsets, translations, probability = lexicon
    source, target, source_row, target_row = texts
    # ``translated``: summed probability of each token given the source.
    left, sums, of_token, translated, of_slots, of_slot, used, following, values, places = scratch
    # Of each target token, its row in the tables of slots, -1 if it has none yet; of each token,
    # its first position in the source. The next position of the same token is ``following``.
    slot, position = of_token[0], of_token[1]
    # (slot, source position): similarity, and probability of the source token given the other.
    similar, backward = of_slots[0], of_slots[1]
    # By slot: best similarity, and summed probability given the source.
    nearest, forward = of_slot[0], of_slot[1]
    left_scale, best_a, total_a = values[0], values[1], values[3]
    count, before = 0, -1
    a = source[0][:0]
    for c in range(start, end):
        own_source, b = _sentence(source, source_row[c]), _sentence(target, target_row[c])
        s, row = source_row[c], out[c]
        for column in range(COLUMNS):
            row[column] = 0.0
        for column in range(order.shape[1] if len(order) else 0):
            order[c, column] = 1.0
        if min(len(own_source), len(b)) == 0 or max(len(own_source), len(b)) > LONGEST:
            continue
        if s != before or count + len(b) > SLOTS:
            for k in range(count):
                slot[used[k]] = -1
            count = 0
        if s != before:
            _forget(a, position, translated, offsets, translations)
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
        dots(left, len(a), codes, used[known_before:], new, similar[known_before:], sums)
        for place in range(known_before, count):
            token = used[place]
            own, back = similar[place], backward[place]
            best = np.float32(-np.inf)
            for i in range(len(a)):
                value = own[i] * (scale[token] * left_scale[i])
                own[i] = value
                best = value if value > best else best
                back[i] = 0.0
            nearest[place] = best
            forward[place] = translated[token]
            for entry in range(offsets[token], offsets[token + 1]):
                i = position[translations[entry]]
                while i >= 0:
                    back[i] = probability[entry]
                    i = following[i]
        for i in range(len(a)):
            best_a[i], total_a[i], places[2, i] = -np.inf, 0.0, len(b)
        for j in range(len(b)):
            place = slot[b[j]]
            values[2, j], values[4, j], places[3, j] = nearest[place], forward[place], len(a)
            own, back = similar[place], backward[place]
            for i in range(len(a)):
                best_a[i] = own[i] if own[i] > best_a[i] else best_a[i]
                total_a[i] += back[i]
        for side in range(2):  # numba would compile it twice for constants
            own_tokens, size = a if side == 0 else b, places[2 + side]
            best, total = values[1 + side], values[3 + side]
            _features(own_tokens, size, best, total, weight, frequency, information, row, side)
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
            _places(similar, slot, b, len(a), places[0], best_a, places[1])
            for side in range(2):
                own_tokens, best = a if side == 0 else b, values[1 + side]
                order_features(own_tokens, places[side], best, weight, order[c], side)


@njit(error_model="numpy")
def _forget(a, position, translated, offsets, translations):
    """Take the tokens ``a`` of a source out of ``position`` and ``translated``."""
    for token in a:
        position[token] = -1
        for entry in range(offsets[token], offsets[token + 1]):
            translated[translations[entry]] = 0.0


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
    texts = source, target, source_row, target_row
    offsets, translations, probability = lexicon
    # numba counts a signed index that is negative from the end, which takes time.
    lexicon = offsets.view(np.uint64), translations.view(np.uint32), probability
    information = np.empty(len(table[0]), dtype=np.float32)
    _logarithms(table[3], information)
    rest = texts, table, information, lexicon
    in_ranges(
        lambda first, last: _compare_short(first, last, *rest, _scratch(table), out, order),
        len(source_row),
        CHUNK,
    )
    longer = np.maximum(np.diff(source[1])[source_row], np.diff(target[1])[target_row])
    shorter = np.minimum(np.diff(source[1])[source_row], np.diff(target[1])[target_row])
    long = np.flatnonzero((longer > LONGEST) & (shorter > 0))

    def compare_long(first: int, last: int) -> None:
        scratch = window_scratch(table, longer[long].max())
        _compare_long(long[first:last], *rest, scratch, out, order)

    if len(long):
        in_ranges(compare_long, len(long), LONG_CHUNK)
