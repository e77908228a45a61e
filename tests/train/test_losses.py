"""Objectives agree with slow definitions, their gradients with finite differences."""

import math

import numpy as np
import pytest
import torch

from miner_train import losses
from miner_train.losses import (
    contrastive_loss,
    margin_loss,
    softmax_either,
    softmax_loss,
    softmax_over,
    softmax_with_negatives,
)


def cosine(x, y):
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    if not (any(x) and any(y)):
        return 0.0
    return dot / math.sqrt(sum(a * a for a in x)) / math.sqrt(sum(b * b for b in y))


def margin_reference(source, target, source_negative, target_negative, margin):
    """P19, equation 1, in both directions."""
    total = 0.0
    for s, t, bad_s, bad_t in zip(source, target, source_negative, target_negative, strict=True):
        total += max(0.0, margin - cosine(s, t) + cosine(s, bad_t))
        total += max(0.0, margin - cosine(s, t) + cosine(t, bad_s))
    return total / len(source)


def over_reference(queries, candidates, forbidden, scale, margin):
    """Compute cross-entropy one candidate at a time; ``forbidden`` holds (query, candidate)."""
    total = 0.0
    for i, query in enumerate(queries):
        logits = [
            scale * (cosine(query, candidate) - (margin if j == i else 0.0))
            for j, candidate in enumerate(candidates)
            if (i, j) not in forbidden
        ]
        true = scale * (cosine(query, candidates[i]) - margin)
        total -= math.log(math.exp(true) / sum(map(math.exp, logits)))
    return total / len(queries)


def softmax_reference(source, target, same, scale, margin):
    """Yang et al. 2019, equation 4: the mean of both directions."""
    forbidden = set(map(tuple, np.argwhere(same).tolist()))
    back = {(j, i) for i, j in forbidden}
    there = over_reference(source, target, forbidden, scale, margin)
    return (there + over_reference(target, source, back, scale, margin)) / 2


def either_reference(source, target, same, scale, margin):
    """Compare every sentence of both columns with all others, except forbidden pairs."""
    n = len(source)
    # Candidate b of query a is the sentence (b + n) % 2n: the first n candidates are targets.
    forbidden = {
        (a, b)
        for a in range(2 * n)
        for b in range(2 * n)
        if same[a % n][b % n] or (a % n == b % n and a != b)
    }
    queries, candidates = [*source, *target], [*target, *source]
    return over_reference(queries, candidates, forbidden, scale, margin)


def contrastive_reference(left, right, same, margin):
    """Compute the loss of S18 by the meaning of its formula."""
    total = 0.0
    for x, y, label in zip(left, right, same, strict=True):
        distance = 1 - cosine(x, y)
        total += distance if label else max(0.0, margin - distance) ** 2
    return total / len(same)


def vectors(seed, count, n=5, d=4):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(n, d)) for _ in range(count)]


def tensors(arrays):
    return [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]


def differences(function, arrays, step=1e-6):
    """Return central differences of a function by every number of its arrays."""
    gradients = []
    for array in arrays:
        gradient = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            kept = array[place]
            array[place] = kept + step
            above = function(*arrays)
            array[place] = kept - step
            below = function(*arrays)
            array[place] = kept
            gradient[place] = (above - below) / (2 * step)
        gradients.append(gradient)
    return gradients


def masks():
    """Relations: none, a symmetric one, and one that leaves a pair without negatives."""
    none = np.zeros((5, 5), dtype=bool)
    some = none.copy()
    for i, j in ((0, 3), (1, 2)):
        some[i, j] = some[j, i] = True
    lonely = none.copy()
    lonely[4, :4] = lonely[:4, 4] = True
    return [none, some, lonely]


