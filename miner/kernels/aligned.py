"""Tokens of two sentences, each beside its counterpart, and the comparer that reads them.

A token's counterpart is the token of the other sentence with the highest sum of cosine and lexical
evidence, less a little for its distance. The comparer is a small network over tokens and their
counterparts, pooled by mean and maximum (decomposable attention, Parikh et al. 2016, with a hard
alignment).
"""

import numba
import numpy as np

from miner.kernels.cache import njit
from miner.kernels.dots import dots

# Tokens of a sentence that are compared; the rest of a longer text is not looked at.
MOST = 384
# Evidence is the logarithm of how much likelier than chance a translation is, over this number.
EVIDENCE = 10.0
# What a distance as long as the sentence costs a counterpart.
DISTANCE = 0.15
# Numbers that describe a token and its counterpart, in the order of `_describe`.
COLUMNS = 18
# Columns that only the lexicon tells.
LEXICAL = (1, 2, 3, 12, 15)
# Pairs that a thread takes at a time.
CHUNK = 256


@numba.njit(error_model="numpy")
def _probability(offsets, translations, probability, token, other):
    """Return the probability of ``other`` as a translation of ``token``; 0 where not listed."""
    low, size = offsets[token], offsets[token + 1] - offsets[token]
    if size == 0:
        return np.float32(0.0)
    # Binary search without branches, whose outcome no processor foresees.
    while size > 1:
        half = size // 2
        low += half if translations[low + half] <= other else 0
        size -= half
    return probability[low] if translations[low] == other else np.float32(0.0)


@numba.njit(error_model="numpy")
def _relate(a, b, codes, scale, frequency, lexicon, rows, tables, eight):
    """Write tables of all pairs of tokens, ``(m, n) float32`` each.

    They are cosines, the probabilities of ``b (m,)`` given ``a (n,)`` and of ``a`` given ``b``, how
    much likelier than chance the likelier of both is, and scores.
    """
    similar, forward, backward, chance, score = tables
    offsets, translations, probability = lexicon
    n, m = len(a), len(b)
    for i in range(n):
        code, row = codes[a[i]], rows[i]
        for k in range(len(code)):
            row[k] = code[k]
    dots(rows, n, codes, b, m, similar, eight)
    for j in range(m):
        for i in range(n):
            similar[j, i] *= scale[b[j]] * scale[a[i]]
            there = _probability(offsets, translations, probability, a[i], b[j])
            back = _probability(offsets, translations, probability, b[j], a[i])
            forward[j, i], backward[j, i] = there, back
            ratio = max(there / frequency[b[j]], back / frequency[a[i]])
            chance[j, i] = ratio
            distance = abs((i + 0.5) / n - (j + 0.5) / m)
            evidence = np.log(1.0 + ratio) / EVIDENCE if ratio > 0 else 0.0
            score[j, i] = similar[j, i] + evidence - DISTANCE * distance


@numba.njit(error_model="numpy")
def _describe(
    own, others, similar, forward, backward, chance, score, weight, frequency, partner, mutual, out
):
    """Write `COLUMNS` numbers of each token of ``own (n,)`` to ``out (n, COLUMNS) float32``.

    The tables are from `_relate`, ``(m, n)``; ``forward`` has the probabilities of ``others (m,)``
    given ``own``. ``partner (n,) int64`` gets the positions of the counterparts; ``mutual (m,)``
    holds the counterparts of the other side, -1 where unknown.
    """
    n, m = len(own), len(others)
    for i in range(n):
        best, second, place = np.float32(-np.inf), np.float32(-np.inf), 0
        nearest = np.float32(-np.inf)
        for j in range(m):
            value = score[j, i]
            if value > best:
                best, second, place = value, best, j
            elif value > second:
                second = value
            nearest = max(nearest, similar[j, i])
        partner[i] = place
        out[i, 9] = min(best - second, np.float32(1.0))
        out[i, 11] = nearest
    for i in range(n):
        j = partner[i]
        a, b, row = own[i], others[j], out[i]
        row[0] = similar[j, i]
        row[1] = np.log(1.0 + chance[j, i]) / EVIDENCE
        row[2], row[3] = forward[j, i], backward[j, i]
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
        for k in range(m):
            total += forward[k, i]
            most = max(most, chance[k, i])
        row[12] = np.log(1.0 + most) / EVIDENCE
        row[13] = weight[a]
        row[14] = -np.log(frequency[a]) / EVIDENCE
        row[15] = min(total, np.float32(1.0))
    for i in range(n):
        out[i, 16] = max(out[i - 1, 0], out[i - 1, 1]) if i > 0 else 1.0
        out[i, 17] = max(out[i + 1, 0], out[i + 1, 1]) if i + 1 < n else 1.0


