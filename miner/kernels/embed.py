"""Training of an averaging encoder: embedding dropout, gradient of the margin loss, sparse Adam.

Token ids and offsets are flat as in :mod:`miner.kernels.pool`. Threads split the output rows, never
the input, so results are the same bits for any number of threads.
"""

import numpy as np

from miner.kernels.loops import njit
from miner.kernels.model1 import occurrences


@njit()
def _bits(seed, block):
    """Return 64 random bits, a function of ``seed`` and ``block`` (SplitMix64)."""
    x = seed + (np.uint64(block) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit()
def _draw(seed, token, draws):
    """Fill ``draws (blocks,) uint64`` with the random bits of one token of a batch."""
    first = np.uint64(token) * np.uint64(len(draws))
    for b in range(len(draws)):
        draws[b] = _bits(seed, first + np.uint64(b))


@njit(lanes=True, error_model="numpy")
def dropout_mask(lane, lanes, places, seed, cut, out):
    """Write the factors of embedding dropout to ``out (t, d) float32``: 0, or what keeps the mean.

    Number ``j`` of the token at place ``p`` of a batch is dropped if 16 bits that follow from
    ``seed (uint64)``, ``p`` and ``j`` are below ``cut``, 65536 times the rate. ``places (t,)
    int64`` are the tokens' places, so that a part of a batch has the factors of the whole.
    """
    d = out.shape[1]
    draws = np.empty((d + 3) // 4, np.uint64)
    parts, limit = draws.view(np.uint16), np.uint32(cut)
    scale = np.float32(1.0 / (1.0 - cut / 65536.0))
    for i in range(lane, len(places), lanes):
        _draw(seed, places[i], draws)
        for j in range(d):
            out[i, j] = scale if parts[j] >= limit else np.float32(0.0)


@njit(lanes=True, error_model="numpy")
def mean_dropped(lane, lanes, table, ids, offsets, seed, cut, out):
    """Write the mean of each sentence's rows to ``out (n, d) float32``, with embedding dropout.

    The factors are :func:`dropout_mask`'s; the place of a token is its index in ``ids``. Without
    dropout, :func:`miner.kernels.pool.mean_rows` computes the means.
    """
    d = table.shape[1]
    draws = np.empty((d + 3) // 4, np.uint64)
    parts, limit = draws.view(np.uint16), np.uint32(cut)
    for i in range(lane, len(offsets) - 1, lanes):
        row = out[i]
        row[:] = np.float32(0.0)
        for p in range(offsets[i], offsets[i + 1]):
            source = table[ids[p]]
            _draw(seed, p, draws)
            for j in range(d):
                row[j] += source[j] if parts[j] >= limit else np.float32(0.0)
        count = offsets[i + 1] - offsets[i]
        if count > 0:
            inverse = np.float32(1.0 / (count * (1.0 - cut / 65536.0)))
            for j in range(d):
                row[j] *= inverse


@njit(lanes=True, error_model="numpy")
def spread_dropped(lane, lanes, gradient, offsets, seed, cut, out):
    """Write the gradient by each token's embedding, of :func:`mean_dropped`, to ``out (t, d)``.

    ``gradient (n, d) float32`` is the gradient by the means.
    """
    d = gradient.shape[1]
    draws = np.empty((d + 3) // 4, np.uint64)
    parts, limit = draws.view(np.uint16), np.uint32(cut)
    for i in range(lane, len(offsets) - 1, lanes):
        count = offsets[i + 1] - offsets[i]
        if count == 0:
            continue
        inverse = np.float32(1.0 / (count * (1.0 - cut / 65536.0)))
        for p in range(offsets[i], offsets[i + 1]):
            _draw(seed, p, draws)
            for j in range(d):
                out[p, j] = gradient[i, j] * inverse if parts[j] >= limit else np.float32(0.0)


def group_by_id(
    ids: np.ndarray, offsets: np.ndarray, size: int, every: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group the occurrences of a batch by id.

    Returns ``rows (u,) int32``, the distinct ids ascending, or all ids below ``size`` if ``every``,
    and the sentences of ``rows[r]``, ascending, once per occurrence, as a ragged array: ``starts (u
    + 1,) int64`` and ``sentences (t,) int32``.
    """
    starts, sentences = occurrences(ids, offsets, size)
    rows = np.arange(size) if every else np.flatnonzero(np.diff(starts))
    return rows.astype(np.int32), np.append(starts[rows], len(ids)), sentences


@njit(lanes=True, error_model="numpy")
def sparse_adam(
    lane,
    lanes,
    table,
    first,
    second,
    gradient,
    offsets,
    rows,
    starts,
    sentences,
    step,
    rate,
    beta1,
    beta2,
    eps,
    start,
    pull,
):
    """Take one lazy Adam step on ``rows``, the ids of a batch, as ``torch.optim.SparseAdam`` does.

    ``gradient (n, d) float32`` is the gradient of the loss by the *mean* of each sentence. The
    moments ``first`` and ``second (V, d) float32`` decay only when their row is touched; the bias
    correction uses the global ``step``, from 1.

    ``pull`` times the squared distance of the table from ``start (V, d) float32`` is added to the
    loss (P17's lambda_w), and moves unused rows too: with ``every`` in :func:`group_by_id` the step
    is one of ``torch.optim.Adam``. With a ``pull`` of 0, ``start`` may be any matrix.
    """
    d = table.shape[1]
    correction1 = 1.0 - beta1**step
    correction2 = np.sqrt(1.0 - beta2**step)
    size = np.float32(rate * correction2 / correction1)
    decay1, decay2 = np.float32(beta1), np.float32(beta2)
    gain1, gain2 = np.float32(1.0 - beta1), np.float32(1.0 - beta2)
    # SparseAdam divides by sqrt(second) + eps before the correction of the second moment.
    small = np.float32(eps)
    twice = np.float32(2.0 * pull)
    total = np.empty(d, np.float32)
    for r in range(lane, len(rows), lanes):
        for j in range(d):
            total[j] = 0.0
        for p in range(starts[r], starts[r + 1]):
            i = sentences[p]
            share = np.float32(1.0 / (offsets[i + 1] - offsets[i]))
            source = gradient[i]
            for j in range(d):
                total[j] += share * source[j]
        weights, m, v = table[rows[r]], first[rows[r]], second[rows[r]]
        if pull > 0:
            origin = start[rows[r]]
            for j in range(d):
                total[j] += twice * (weights[j] - origin[j])
        for j in range(d):
            g = total[j]
            m[j] = decay1 * m[j] + gain1 * g
            v[j] = decay2 * v[j] + gain2 * g * g
            weights[j] -= size * m[j] / (np.sqrt(v[j]) + small)


def margin_gradient(means: np.ndarray, margin: float, gradient: np.ndarray) -> float:
    """Compute the two-sided margin loss (P19, section 2, and its mirror image) and its gradient.

    ``means (4 n, d) float32`` holds sources, targets, negatives of the source language and
    negatives of the target language, not normalised; ``gradient`` has the same shape. Returns the
    mean loss of the n pairs, as :func:`miner_train.losses.margin_loss` does.
    """
    losses = np.empty(len(means) // 4, np.float64)
    _margin_gradient(means, margin, gradient, losses)
    return float(losses.mean())


@njit(lanes=True, error_model="numpy")
def _margin_gradient(lane, lanes, means, margin, gradient, losses):
    n, d = len(means) // 4, means.shape[1]
    inverse = np.empty(4, np.float32)
    for i in range(lane, n, lanes):
        for side in range(4):
            square = np.float32(0.0)
            row = means[side * n + i]
            for j in range(d):
                square += row[j] * row[j]
            # A zero vector has no direction and gets no gradient.
            inverse[side] = np.float32(1.0) / np.sqrt(square) if square > 0 else np.float32(0.0)
        s, t, sn, tn = means[i], means[n + i], means[2 * n + i], means[3 * n + i]
        pair = forward = backward = np.float32(0.0)
        for j in range(d):
            pair += s[j] * t[j]
            forward += s[j] * tn[j]
            backward += t[j] * sn[j]
        pair *= inverse[0] * inverse[1]
        forward *= inverse[0] * inverse[3]
        backward *= inverse[1] * inverse[2]
        there = max(np.float32(margin) - pair + forward, np.float32(0.0))
        back = max(np.float32(margin) - pair + backward, np.float32(0.0))
        losses[i] = np.float64(there) + np.float64(back)
        # 1 / n for each side within the margin. The gradient by the unit vectors goes through the
        # normalisation, which removes the component along the vector itself.
        h = np.float32(1.0 / n) if there > 0 else np.float32(0.0)
        g = np.float32(1.0 / n) if back > 0 else np.float32(0.0)
        along_s, along_t = h * forward - (h + g) * pair, g * backward - (h + g) * pair
        for j in range(d):
            us, ut = s[j] * inverse[0], t[j] * inverse[1]
            usn, utn = sn[j] * inverse[2], tn[j] * inverse[3]
            gradient[i, j] = (h * utn - (h + g) * ut - along_s * us) * inverse[0]
            gradient[n + i, j] = (g * usn - (h + g) * us - along_t * ut) * inverse[1]
            gradient[2 * n + i, j] = g * (ut - backward * usn) * inverse[2]
            gradient[3 * n + i, j] = h * (us - forward * utn) * inverse[3]


@njit(lanes=True, error_model="numpy")
def scale_both(lane, lanes, matrix, by_row, by_column):
    """Compute ``matrix[i, j] *= by_row[i] + by_column[j]`` in place, in one pass."""
    for i in range(lane, matrix.shape[0], lanes):
        for j in range(matrix.shape[1]):
            matrix[i, j] *= by_row[i] + by_column[j]
