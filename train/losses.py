"""Objectives over cosines. Vectors come in as means; both normalise them first."""

import torch
import torch.nn.functional as F
from torch import Tensor

from miner.kernels.embed import scale_both

# exp(-x) is a normal float32 up to this x.
LARGEST_EXPONENT = 87.0


def softmax_loss(
    source: Tensor, target: Tensor, same: Tensor | None, scale: float, margin: float
) -> Tensor:
    """In-batch softmax with additive margin, both directions (Yang et al. 2019, equation 4).

    ``source, target (b, d)``: row ``i`` translates row ``i``; all other rows of the opposite
    language are negatives, but for those where ``same (b, b) bool`` is true: copies of the true
    partner, or pairs of a copy of this sentence. Returns a scalar, the mean over both directions.
    """
    s, t = F.normalize(source, dim=1), F.normalize(target, dim=1)
    if scale * (2 + margin) > LARGEST_EXPONENT:
        return softmax_loss_reference(s, t, same, scale, margin)
    return _FusedSoftmax.apply(s, t, same, scale, margin)


def softmax_loss_reference(
    s: Tensor, t: Tensor, same: Tensor | None, scale: float, margin: float
) -> Tensor:
    """The same of unit vectors ``s, t (b, d)``, written down plainly."""
    cosine = s @ t.T  # (b, b)
    true = torch.eye(len(cosine), dtype=cosine.dtype, device=cosine.device)
    logits = scale * (cosine - margin * true)
    if same is not None:
        logits = logits.masked_fill(same, float("-inf"))
    rows = torch.arange(len(logits), device=logits.device)
    return 0.5 * (F.cross_entropy(logits, rows) + F.cross_entropy(logits.T, rows))


class _FusedSoftmax(torch.autograd.Function):
    """Value and gradient from one matrix, in place: the exponentials serve both directions."""

    @staticmethod
    def forward(  # type: ignore[no-untyped-def]
        ctx, s: Tensor, t: Tensor, same: Tensor | None, scale: float, margin: float
    ) -> Tensor:
        # Nothing is subtracted before the exponentials, as a softmax would do for each row and then
        # for each column: by LARGEST_EXPONENT they neither overflow nor vanish.
        work = (scale * s) @ t.T  # (b, b)
        work.diagonal().sub_(scale * margin)
        true = work.diagonal().clone()
        if same is not None:
            work.masked_fill_(same, float("-inf"))
        work.exp_()
        rows, columns = work.sum(dim=1), work.sum(dim=0)
        loss = 0.5 * ((rows.log() - true).mean() + (columns.log() - true).mean())
        # By the cosines: (softmax over the row + softmax over the column - 2 on the true pair),
        # times the scale, halved, a mean over the batch.
        share = scale / (2 * len(s))
        scale_both(work.numpy(), (share / rows).numpy(), (share / columns).numpy())
        gradient = work
        gradient.diagonal().sub_(2 * share)
        ctx.save_for_backward(gradient @ t, gradient.T @ s)
        return loss

    @staticmethod
    def backward(ctx, upstream: Tensor):  # type: ignore[no-untyped-def]
        by_source, by_target = ctx.saved_tensors
        return upstream * by_source, upstream * by_target, None, None, None


def margin_loss(
    source: Tensor, target: Tensor, source_negative: Tensor, target_negative: Tensor, margin: float
) -> Tensor:
    """Two-sided margin loss (P19, equation 1, and its mirror image), a mean over the batch.

    ``source_negative (b, d)`` are sentences of the *source* language that stand against the
    targets, ``target_negative (b, d)`` sentences of the target language against the sources.
    """
    s, t = F.normalize(source, dim=1), F.normalize(target, dim=1)
    positive = (s * t).sum(dim=1)
    against_target = (s * F.normalize(target_negative, dim=1)).sum(dim=1)
    against_source = (t * F.normalize(source_negative, dim=1)).sum(dim=1)
    forward = F.relu(margin - positive + against_target).mean()
    backward = F.relu(margin - positive + against_source).mean()
    return forward + backward
