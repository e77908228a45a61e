"""Losses over cosines of vectors, which they normalise first."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from miner.kernels.embed import scale_both

# Largest x for which exp(-x) is a normal float32 number.
LARGEST_EXPONENT = 87.0
# Maximum cosines in memory at a time; 32 MB of them.
MOST = 1 << 23


def unit(vectors: Tensor) -> Tensor:
    """Scale rows ``(n, d)`` to length 1. Zero rows stay zero and get no gradient."""
    length = vectors.norm(dim=1, keepdim=True)
    return vectors / length.masked_fill(length == 0, math.inf)


def softmax_loss(
    source: Tensor, target: Tensor, same: Tensor | None, scale: float, margin: float
) -> Tensor:
    """In-batch softmax with additive margin, mean of both directions (Yang et al. 2019, eq. 4).

    ``source, target (b, d)``: row ``i`` translates row ``i``. All other rows of the opposite column
    are negatives, except the pairs of rows in ``same (p, 2) int64``, which share a sentence.
    """
    s, t = unit(source), unit(target)
    if scale * (2 + margin) > LARGEST_EXPONENT:
        return softmax_loss_plain(s, t, same, scale, margin)
    return _FusedSoftmax.apply(s, t, same, scale, margin)


def softmax_loss_plain(
    s: Tensor, t: Tensor, same: Tensor | None, scale: float, margin: float
) -> Tensor:
    """Compute :func:`softmax_loss` of unit vectors ``s, t (b, d)`` by torch, for any scale."""
    cosine = s @ t.T  # (b, b)
    true = torch.eye(len(cosine), dtype=cosine.dtype, device=cosine.device)
    logits = scale * (cosine - margin * true)
    if same is not None:
        none = logits.new_tensor(float("-inf"))
        logits = logits.index_put((same[:, 0], same[:, 1]), none)
    rows = torch.arange(len(logits), device=logits.device)
    return 0.5 * (F.cross_entropy(logits, rows) + F.cross_entropy(logits.T, rows))


class _FusedSoftmax(torch.autograd.Function):
    """Loss and gradient from one matrix of exponentials for both directions.

    Blocks of rows of a large matrix are computed twice: for the sums, then for the gradient.
    """

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx, s: Tensor, t: Tensor, same: Tensor | None, scale: float, margin: float
    ) -> Tensor:
        n = len(s)
        height = max(1, MOST // n)
        true = scale * ((s * t).sum(dim=1) - margin)

        def exponentials(start: int) -> Tensor:
            # No maximum is subtracted, because it would differ between rows and columns: up to
            # LARGEST_EXPONENT exponentials neither overflow nor vanish.
            work = (scale * s[start : start + height]) @ t.T  # (height, n)
            work.diagonal(start).sub_(scale * margin)
            if same is not None:
                here = same[(same[:, 0] >= start) & (same[:, 0] < start + height)]
                work[here[:, 0] - start, here[:, 1]] = float("-inf")
            return work.exp_()

        rows, columns = torch.empty_like(true), torch.zeros_like(true)
        work = None
        for start in range(0, n, height):
            work = exponentials(start)
            rows[start : start + height] = work.sum(dim=1)
            columns += work.sum(dim=0)
        loss = 0.5 * ((rows.log() - true).mean() + (columns.log() - true).mean())
        # Gradient by the cosines: (softmax over the row + softmax over the column - 2 for the true
        # pair) * scale / 2, averaged over the batch.
        share = scale / (2 * n)
        by_row, by_column = (share / rows).numpy(), (share / columns).numpy()
        by_source, by_target = torch.empty_like(s), torch.zeros_like(t)
        for start in range(0, n, height):
            gradient = work if work is not None and height >= n else exponentials(start)
            scale_both(gradient.numpy(), by_row[start : start + height], by_column)
            gradient.diagonal(start).sub_(2 * share)
            by_source[start : start + height] = gradient @ t
            by_target += gradient.T @ s[start : start + height]
        ctx.save_for_backward(by_source, by_target)
        return loss

    @staticmethod
    def backward(ctx, upstream: Tensor):  # type: ignore[no-untyped-def]
        by_source, by_target = ctx.saved_tensors
        return upstream * by_source, upstream * by_target, None, None, None


def margin_loss(
    source: Tensor, target: Tensor, source_negative: Tensor, target_negative: Tensor, margin: float
) -> Tensor:
    """Two-sided margin loss (P19, section 2, in both directions), averaged over the batch.

    ``source_negative (b, d)`` are negatives of the targets, and vice versa.
    """
    s, t = unit(source), unit(target)
    positive = (s * t).sum(dim=1)
    against_target = (s * unit(target_negative)).sum(dim=1)
    against_source = (t * unit(source_negative)).sum(dim=1)
    forward = F.relu(margin - positive + against_target).mean()
    backward = F.relu(margin - positive + against_source).mean()
    return forward + backward


def contrastive_loss(left: Tensor, right: Tensor, same: Tensor, margin: float) -> Tensor:
    """Contrastive loss with labels (S18), averaged over the pairs.

    ``left, right (n, d)``: row ``i`` of both is a pair, a translation if ``same (n,) bool``. At
    cosine distance ``d`` a translation costs ``d``, any other pair ``max(0, margin - d)^2``. The
    printed formula has the labels reversed, against its text.
    """
    distance = 1 - (unit(left) * unit(right)).sum(dim=1)
    return torch.where(same, distance, F.relu(margin - distance).square()).mean()


def softmax_over(
    queries: Tensor, candidates: Tensor, forbidden: Tensor | None, scale: float, margin: float
) -> Tensor:
    """Softmax with additive margin in one direction, averaged over the queries.

    ``queries (b, d)``, ``candidates (c, d)``, ``c >= b``: candidate ``i`` is the true one of query
    ``i``, all others are its negatives, except the pairs (query, candidate) in ``forbidden (p, 2)
    int64`` (:func:`miner_train.negatives.forbidden_pairs`).
    """
    rows = torch.arange(len(queries), device=queries.device)
    # Added to the scaled cosines; has no gradient.
    offset = queries.new_zeros(len(queries), len(candidates))
    offset[rows, rows] = -scale * margin
    if forbidden is not None:
        offset[forbidden[:, 0], forbidden[:, 1]] = -math.inf
    logits = torch.addmm(offset, scale * unit(queries), unit(candidates).T)  # (b, c)
    return F.cross_entropy(logits, rows)


def softmax_with_negatives(
    source: Tensor,
    target: Tensor,
    source_negative: Tensor,
    target_negative: Tensor,
    forbidden_to_source: Tensor | None,
    forbidden_to_target: Tensor | None,
    scale: float,
    margin: float,
) -> Tensor:
    """:func:`softmax_loss` with further negatives, for example the hardest of a mega-batch.

    The candidates of the sources ``(b, d)`` are the targets ``(b, d)`` and ``target_negative
    (m, d)``, and vice versa. ``forbidden_to_source (p, 2) int64`` are pairs (source, candidate)
    that are no negatives. Returns the mean over both directions.
    """
    targets = torch.cat([target, target_negative])
    there = softmax_over(source, targets, forbidden_to_source, scale, margin)
    # Joined here and not earlier, because torch adds gradients in the order of the operations.
    sources = torch.cat([source, source_negative])
    back = softmax_over(target, sources, forbidden_to_target, scale, margin)
    return 0.5 * (there + back)


def softmax_either(
    source: Tensor, target: Tensor, forbidden: Tensor | None, scale: float, margin: float
) -> Tensor:
    """:func:`softmax_loss` with negatives from both columns ``(b, d)``, for one language.

    Pairs of rows in ``forbidden (p, 2) int64`` are no negatives of each other, in any column.
    """
    n = len(source)
    # Candidates are targets, then sources: the partner of query i is candidate i, and the query
    # itself is candidate (i + n) % 2n.
    rows = torch.arange(2 * n, device=source.device)
    parts = [torch.stack([rows, (rows + n) % (2 * n)], dim=1)]
    if forbidden is not None:
        columns = ((0, 0), (0, n), (n, 0), (n, n))
        parts += [forbidden + forbidden.new_tensor(column) for column in columns]
    return softmax_over(
        torch.cat([source, target]), torch.cat([target, source]), torch.cat(parts), scale, margin
    )


def teacher_loss(student: Tensor, teacher: Tensor) -> Tensor:
    """Mean cosine distance of a student's rows ``(b, d)`` from its teacher's unit rows."""
    return 1 - (unit(student) * teacher).sum(dim=1).mean()
