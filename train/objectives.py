"""Batches of a pool of pairs, with loss and gradient."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from miner.kernels.embed import margin_gradient
from miner_train.config import TrainConfig
from miner_train.data import Encode, PairData, Sentences, join
from miner_train.losses import (
    contrastive_loss,
    softmax_either,
    softmax_loss,
    softmax_with_negatives,
    teacher_loss,
)
from miner_train.negatives import choose_negatives, forbidden_pairs

# Loss and its gradient (n, d), a function of vectors (n, d) that are not normalised.
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]
# Sentences to encode, and the loss of their vectors.
Batch = tuple[Sentences, Loss]
# Weight of the distance from a teacher, relative to the softmax over translations: with more than 1
# the student comes nearer to the teacher, and finds as many translations (benchmarks/LOG.md).
TEACHING = 10.0


def batches(
    config: TrainConfig, pool: PairData, encode: Encode, generator: np.random.Generator
) -> Iterator[Batch]:
    """Yield the mini-batches of the mega-batch ``pool`` (P18), in its order.

    Negatives are chosen once, from the whole pool, before its first step. Pairs without a negative
    are dropped.
    """
    if config.objective == "softmax" and config.megabatch == 1:
        yield join([pool.source, pool.target]), _in_batch(config, pool)
        return
    n = len(pool)
    vectors: tuple[np.ndarray | None, np.ndarray | None] = None, None
    if config.negatives != "rand":
        vectors = encode(pool.source), encode(pool.target)
    for_source, for_target = choose_negatives(
        *vectors,
        pool.source_text,
        pool.target_text,
        config.negatives,
        config.negatives_from == "either",
        generator,
        config.negatives_below,
    )
    both = join([pool.source, pool.target])
    usable = np.flatnonzero((for_source >= 0) & (for_target >= 0))
    for start in range(0, len(usable), config.batch):
        part = usable[start : start + config.batch]
        # Sources, targets, negatives of the targets, negatives of the sources.
        rows = np.concatenate([part, n + part, for_target[part], for_source[part]])
        if config.objective == "margin":
            yield both.take(rows), _margin(config)
        elif config.objective == "contrastive":
            # One negative pair for each positive pair (S18): a source and its negative.
            kept = np.concatenate([part, part, n + part, for_source[part]])
            same = np.arange(len(kept) // 2) < len(part)
            yield both.take(kept), _contrastive(config, same)
        else:
            loss = _with_negatives(config, pool, part, for_source[part] % n, for_target[part] % n)
            yield both.take(rows), loss


def labelled_batch(config: TrainConfig, pairs: PairData) -> Batch:
    """Make a mini-batch of labelled pairs (S18)."""
    return join([pairs.source, pairs.target]), _contrastive(config, pairs.same)


def taught_batch(config: TrainConfig, pool: PairData, teacher: np.ndarray) -> Batch:
    """Make a mini-batch of both sides whose vectors should be the teacher's.

    ``teacher (s, d)`` are unit rows by text id. For translations (``pool.same``) the in-batch
    softmax is added, weighted by their share.
    """
    rows = np.concatenate([pool.source_text, pool.target_text])
    wanted = torch.from_numpy(teacher[rows].astype(np.float32))
    pairs = np.flatnonzero(pool.same)
    chosen, related = torch.from_numpy(pairs), _related(pool.take(pairs))

    def loss(vectors: Tensor) -> Tensor:
        value = TEACHING * teacher_loss(vectors, wanted)
        if len(pairs) > 1:
            source, target = (side_vectors[chosen] for side_vectors in vectors.chunk(2))
            across = softmax_loss(source, target, related, config.scale, config.margin)
            value = value + across * (len(pairs) / len(pool))
        return value

    return join([pool.source, pool.target]), _by_autograd(loss)


def _margin(config: TrainConfig) -> Loss:
    def loss(vectors: np.ndarray) -> tuple[float, np.ndarray]:
        gradient = np.empty_like(vectors)
        return margin_gradient(vectors, config.margin, gradient), gradient

    return loss


def _contrastive(config: TrainConfig, same: np.ndarray) -> Loss:
    """Contrastive loss of the left sides of pairs followed by the right sides."""
    labels = torch.from_numpy(same)

    def loss(vectors: Tensor) -> Tensor:
        left, right = vectors.chunk(2)
        return contrastive_loss(left, right, labels, config.margin)

    return _by_autograd(loss)


def _in_batch(config: TrainConfig, pool: PairData) -> Loss:
    """Softmax loss over the batch, of sources followed by targets."""
    related = _related(pool)
    compute = softmax_either if config.negatives_from == "either" else softmax_loss

    def loss(vectors: Tensor) -> Tensor:
        source, target = vectors.chunk(2)
        return compute(source, target, related, config.scale, config.margin)

    return _by_autograd(loss)


def _related(pool: PairData) -> Tensor | None:
    """Return pairs of rows ``(p, 2) int64`` that are no negatives of each other, in both orders."""
    pairs = forbidden_pairs(pool.text, pool.text)
    return torch.from_numpy(pairs) if len(pairs) else None


def _with_negatives(
    config: TrainConfig,
    pool: PairData,
    part: np.ndarray,
    for_source: np.ndarray,
    for_target: np.ndarray,
) -> Loss:
    """Softmax loss over the batch and the negatives of its pairs, which are rows of the pool."""

    def forbidden(negatives: np.ndarray) -> Tensor | None:
        candidates = np.concatenate([part, negatives])
        pairs = forbidden_pairs(pool.text[part], pool.text[candidates])
        return torch.from_numpy(pairs) if len(pairs) else None

    to_source, to_target = forbidden(for_source), forbidden(for_target)

    def loss(vectors: Tensor) -> Tensor:
        s, t, of_target, of_source = vectors.chunk(4)
        return softmax_with_negatives(
            s, t, of_target, of_source, to_source, to_target, config.scale, config.margin
        )

    return _by_autograd(loss)


def _by_autograd(function: Callable[[Tensor], Tensor]) -> Loss:
    def loss(vectors: np.ndarray) -> tuple[float, np.ndarray]:
        means = torch.from_numpy(vectors).requires_grad_()
        value = function(means)
        value.backward()
        assert means.grad is not None
        return float(value.detach()), means.grad.numpy()

    return loss
