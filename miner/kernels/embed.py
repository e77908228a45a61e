"""Training of an averaging encoder: embedding dropout, gradient of the margin loss, sparse Adam.

Token ids and offsets are flat as in :mod:`miner.kernels.pool`. Threads split the output rows, never
the input, so results are the same bits for any number of threads.
"""

import math

import numpy as np

from miner.kernels.library import kernel
from miner.kernels.model1 import occurrences
from miner.parallel import in_lanes

# Embedding dropout: component ``j`` of the token at position ``p`` of a batch is dropped if 16 bits
# derived from ``seed``, ``p`` and ``j`` are below ``cut``, which is 65536 times the rate.
# ``dropout_mask`` writes the factors of the tokens at ``places``: 0, or the factor that preserves
# the mean. So a part of a batch gets the same factors as the whole batch.
dropout_mask = in_lanes(
    kernel(
        "dropout_mask(lane: int, lanes: int, places: i8[t], seed: int, cut: int, &out: f4[t, d])"
    )
)
# Writes the mean of each sentence's rows with embedding dropout; the position of a token is its
# index in ``ids``. Without dropout, :func:`miner.kernels.pool.mean_rows` computes the means.
mean_dropped = in_lanes(
    kernel(
        "mean_dropped(lane: int, lanes: int, table: f4[V, d], ids: i4[t], offsets: i8[n+1], "
        "seed: int, cut: int, &out: f4[n, d])"
    )
)
# Writes the gradient by each token's embedding, of ``mean_dropped``, to ``out``. ``gradient`` is
# the gradient by the means.
spread_dropped = in_lanes(
    kernel(
        "spread_dropped(lane: int, lanes: int, gradient: f4[n, d], offsets: i8[n+1], seed: int, "
        "cut: int, &out: f4[t, d])"
    )
)
# Computes ``matrix[i, j] *= by_row[i] + by_column[j]`` in place, in one pass; all arrays have one
# type.
scale_both = in_lanes(
    kernel(
        "scale_both(lane: int, lanes: int, &matrix: f4|f8[n, m], by_row: f4|f8[n], "
        "by_column: f4|f8[m])"
    )
)
_sparse_adam = in_lanes(
    kernel(
        "sparse_adam(lane: int, lanes: int, &table: f4[V, d], &first: f4[V, d], "
        "&second: f4[V, d], gradient: f4[n, d], offsets: i8[n+1], rows: i4[u], starts: i8[u+1], "
        "sentences: i4[t], size: float, beta1: float, beta2: float, eps: float, start: f4[s, w], "
        "pull: float)"
    )
)
_margin_gradient = in_lanes(
    kernel(
        "margin_gradient(lane: int, lanes: int, means: f4[4, n, d], margin: float, "
        "&gradient: f4[4, n, d], &losses: f8[n])"
    )
)


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


def sparse_adam(
    table: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    gradient: np.ndarray,
    offsets: np.ndarray,
    rows: np.ndarray,
    starts: np.ndarray,
    sentences: np.ndarray,
    step: int,
    rate: float,
    beta1: float,
    beta2: float,
    eps: float,
    start: np.ndarray,
    pull: float,
) -> None:
    """Take one lazy Adam step on ``rows``, the ids of a batch, as ``torch.optim.SparseAdam`` does.

    ``gradient (n, d) float32`` is the gradient of the loss by the *mean* of each sentence. The
    moments ``first`` and ``second (V, d) float32`` decay only when their row is touched; the bias
    correction uses the global ``step``, from 1.

    ``pull`` times the squared distance of the table from ``start (V, d) float32`` is added to the
    loss (P17's lambda_w). It moves unused rows too: with ``every`` in :func:`group_by_id` the step
    is one of ``torch.optim.Adam``. With a ``pull`` of 0, ``start`` may be any matrix.
    """
    # SparseAdam divides by sqrt(second) + eps before the correction of the second moment.
    size = rate * math.sqrt(1 - beta2**step) / (1 - beta1**step)
    tables, batch = (table, first, second), (gradient, offsets, rows, starts, sentences)
    _sparse_adam(*tables, *batch, size, beta1, beta2, eps, start, pull)


def margin_gradient(means: np.ndarray, margin: float, gradient: np.ndarray) -> float:
    """Compute the two-sided margin loss (P19, section 2, and its mirror image) and its gradient.

    ``means (4 n, d) float32`` holds sources, targets, negatives of the source language and
    negatives of the target language, not normalised; ``gradient`` has the same shape. Returns the
    mean loss of the n pairs, as :func:`miner_train.losses.margin_loss` does.
    """
    n, d = len(means) // 4, means.shape[1]
    losses = np.empty(n)
    _margin_gradient(means.reshape(4, n, d), margin, gradient.reshape(4, n, d), losses)
    return float(losses.mean())
