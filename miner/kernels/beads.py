"""Alignment of two documents as a semi-Markov chain of beads, within a band.

A bead joins a source sentences with b target sentences; ``kinds (K, 2) int64`` lists the (a, b)
that are allowed, (1, 0) and (0, 1) among them. A state (i, j) says that the first i and j sentences
are aligned. The states of row i are ``low[i] <= j < low[i] + first[i + 1] - first[i]``, and their
cells follow ``first (n + 2,)``. A bead belongs to the cell that it ends in: arrays of beads are
``(cells, K)``, and minus infinity marks beads that do not exist.
"""

import numpy as np

from miner.kernels.loops import njit

# Features of a bead beside its kind.
FEATURES = ("similarity", "usual", "cosine", "delta", "left_out", "loose")
# Variance of the characters of a translation, for each character (Gale and Church 1993).
VARIANCE = 6.8


@njit(nogil=True)
def cell_of(i, j, low, first):
    """Return the cell of the state (i, j), or -1 outside the band."""
    if i < 0 or j < low[i] or j >= low[i] + first[i + 1] - first[i]:
        return -1
    return first[i] + j - low[i]


@njit(error_model="numpy")
def _features(i, j, a, b, products, norms, usual, lengths, facts, x):
    """Write to ``x (F,) float64`` the features of the bead of a and b sentences that ends there."""
    flat, flat_low, flat_first = products
    here, there = i - a, j - b
    x[:] = 0.0
    left = lengths[0][i] - lengths[0][here]
    right = lengths[1][j] - lengths[1][there]
    if a == 0 or b == 0:
        x[4] = np.log(1.0 + left + right)
        x[5] = facts[1]
        return
    total = 0.0
    for row in range(here, i):
        place = flat_first[row] - flat_low[row]
        for column in range(there, j):
            total += flat[place + column]
    norm = norms[0][here, a - 1] * norms[1][there, b - 1]
    cosine = total / norm / facts[2] if norm > 0 else 0.0
    x[0] = a * b * cosine
    x[1] = a * b * (usual[0][here, a - 1] + usual[1][there, b - 1]) / 2 / facts[2]
    x[2] = cosine
    left *= facts[0]
    spread = np.sqrt(VARIANCE * (left + right + 2.0) / 2)
    x[3] = min(abs(left - right) / spread, 6.0)


@njit(nogil=True, error_model="numpy")
def score_beads(band, products, norms, usual, lengths, facts, kinds, weights, scores):
    """Score the beads of a band.

    ``band``: low, first. ``products``: flat products of single sentences, and likewise low and
    first of each source sentence's columns. ``norms``: ``(n, A)`` and ``(m, A) float32``, lengths
    of the summed vectors of the next 1 to A sentences; ``usual`` likewise their cosine with the
    mean of the other document. ``lengths``: characters before each sentence, ``(n + 1,)`` and
    ``(m + 1,)``. ``facts``: target characters for one of the source, how loosely the documents
    follow each other, and the usual cosine of a pair. ``weights (K + F,) float64``.
    ``scores (cells, K) float32`` is written.
    """
    low, first = band
    count = len(kinds)
    x = np.zeros(len(weights) - count)
    for i in range(len(low)):
        for cell in range(first[i], first[i + 1]):
            j = low[i] + cell - first[i]
            for kind in range(count):
                a, b = kinds[kind]
                scores[cell, kind] = -np.inf
                if cell_of(i - a, j - b, low, first) < 0:
                    continue
                _features(i, j, a, b, products, norms, usual, lengths, facts, x)
                score = weights[kind]
                for f in range(len(x)):
                    score += weights[count + f] * x[f]
                scores[cell, kind] = score


@njit(nogil=True, error_model="numpy")
def bead_features(spans, products, norms, usual, lengths, facts, out):
    """Write the features of beads ``spans (p, 4)`` to ``out (p, F) float64``.

    Other arguments are as of :func:`score_beads`.
    """
    for row in range(len(spans)):
        here, i, there, j = spans[row]
        _features(i, j, i - here, j - there, products, norms, usual, lengths, facts, out[row])


@njit(nogil=True)
def forward_backward(scores, band, kinds, out):
    """Write the posterior probability of each bead to ``out (cells, K) float32``.

    Returns the logarithm of the sum over all alignments; minus infinity where there is none, and
    then ``out`` is all zero. Memory: 16 bytes a cell.
    """
    low, first = band
    cells, count = len(scores), len(kinds)
    n = len(low) - 1
    before = np.full(cells, -np.inf)
    before[0] = 0.0
    for i in range(n + 1):
        for cell in range(first[i], first[i + 1]):
            j = low[i] + cell - first[i]
            most = before[cell]
            for kind in range(count):
                if scores[cell, kind] > -np.inf:
                    origin = cell_of(i - kinds[kind, 0], j - kinds[kind, 1], low, first)
                    most = max(most, before[origin] + scores[cell, kind])
            if most == -np.inf or cell == 0:
                continue
            total = 0.0
            for kind in range(count):
                if scores[cell, kind] > -np.inf:
                    origin = cell_of(i - kinds[kind, 0], j - kinds[kind, 1], low, first)
                    total += np.exp(before[origin] + scores[cell, kind] - most)
            before[cell] = most + np.log(total)
    whole = before[cells - 1]
    after = np.full(cells, -np.inf)
    after[cells - 1] = 0.0
    for i in range(n, -1, -1):
        for cell in range(first[i + 1] - 1, first[i] - 1, -1):
            j = low[i] + cell - first[i]
            for kind in range(count):
                out[cell, kind] = 0.0
                if scores[cell, kind] == -np.inf or after[cell] == -np.inf:
                    continue
                origin = cell_of(i - kinds[kind, 0], j - kinds[kind, 1], low, first)
                way = scores[cell, kind] + after[cell]
                if before[origin] == -np.inf:
                    continue
                out[cell, kind] = np.exp(before[origin] + way - whole)
                high, less = max(after[origin], way), min(after[origin], way)
                after[origin] = high + np.log1p(np.exp(less - high))
    return whole


