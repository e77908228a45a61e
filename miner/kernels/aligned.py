"""Tokens of two sentences, each beside its counterpart, and the comparer that reads them.

A token's counterpart is the token of the other sentence with the highest sum of cosine and lexical
evidence, less a little for its distance. The comparer is a small network over tokens and their
counterparts, pooled by mean and maximum (decomposable attention, Parikh et al. 2016, with a hard
alignment).

A hidden Markov model aligns the tokens as well (:mod:`miner.kernels.hidden_markov`), by their order
among other things. A token that matches nothing is no news if it never does, as many function
words. How surprising it is tells a table of its usual matches.
"""

import numpy as np

from miner.kernels.dots import dots, sums_of_tile
from miner.kernels.hidden_markov import (
    COSINES,
    EVIDENCES,
    FLOOR,
    count_pair,
    match_tokens,
    workspace,
)
from miner.kernels.loops import njit
from miner.parallel import in_ranges

# Tokens of a sentence that are compared; the rest of a longer text is not looked at.
MOST = 384
# Evidence is the logarithm of how much likelier than chance a translation is, over this number.
EVIDENCE = 10.0
# What a distance as long as the sentence costs a counterpart.
DISTANCE = 0.15
# Numbers that describe a token and its counterpart: of `_describe`, then of `_describe_match`.
COLUMNS = 22
# Column of a token's surprise, in nats.
SURPRISE = 21
# Surprise of a token id by its match: columns of the table, the match at which they begin, columns
# that a nat of the match spans, and codes that a nat of surprise has.
BINS, LOWEST, PER_MATCH, PER_NAT = 24, -9.0, 2.0, 16
# Farthest jump that is counted by itself.
FARTHEST = 40
# Pairs that a thread takes at a time.
CHUNK = 256


