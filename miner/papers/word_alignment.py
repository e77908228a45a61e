"""Word alignments and phrase pairs of aligned sentences.

Translation probabilities are sparse: ``columns[rows[x]:rows[x + 1]]``, ascending, are the
translations of word ``x``, with the same slice of ``probability``.
"""

import numpy as np

from miner.kernels.cache import njit


@njit(nogil=True)
def _probability(x, y, rows, columns, probability):
    low, high = rows[x], rows[x + 1]
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < y:
            low = middle + 1
        else:
            high = middle
    if low < rows[x + 1] and columns[low] == y:
        return probability[low]
    return np.float32(0.0)


@njit(nogil=True)
def best_links(left, right, rows, columns, probability, tension, out):
    """Write the index of the word of ``left`` that each word of ``right`` aligns to; -1: none.

    The best has the largest p(y | x) * exp(-tension * |i / n - j / m|), as in fast_align (Dyer et
    al. 2013); a word without any probability aligns to none. ``left (n,)`` and ``right (m,)`` are
    word ids, ``out (m,) int64``.
    """
    for j in range(len(right)):
        best, out[j] = 0.0, -1
        for i in range(len(left)):
            p = _probability(left[i], right[j], rows, columns, probability)
            if p > 0:
                p *= np.exp(-tension * abs((i + 0.5) / len(left) - (j + 0.5) / len(right)))
                if p > best:
                    best, out[j] = p, i


@njit(nogil=True)
def symmetrised(forward, backward):
    """Combine two alignments by grow-diag (Koehn et al. 2003): ``(height, width) bool``.

    ``forward (width,)`` has the links of the target's words, ``backward (height,)`` of the
    source's. Links of both are kept; then neighbours that one of them has, for words that have none
    yet.
    """
    height, width = len(backward), len(forward)
    union, links = np.zeros((height, width), np.bool_), np.zeros((height, width), np.bool_)
    for j in range(width):
        if forward[j] >= 0:
            union[forward[j], j] = True
    for i in range(height):
        if backward[i] >= 0:
            links[i, backward[i]] = union[i, backward[i]]
            union[i, backward[i]] = True
    rows, columns = np.zeros(height, np.bool_), np.zeros(width, np.bool_)
    for i in range(height):
        for j in range(width):
            if links[i, j]:
                rows[i] = columns[j] = True
    grown = True
    while grown:
        grown = False
        for i in range(height):
            for j in range(width):
                if not links[i, j]:
                    continue
                for a in range(max(0, i - 1), min(height, i + 2)):
                    for b in range(max(0, j - 1), min(width, j + 2)):
                        if union[a, b] and not links[a, b] and not (rows[a] and columns[b]):
                            links[a, b] = rows[a] = columns[b] = grown = True
    return links


@njit(nogil=True)
def phrase_spans(links, longest):
    """List the phrase pairs that agree with an alignment: ``(m, 4) int64``, spans of both sides.

    A pair ``i1, i2, j1, j2`` (ends excluded) has a link inside and none from inside to outside (Och
    and Ney 2004). Neither side is longer than ``longest``; unaligned words at the edges of the
    target's span may join it.
    """
    height, width = links.shape
    found = np.empty((16, 4), np.int64)
    count = 0
    for i1 in range(height):
        low, high = width, -1
        for i2 in range(i1 + 1, min(height, i1 + longest) + 1):
            for j in range(width):
                if links[i2 - 1, j]:
                    low, high = min(low, j), max(high, j)
            if high < 0 or high - low >= longest:
                continue
            good = True
            for j in range(low, high + 1):
                for i in range(height):
                    if links[i, j] and not i1 <= i < i2:
                        good = False
            if not good:
                continue
            start = low
            while True:
                end = high
                while True:
                    if end - start < longest:
                        if count == len(found):
                            found = np.concatenate((found, np.empty_like(found)))
                        found[count, 0], found[count, 1] = i1, i2
                        found[count, 2], found[count, 3] = start, end + 1
                        count += 1
                    end += 1
                    if end >= width or links[:, end].any():
                        break
                start -= 1
                if start < 0 or links[:, start].any():
                    break
    return found[:count]