@pytest.mark.parametrize("same", masks(), ids=["none", "some", "lonely"])
@pytest.mark.parametrize("scale, margin", [(1.0, 0.0), (20.0, 0.2), (7.5, 1.3), (60.0, 0.5)])
def test_softmax_is_its_definition(same, scale, margin):
    arrays = vectors(1, 2)
    inputs = tensors(arrays)
    loss = softmax_loss(*inputs, torch.from_numpy(np.argwhere(same)), scale, margin)
    assert loss.item() == pytest.approx(softmax_reference(*arrays, same, scale, margin), rel=1e-9)


@pytest.mark.parametrize("scale", [20.0, 43.4, 43.5, 43.6, 200.0])
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_softmax_in_float32_at_its_extremes(scale, turn):
    """Cosines of 1 and -1, where exponentials would overflow or vanish first."""
    arrays = vectors(6, 2)
    arrays[0][:3] = turn * arrays[1][:3]
    arrays[0][3] = -turn * arrays[1][3]
    same = masks()[2]
    inputs = [torch.tensor(array, dtype=torch.float32, requires_grad=True) for array in arrays]
    loss = softmax_loss(*inputs, torch.from_numpy(np.argwhere(same)), scale, 0.0)
    loss.backward()
    expected = softmax_reference(*arrays, same, scale, 0.0)
    assert loss.item() == pytest.approx(expected, rel=1e-4, abs=1e-5)
    gradients = differences(lambda s, t: softmax_reference(s, t, same, scale, 0.0), arrays)
    for tensor, gradient in zip(inputs, gradients, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), gradient, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("most", [1, 7, 10, 15])