@njit(nogil=True)
def best_path(values, band, kinds, beads):
    """Find the alignment with the largest sum of ``values (cells, K)``; return its length.

    ``beads (n + m, 2) int64`` receives the cell and the kind of each bead, the last one first. Of
    equals the first kind wins. 0 where there is no alignment.
    """
    low, first = band
    cells, count = len(values), len(kinds)
    n = len(low) - 1
    best = np.full(cells, -np.inf)
    best[0] = 0.0
    choice = np.full(cells, -1, np.int8)
    for i in range(n + 1):
        for cell in range(first[i], first[i + 1]):
            j = low[i] + cell - first[i]
            for kind in range(count):
                if values[cell, kind] > -np.inf:
                    origin = cell_of(i - kinds[kind, 0], j - kinds[kind, 1], low, first)
                    value = best[origin] + values[cell, kind]
                    if value > best[cell]:
                        best[cell] = value
                        choice[cell] = kind
    i, cell, size = n, cells - 1, 0
    j = low[n] + cell - first[n]
    while cell != 0:
        kind = choice[cell]
        if kind < 0:
            return 0
        beads[size, 0], beads[size, 1] = cell, kind
        i, j = i - kinds[kind, 0], j - kinds[kind, 1]
        size += 1
        cell = cell_of(i, j, low, first)
    return size


@njit(nogil=True)
def widen_band(starts, ends, width, rectangle, low, high):
    """Lower ``low`` and raise ``high (n + 1,)`` around gaps from ``starts`` to ``ends (g, 2)``.

    All states of a gap are in the band if they are ``rectangle`` at most. Of others, those near the
    line between its corners are: the longer a gap, the further its alignment may be from the line.
    """
    for gap in range(len(starts)):
        i, j = starts[gap]
        i_end, j_end = ends[gap]
        rise = (j_end - j) / max(1, i_end - i)
        whole = (i_end - i + 1) * (j_end - j + 1) <= rectangle
        slack = width if whole else width + round(max(i_end - i, j_end - j) ** 0.5)
        for row in range(i, i_end + 1):
            line = j + rise * (row - i)
            left = j if whole else max(j, int(line - rise))
            right = j_end if whole else min(j_end, int(np.ceil(line + rise)))
            low[row] = min(low[row], left - slack)
            high[row] = max(high[row], right + slack)


@njit(nogil=True, fastmath=True)
def band_products(source, target, left, starts, out):
    """Multiply each row of ``source (n, d)`` with rows of ``target (m, d)``, from ``left (n,)`` on.

    ``out (p,) float32`` receives the products of each row from ``starts (n + 1,)`` on.
    """
    for i in range(len(source)):
        for place in range(starts[i], starts[i + 1]):
            other = target[left[i] + place - starts[i]]
            total = np.float32(0)
            for c in range(len(other)):
                total += source[i, c] * other[c]
            out[place] = total


@njit(nogil=True, fastmath=True)
def block_norms(sums, usual, norms, cosines):
    """Write lengths of the sums of 1 to A rows from each row of ``sums (n, d)`` on: ``(n, A)``.

    ``cosines (n, A)`` receives their cosines with ``usual (d,)``, times its length.
    """
    total = np.empty(sums.shape[1], np.float32)
    for i in range(len(sums)):
        total[:] = 0
        for count in range(min(norms.shape[1], len(sums) - i)):
            square, product = np.float32(0), np.float32(0)
            for c in range(len(total)):
                total[c] += sums[i + count, c]
                square += total[c] * total[c]
                product += total[c] * usual[c]
            norms[i, count] = np.sqrt(square)
            cosines[i, count] = product / max(norms[i, count], np.float32(1e-9))


@njit(nogil=True)
def heaviest_chain(target, weight, size, keep):
    """Mark in ``keep (p,) bool`` the heaviest chain of pairs that increases on both sides.

    Pairs are sorted by source, one for each; ``target (p,) int64 < size``, ``weight (p,)`` > 0.
    """
    # A Fenwick tree of the heaviest chain that ends at or before a target.
    tree = np.zeros(size + 1)
    last = np.full(size + 1, -1, np.int64)
    before = np.full(len(target), -1, np.int64)
    for pair in range(len(target)):
        place, most, at = target[pair], 0.0, -1
        while place > 0:
            if tree[place] > most:
                most, at = tree[place], last[place]
            place -= place & -place
        before[pair] = at
        most += weight[pair]
        place = target[pair] + 1
        while place <= size:
            if most > tree[place]:
                tree[place], last[place] = most, pair
            place += place & -place
    most, pair, place = 0.0, -1, size
    while place > 0:
        if tree[place] > most:
            most, pair = tree[place], last[place]
        place -= place & -place
    while pair >= 0:
        keep[pair] = True
        pair = before[pair]
