"""Objectives over cosines. Vectors come in as means; both normalise them first."""

import torch
import torch.nn.functional as F
from torch import Tensor


def softmax_loss(
    source: Tensor, target: Tensor, same: Tensor | None, scale: float, margin: float
) -> Tensor:
    """In-batch softmax with additive margin, both directions (Yang et al. 2019, equation 4).

    ``source, target (b, d)``: row ``i`` translates row ``i``; all other rows of the opposite
    language are negatives, but for those where ``same (b, b) bool`` is true: copies of the true
    partner, or pairs of a copy of this sentence. Returns a scalar, the mean over both directions.
    """
    cosine = F.normalize(source, dim=1) @ F.normalize(target, dim=1).T  # (b, b)
    true = torch.eye(len(cosine), dtype=cosine.dtype, device=cosine.device)
    logits = scale * (cosine - margin * true)
    if same is not None:
        logits = logits.masked_fill(same, float("-inf"))
    rows = torch.arange(len(logits), device=logits.device)
    return 0.5 * (F.cross_entropy(logits, rows) + F.cross_entropy(logits.T, rows))


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