def test_softmax_in_blocks_is_the_same(most, monkeypatch):
    """In blocks of one row, of two with one left over, of three."""
    same = torch.from_numpy(np.argwhere(masks()[2]))
    found = []
    for limit in (losses.MOST, most):
        monkeypatch.setattr(losses, "MOST", limit)
        inputs = tensors(vectors(1, 2))
        loss = softmax_loss(*inputs, same, 20.0, 0.2)
        loss.backward()
        found.append([loss.detach().numpy(), *(tensor.grad.numpy() for tensor in inputs)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("margin", [0.0, 0.4, 2.0])
def test_margin_is_its_definition(margin):
    arrays = vectors(4, 4)
    inputs = tensors(arrays)
    loss = margin_loss(*inputs, margin)
    assert loss.item() == pytest.approx(margin_reference(*arrays, margin), rel=1e-9)


def pairs(*rows):
    return torch.tensor(rows, dtype=torch.int64).reshape(-1, 2)


FORBIDDEN = [set(), {(0, 1), (3, 6), (4, 0)}, {(2, j) for j in range(7) if j != 2}]


@pytest.mark.parametrize("forbidden", FORBIDDEN, ids=["none", "some", "lonely"])
@pytest.mark.parametrize("scale, margin", [(1.0, 0.0), (20.0, 0.2), (7.5, 1.3)])
def test_softmax_over_is_its_definition(forbidden, scale, margin):
    queries, candidates = vectors(7, 1)[0], vectors(8, 1, n=7)[0]
    inputs = tensors([queries, candidates])
    loss = softmax_over(*inputs, pairs(*forbidden), scale, margin)
    expected = over_reference(queries, candidates, forbidden, scale, margin)
    assert loss.item() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if not forbidden:
        assert softmax_over(*inputs, None, scale, margin).item() == loss.item()


@pytest.mark.parametrize("scale", [20.0, 1000.0])
def test_softmax_over_in_float32_at_its_extremes(scale):
    queries = torch.tensor([[1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    loss = softmax_over(queries, torch.tensor([[-1.0, 0.0], [0.0, 1.0]]), None, scale, 0.5)
    assert loss.item() == pytest.approx(0.5 * 1.5 * scale, rel=1e-3)
    loss.backward()
    assert queries.grad.isfinite().all()


def test_more_negatives_stand_against_the_other_language():
    source, target = vectors(10, 2)
    more = [vectors(11, 1, n=3)[0], vectors(12, 1, n=2)[0]]
    to_source, to_target = {(0, 5), (1, 6), (4, 2)}, {(3, 7), (2, 0)}
    loss = softmax_with_negatives(
        *tensors([source, target, *more]), pairs(*to_source), pairs(*to_target), 5.0, 0.3
    )
    there = over_reference(source, np.concatenate([target, more[1]]), to_source, 5.0, 0.3)
    back = over_reference(target, np.concatenate([source, more[0]]), to_target, 5.0, 0.3)
    assert loss.item() == pytest.approx((there + back) / 2, rel=1e-9)


@pytest.mark.parametrize("same", masks(), ids=["none", "some", "lonely"])
def test_softmax_either_is_its_definition(same):
    arrays = vectors(13, 2)
    loss = softmax_either(*tensors(arrays), torch.from_numpy(np.argwhere(same)), 6.0, 0.2)
    assert loss.item() == pytest.approx(either_reference(*arrays, same, 6.0, 0.2), rel=1e-9)
    if not same.any():
        assert softmax_either(*tensors(arrays), None, 6.0, 0.2).item() == loss.item()


LABELS = [True, False, False, True, False]


@pytest.mark.parametrize("margin", [0.3, 1.0, 2.0])
def test_contrastive_is_its_definition(margin):
    arrays = vectors(15, 2)
    arrays[1][1] = arrays[0][1]  # equal vectors labelled as different cost margin^2
    loss = contrastive_loss(*tensors(arrays), torch.tensor(LABELS), margin)
    assert loss.item() == pytest.approx(contrastive_reference(*arrays, LABELS, margin), rel=1e-9)


# Of means (n, d) each, as many as said.
ALL = {
    "softmax": (2, lambda s, t: softmax_loss(s, t, pairs((0, 3), (3, 0)), 3.0, 0.2)),
    # A scale too large for the fused loss.
    "softmax, plain": (2, lambda s, t: softmax_loss(s, t, None, 60.0, 0.2)),
    "margin": (4, lambda *means: margin_loss(*means, 0.4)),
    "contrastive": (2, lambda s, t: contrastive_loss(s, t, torch.tensor(LABELS), 1.1)),
    "over": (2, lambda s, t: softmax_over(s, t, pairs((0, 3), (2, 4)), 3.0, 0.2)),
    "with negatives": (
        4,
        lambda *means: softmax_with_negatives(
            *means, pairs((0, 3), (4, 9)), pairs((1, 7)), 3.0, 0.2
        ),
    ),
    "either": (2, lambda s, t: softmax_either(s, t, pairs((0, 3), (3, 0)), 3.0, 0.2)),
}
EVERY = pytest.mark.parametrize("count, loss", ALL.values(), ids=ALL)


@EVERY
@pytest.mark.parametrize("zero", [False, True], ids=["", "zero rows"])
def test_gradients(count, loss, zero):
    """By finite differences; zero rows, which have no gradient, by their effect on others."""
    keep = np.ones((5, 1))
    if zero:
        keep[[1, 4]] = 0
    mask = [torch.tensor(keep if side % 2 else np.roll(keep, 1)) for side in range(count)]

    def masked(*means):
        return loss(*(means[side] * mask[side] for side in range(count)))

    inputs = tensors(vectors(17, count))
    # No hinge of these vectors is at its kink, where the check would fail.
    assert torch.autograd.gradcheck(masked, inputs)
    masked(*inputs).backward()
    assert all(tensor.grad.isfinite().all() for tensor in inputs)


@EVERY
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zero_rows_stay_where_they_are(count, loss, dtype):
    """With one zero row or only zero rows: no NaN and no gradient of an undefined direction."""
    for zero in ([0], [2, 3], list(range(5))):
        arrays = vectors(18, count)
        for array in arrays:
            array[zero] = 0
        inputs = [torch.tensor(array, dtype=dtype, requires_grad=True) for array in arrays]
        value = loss(*inputs)
        value.backward()
        assert value.isfinite() and all(tensor.grad.isfinite().all() for tensor in inputs)
        assert all((tensor.grad[zero] == 0).all() for tensor in inputs)