def _scratch(table: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Allocate what `_align` works in: five tables of all pairs of tokens, and smaller arrays.

    The second array is a view of the tables in which each is flat.
    """
    codes = table[0]
    tables = np.empty((5, MOST, MOST), dtype=np.float32)
    return (
        tables,
        tables.reshape(5, MOST * MOST),
        np.zeros((MOST, codes.shape[1]), dtype=np.int16),
        sums_of_tile(),
        np.full(len(codes), -1, dtype=np.int32),
        np.empty(MOST, dtype=np.int32),
        np.empty(MOST, dtype=np.float64),
        np.zeros((2, MOST), dtype=np.int64),
        np.empty((2 * MOST, 2), dtype=np.float32),
    )


@njit(error_model="numpy")
def _translations(own, others, lexicon, position, following, step, other_step, out):
    """Write the probabilities of ``others (m,)`` as translations of ``own (n,)``.

    Token ``j`` given ``i`` is at ``out[i * step + j * other_step]``. ``position (V,)`` is -1
    everywhere, and will be again; ``following (MOST,)`` is scratch.
    """
    offsets, translations, probability = lexicon
    for j in range(len(others) - 1, -1, -1):
        following[j] = position[others[j]]
        position[others[j]] = j
    for i in range(len(own)):
        for j in range(len(others)):
            out[i * step + j * other_step] = 0.0
        for entry in range(offsets[own[i]], offsets[own[i] + 1]):
            j = position[translations[entry]]
            while j >= 0:
                out[i * step + j * other_step] = probability[entry]
                j = following[j]
    for token in others:
        position[token] = -1


@njit(error_model="numpy")
def _relate(a, b, table, lexicon, scratch):
    """Write tables of all pairs of tokens, row ``j`` of ``b (m,)``, column ``i`` of ``a (n,)``.

    They are cosines, the probabilities of ``b`` given ``a`` and of ``a`` given ``b``, the evidence
    of the likelier of both, and scores.
    """
    codes, scale, _, frequency = table
    tables, flat, rows, sums, position, following, along = scratch[:7]
    n, m = len(a), len(b)
    for i in range(n):
        code, row = codes[a[i]], rows[i]
        for k in range(len(code)):
            row[k] = code[k]
        along[i] = (i + 0.5) / n
    dots(rows, n, codes, b, m, tables[0], sums)
    for side in range(2):  # numba would compile it twice for constants
        own, others = (a, b) if side == 0 else (b, a)
        step, other_step = (1, MOST) if side == 0 else (MOST, 1)
        _translations(own, others, lexicon, position, following, step, other_step, flat[1 + side])
    for j in range(m):
        similar, forward, backward = tables[0, j], tables[1, j], tables[2, j]
        evidence, score = tables[3, j], tables[4, j]
        place = (j + 0.5) / m
        for i in range(n):
            similar[i] *= scale[b[j]] * scale[a[i]]
            ratio = max(forward[i] / frequency[b[j]], backward[i] / frequency[a[i]])
            lexical = np.log(1.0 + ratio) / EVIDENCE if ratio > 0 else 0.0
            evidence[i] = lexical
            score[i] = similar[i] + lexical - DISTANCE * abs(along[i] - place)


@njit(error_model="numpy")
def _describe(
    own, others, tables, side, step, other_step, weight, frequency, partner, mutual, out
):  # fmt: skip
    """Write the first 18 numbers of each token of ``own (n,)`` to ``out (n, COLUMNS) float32``.

    ``tables (5, MOST * MOST)`` are from `_relate`; token ``i`` of ``own`` and ``j`` of ``others
    (m,)`` are at ``i * step + j * other_step``. ``side`` of ``own`` is 0 or 1. ``partner (n,)
    int64`` gets the positions of the counterparts; ``mutual (m,)`` holds the counterparts of the
    other side, -1 where unknown.
    """
    n, m = len(own), len(others)
    similar, evidence, score = tables[0], tables[3], tables[4]
    there, back = tables[1 + side], tables[2 - side]
    for i in range(n):
        best, second, place = np.float32(-np.inf), np.float32(-np.inf), 0
        nearest = np.float32(-np.inf)
        at = i * step
        for j in range(m):
            value = score[at]
            if value > best:
                best, second, place = value, best, j
            elif value > second:
                second = value
            nearest = max(nearest, similar[at])
            at += other_step
        partner[i] = place
        out[i, 9] = min(best - second, np.float32(1.0))
        out[i, 11] = nearest
    for i in range(n):
        j = partner[i]
        a, b, row = own[i], others[j], out[i]
        at = i * step + j * other_step
        row[0] = similar[at]
        row[1] = evidence[at]
        row[2], row[3] = there[at], back[at]
        row[4] = 1.0 if a == b else 0.0
        row[5] = (j + 0.5) / m - (i + 0.5) / n
        row[6] = abs(row[5])
        row[7] = 1.0 if mutual[j] == i else 0.0
        load = 0
        for k in range(n):
            load += partner[k] == j
        row[8] = min(load - 1, 3) / 3.0
        row[10] = max(-3, min(3, partner[i + 1] - j)) / 3.0 if i + 1 < n else 0.0
        most, total = np.float32(0.0), np.float32(0.0)
        at = i * step
        for _ in range(m):
            total += there[at]
            most = max(most, evidence[at])
            at += other_step
        row[12] = most
        row[13] = weight[a]
        row[14] = -np.log(frequency[a]) / EVIDENCE
        row[15] = min(total, np.float32(1.0))
    for i in range(n):
        out[i, 16] = max(out[i - 1, 0], out[i - 1, 1]) if i > 0 else 1.0
        out[i, 17] = max(out[i + 1, 0], out[i + 1, 1]) if i + 1 < n else 1.0


@njit(error_model="numpy")
def _describe_match(a, b, aligner, surprise, scratch, work, out):
    """Write the last numbers of the tokens of both sides, whose counterparts are known.

    They are the two parts of the match, the logarithm of the posterior of the counterpart, and the
    surprise.
    """
    tables, places, matches = scratch[0], scratch[7], scratch[8]
    match_tokens(a, b, tables, aligner, work, matches)
    n = len(a)
    for i in range(n + len(b)):
        row, match = out[i], matches[i]
        token = a[i] if i < n else b[i - n]
        left = i if i < n else places[1, i - n]
        right = places[0, i] if i < n else i - n
        row[18], row[19] = match[0], match[1]
        row[20] = np.log(tables[1, right, left] * tables[2, left, right] + FLOOR)
        row[21] = np.float32(surprise[token, match_bin(match[0] + match[1])]) / PER_NAT


@njit(nogil=True, error_model="numpy")
def _align(a, b, knowledge, scratch, work, out):
    """Describe the tokens of both sides of one pair: ``out (n + m, COLUMNS)``, the source's first.

    ``scratch[7]`` (`_scratch`) gets the positions of the counterparts of both sides.
    """
    table, lexicon, aligner, surprise = knowledge
    weight, frequency = table[2:]
    flat, places = scratch[1], scratch[7]
    n, m = len(a), len(b)
    _relate(a, b, table, lexicon, scratch)
    for j in range(m):
        best, place = np.float32(-np.inf), 0
        score = scratch[0][4, j]
        for i in range(n):
            if score[i] > best:
                best, place = score[i], i
        places[1, j] = place
    for side in range(2):
        own, others = (a, b) if side == 0 else (b, a)
        step, other_step, start = (1, MOST, 0) if side == 0 else (MOST, 1, n)
        rows, partner, mutual = out[start:], places[side], places[1 - side]
        _describe(
            own, others, flat, side, step, other_step, weight, frequency, partner, mutual, rows
        )
    _describe_match(a, b, aligner, surprise, scratch, work, out)


def describe(
    source, target, source_row, target_row, table, lexicon, aligner, surprise, starts, ids, numbers
):
    """Describe the tokens of pairs.

    Texts, rows, table and lexicon as in :func:`miner.kernels.tokens.compare`; ``aligner`` as in
    :mod:`miner.kernels.hidden_markov`, and ``surprise (V, BINS) uint8`` in ``PER_NAT`` of a nat.
    Pair ``c`` has the rows ``starts[c]`` to ``starts[c + 1]`` of ``numbers (r, COLUMNS) float32``
    and of ``ids (r, 4) int32``: the token, its counterpart, and the tokens before and after it, -1
    for none.
    """
    texts, known = (source, target, source_row, target_row), (table, lexicon, aligner, surprise)
    network = tuple(np.zeros((0,) * axes, np.float32) for axes in (2, 2, 1, 2, 1, 1, 1))
    _in_chunks(texts, known, network, (starts, ids, numbers), np.empty((0, 2), np.float32))


@njit(error_model="numpy")
def _tokens(text, row):
    """Return the token ids of one sentence, MOST at most."""
    ids, offsets = text
    return ids[offsets[row] : min(offsets[row + 1], offsets[row] + MOST)]


@njit(error_model="numpy")
def _neighbours(own, others, places, ids):
    n = len(own)
    for i in range(n):
        ids[i, 0], ids[i, 1] = own[i], others[places[i]]
        ids[i, 2] = own[i - 1] if i > 0 else -1
        ids[i, 3] = own[i + 1] if i + 1 < n else -1


def count(source, target, table, lexicon, aligner):
    """Count what the pairs of two texts, row by row, tell of an aligner.

    Returns the counts of :func:`miner.kernels.hidden_markov.count_pair`: ``emissions (2,
    COSINES, EVIDENCES)``, ``jumps (2 FARTHEST + 1,)`` and ``unaligned (2,)``, float64.
    """
    pairs = len(source[1]) - 1
    sizes = (2, COSINES, EVIDENCES), (2 * FARTHEST + 1,), (2,)
    # Each chunk has its own counts, so that their sums do not depend on the number of threads.
    counts = tuple(np.zeros((-(-pairs // CHUNK), *size)) for size in sizes)
    known = table, lexicon, aligner
    in_ranges(
        lambda first, last: _count_pairs(
            first, last, source, target, known, _scratch(table), workspace(MOST), counts
        ),
        pairs,
        CHUNK,
    )
    return tuple(one.sum(axis=0) for one in counts)


@njit(nogil=True, error_model="numpy")
def _count_pairs(start, end, source, target, knowledge, scratch, work, counts):
    table, lexicon, aligner = knowledge
    emissions, jumps, unaligned = counts
    for c in range(start, end):
        a, b = _tokens(source, c), _tokens(target, c)
        if len(a) == 0 or len(b) == 0:
            continue
        own = c // CHUNK
        _relate(a, b, table, lexicon, scratch)
        count_pair(a, b, scratch[0], aligner, work, emissions[own], jumps[own], unaligned[own])


def compare_pairs(
    source, target, source_row, target_row, table, lexicon, aligner, surprise, network, out
):
    """Write mean surprise and the comparer's logit of pairs to ``out (m, 2) float32``.

    Both are 0 without tokens. ``network`` is ``(units, token, token_bias, pair, pair_bias, logit,
    logit_bias)``, float32 arrays of :class:`miner.scoring.comparer.Comparer`. The others are as in
    :func:`describe`. The mean is over the tokens of a side, then over both sides, in nats.
    """
    texts, known = (source, target, source_row, target_row), (table, lexicon, aligner, surprise)
    starts, ids = np.empty(0, np.int64), np.empty((0, 4), np.int32)
    _in_chunks(texts, known, network, (starts, ids, np.empty((0, COLUMNS), np.float32)), out)


def _in_chunks(texts, knowledge, network, described, out):
    in_ranges(
        lambda first, last: _compare_pairs(
            first,
            last,
            texts,
            knowledge,
            network,
            _scratch(knowledge[0]),
            _layers(network),
            workspace(MOST),
            described,
            out,
        ),
        len(texts[2]),
        CHUNK,
    )


def _layers(network: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Allocate inputs and outputs of the layers of the network.

    They are the description of tokens; the input and output of the first layer; mean and maximum
    over the tokens of each side; and the input of the second layer.
    """
    size, hidden = network[0].shape[1], len(network[2])
    return (
        np.empty((2 * MOST, COLUMNS), dtype=np.float32),
        np.zeros(COLUMNS + 6 * size, dtype=np.float32),
        np.empty(hidden, dtype=np.float32),
        np.empty((2, 2 * hidden), dtype=np.float32),
        np.empty(4 * hidden + 2, dtype=np.float32),
    )


@njit(nogil=True, error_model="numpy")
def _compare_pairs(start, end, texts, knowledge, network, scratch, layers, work, described, out):
    """Describe tokens, if there are ``starts``, or compare pairs; one loop compiles once."""
    source, target, source_row, target_row = texts
    _, token, token_bias, pair, pair_bias, last, last_bias = network
    own_numbers, given, value, pooled, both = layers
    starts, ids, every = described
    places = scratch[7]
    hidden = len(token_bias)
    for c in range(start, end):
        a, b = _tokens(source, source_row[c]), _tokens(target, target_row[c])
        if len(starts) == 0:
            out[c, 0], out[c, 1] = 0.0, 0.0
        if len(a) == 0 or len(b) == 0:
            continue
        numbers = every[starts[c] :] if len(starts) > 0 else own_numbers
        _align(a, b, knowledge, scratch, work, numbers)
        if len(starts) > 0:
            _neighbours(a, b, places[0], ids[starts[c] :])
            _neighbours(b, a, places[1], ids[starts[c] + len(a) :])
            continue
        for side in range(2):
            own, others, first = (a, b, 0) if side == 0 else (b, a, len(a))
            pool = pooled[side]
            for k in range(2 * hidden):
                pool[k] = 0.0  # outputs of the first layer are never negative
            total = 0.0
            for i in range(len(own)):
                total += numbers[first + i, SURPRISE]
            out[c, 0] += np.float32(total / (2 * len(own)))
            for i in range(len(own)):
                _give(own, others, i, places[side, i], network[0], numbers[first + i], given)
                _layer(given, token, token_bias, value)
                for k in range(hidden):
                    pool[k] += value[k] / len(own)
                    pool[hidden + k] = max(pool[hidden + k], value[k])
        for k in range(2 * hidden):
            both[k] = pooled[0, k] + pooled[1, k]
            both[2 * hidden + k] = abs(pooled[0, k] - pooled[1, k])
        n, o = np.log(np.float32(len(a))), np.log(np.float32(len(b)))
        both[4 * hidden], both[4 * hidden + 1] = (n + o) / 2, abs(n - o)
        _layer(both, pair, pair_bias, value)
        logit = last_bias[0]
        for k in range(hidden):
            logit += value[k] * last[k]
        out[c, 1] = logit


@njit(error_model="numpy")
def match_bin(match):
    """Return the column of the table of surprise for the match of a token."""
    return min(max(int((match - LOWEST) * PER_MATCH), 0), BINS - 1)


@njit(error_model="numpy")
def _give(own, others, i, j, units, numbers, given):
    """Write the input of the first layer: token ``i`` of ``own`` and its counterpart ``j``."""
    for k in range(COLUMNS):
        given[k] = numbers[k]
    size = units.shape[1]
    first, other = units[own[i]], units[others[j]]
    for k in range(size):
        at = COLUMNS + k
        given[at], given[at + size] = first[k], other[k]
        given[at + 2 * size] = abs(first[k] - other[k])
        given[at + 3 * size] = first[k] * other[k]
        given[at + 4 * size] = units[own[i - 1], k] if i > 0 else np.float32(0.0)
        given[at + 5 * size] = units[own[i + 1], k] if i + 1 < len(own) else np.float32(0.0)


@njit(error_model="numpy")
def _layer(given, weight, bias, out):
    """Write ``max(0, given @ weight + bias)`` to ``out``.

    Products are added in order, eight inputs at a time: fewer loads and stores of the sums.
    """
    for k in range(len(out)):
        out[k] = bias[k]
    whole = len(given) - len(given) % 8
    for i in range(0, whole, 8):
        a, b, c, d = given[i], given[i + 1], given[i + 2], given[i + 3]
        e, f, g, h = given[i + 4], given[i + 5], given[i + 6], given[i + 7]
        for k in range(len(out)):
            total = out[k] + a * weight[i, k]
            total += b * weight[i + 1, k]
            total += c * weight[i + 2, k]
            total += d * weight[i + 3, k]
            total += e * weight[i + 4, k]
            total += f * weight[i + 5, k]
            total += g * weight[i + 6, k]
            out[k] = total + h * weight[i + 7, k]
    for i in range(whole, len(given)):
        for k in range(len(out)):
            out[k] += given[i] * weight[i, k]
    for k in range(len(out)):
        out[k] = max(out[k], np.float32(0.0))