@numba.njit(error_model="numpy")
def _align(a, b, table, lexicon, rows, tables, eight, places, out):
    """Describe the tokens of both sides of one pair: ``out (n + m, COLUMNS)``, the source's first.

    ``places (2, MOST) int64`` gets the positions of the counterparts of both sides.
    """
    codes, scale, weight, frequency = table
    similar, forward, backward, chance, score = tables
    n, m = len(a), len(b)
    _relate(a, b, codes, scale, frequency, lexicon, rows, tables, eight)
    for j in range(m):
        best, place = np.float32(-np.inf), 0
        for i in range(n):
            if score[j, i] > best:
                best, place = score[j, i], i
        places[1, j] = place
    there, back, odds = forward[:m, :n], backward[:m, :n], chance[:m, :n]
    alike, value = similar[:m, :n], score[:m, :n]
    _describe(
        a, b, alike, there, back, odds, value, weight, frequency, places[0], places[1], out[:n]
    )
    alike, there, back, odds, value = alike.T, there.T, back.T, odds.T, value.T
    own = out[n : n + m]
    _describe(b, a, alike, back, there, odds, value, weight, frequency, places[1], places[0], own)


@njit(parallel=True, error_model="numpy")
def describe(source, target, source_row, target_row, table, lexicon, starts, ids, numbers):
    """Describe the tokens of pairs, for training.

    Arguments as in :func:`miner.kernels.tokens.compare`. Pair ``c`` has the rows ``starts[c]`` to
    ``starts[c + 1]`` of ``numbers (r, COLUMNS) float32`` and of ``ids (r, 4) int32``: the token,
    its counterpart, and the tokens before and after it, -1 for none.
    """
    m = len(source_row)
    for chunk in numba.prange((m + CHUNK - 1) // CHUNK):
        rows = np.zeros((MOST, table[0].shape[1]), dtype=np.int16)
        similar = np.empty((MOST, MOST), dtype=np.float32)
        tables = similar, similar.copy(), similar.copy(), similar.copy(), similar.copy()
        eight, places = np.empty(8, dtype=np.int32), np.zeros((2, MOST), dtype=np.int64)
        for c in range(chunk * CHUNK, min(m, (chunk + 1) * CHUNK)):
            a, b = _tokens(source, source_row[c]), _tokens(target, target_row[c])
            if len(a) == 0 or len(b) == 0:
                continue
            start = starts[c]
            _align(a, b, table, lexicon, rows, tables, eight, places, numbers[start:])
            _neighbours(a, b, places[0], ids[start:])
            _neighbours(b, a, places[1], ids[start + len(a) :])


@numba.njit(error_model="numpy")
def _tokens(text, row):
    """Return the token ids of one sentence, MOST at most."""
    ids, offsets = text
    return ids[offsets[row] : min(offsets[row + 1], offsets[row] + MOST)]


@numba.njit(error_model="numpy")
def _neighbours(own, others, places, ids):
    n = len(own)
    for i in range(n):
        ids[i, 0], ids[i, 1] = own[i], others[places[i]]
        ids[i, 2] = own[i - 1] if i > 0 else -1
        ids[i, 3] = own[i + 1] if i + 1 < n else -1


@njit(parallel=True, error_model="numpy")
def compare_pairs(source, target, source_row, target_row, table, lexicon, network, out):
    """Write the comparer's logit of every pair to ``out (m,) float32``; 0 without tokens.

    ``network`` is ``(units, token, token_bias, pair, pair_bias, logit, logit_bias)``, float32
    arrays of :class:`miner.scoring.comparer.Comparer`; the others are as in :func:`describe`.
    """
    units, token, token_bias, pair, pair_bias, last, last_bias = network
    size, hidden = units.shape[1], len(token_bias)
    m = len(source_row)
    for chunk in numba.prange((m + CHUNK - 1) // CHUNK):
        rows = np.zeros((MOST, table[0].shape[1]), dtype=np.int16)
        similar = np.empty((MOST, MOST), dtype=np.float32)
        tables = similar, similar.copy(), similar.copy(), similar.copy(), similar.copy()
        eight, places = np.empty(8, dtype=np.int32), np.zeros((2, MOST), dtype=np.int64)
        numbers = np.empty((2 * MOST, COLUMNS), dtype=np.float32)
        given = np.zeros(COLUMNS + 6 * size, dtype=np.float32)
        value = np.empty(hidden, dtype=np.float32)
        # Mean and maximum over the tokens of each side.
        pooled = np.empty((2, 2 * hidden), dtype=np.float32)
        both = np.empty(4 * hidden + 2, dtype=np.float32)
        for c in range(chunk * CHUNK, min(m, (chunk + 1) * CHUNK)):
            a, b = _tokens(source, source_row[c]), _tokens(target, target_row[c])
            out[c] = 0.0
            if len(a) == 0 or len(b) == 0:
                continue
            _align(a, b, table, lexicon, rows, tables, eight, places, numbers)
            for side in range(2):
                own, others, start = (a, b, 0) if side == 0 else (b, a, len(a))
                pooled[side] = 0.0  # outputs of the first layer are never negative
                for i in range(len(own)):
                    given[:COLUMNS] = numbers[start + i]
                    first, other = units[own[i]], units[others[places[side, i]]]
                    for k in range(size):
                        given[COLUMNS + k], given[COLUMNS + size + k] = first[k], other[k]
                        given[COLUMNS + 2 * size + k] = abs(first[k] - other[k])
                        given[COLUMNS + 3 * size + k] = first[k] * other[k]
                        before = units[own[i - 1], k] if i > 0 else np.float32(0.0)
                        after = units[own[i + 1], k] if i + 1 < len(own) else np.float32(0.0)
                        given[COLUMNS + 4 * size + k], given[COLUMNS + 5 * size + k] = before, after
                    _layer(given, token, token_bias, value)
                    for k in range(hidden):
                        pooled[side, k] += value[k] / len(own)
                        pooled[side, hidden + k] = max(pooled[side, hidden + k], value[k])
            for k in range(2 * hidden):
                both[k] = pooled[0, k] + pooled[1, k]
                both[2 * hidden + k] = abs(pooled[0, k] - pooled[1, k])
            n, o = np.log(np.float32(len(a))), np.log(np.float32(len(b)))
            both[4 * hidden], both[4 * hidden + 1] = (n + o) / 2, abs(n - o)
            _layer(both, pair, pair_bias, value)
            total = last_bias[0]
            for k in range(hidden):
                total += value[k] * last[k]
            out[c] = total


@numba.njit(error_model="numpy")
def _layer(given, weight, bias, out):
    """Write ``max(0, given @ weight + bias)`` to ``out``."""
    out[:] = bias
    for i in range(len(given)):
        factor, row = given[i], weight[i]
        for k in range(len(out)):
            out[k] += factor * row[k]
    for k in range(len(out)):
        out[k] = max(out[k], np.float32(0.0))
