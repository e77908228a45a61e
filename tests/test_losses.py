"""The objectives against slow definitions, and their gradients against finite differences."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from train import losses  # noqa: E402
from train.losses import margin_loss, softmax_loss  # noqa: E402


def cosine(x, y):
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    return dot / math.sqrt(sum(a * a for a in x)) / math.sqrt(sum(b * b for b in y))


def softmax_reference(source, target, same, scale, margin):
    """Yang et al. 2019, equation 4, one pair and one negative at a time."""
    n, total = len(source), 0.0
    for i in range(n):
        true = math.exp(scale * (cosine(source[i], target[i]) - margin))
        forward = backward = true
        for j in range(n):
            if j == i:
                continue
            if not same[i][j]:
                forward += math.exp(scale * cosine(source[i], target[j]))
            if not same[j][i]:
                backward += math.exp(scale * cosine(source[j], target[i]))
        total -= 0.5 * (math.log(true / forward) + math.log(true / backward))
    return total / n


def margin_reference(source, target, source_negative, target_negative, margin):
    """P19, equation 1, in both directions."""
    total = 0.0
    for s, t, bad_s, bad_t in zip(source, target, source_negative, target_negative, strict=True):
        total += max(0.0, margin - cosine(s, t) + cosine(s, bad_t))
        total += max(0.0, margin - cosine(s, t) + cosine(t, bad_s))
    return total / len(source)


def vectors(seed, count, n=5, d=4):
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(n, d)) for _ in range(count)]


def tensors(arrays):
    return [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]


def differences(function, arrays, step=1e-6):
    """Central differences of a function of arrays, by every number in them."""
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
    """No relation, a symmetric one, and one in which a pair has no negative left."""
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

    loss.backward()
    expected = differences(lambda s, t: softmax_reference(s, t, same, scale, margin), arrays)
    for tensor, gradient in zip(inputs, expected, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), gradient, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("scale", [20.0, 43.4, 43.5, 43.6, 200.0])
@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_softmax_in_float32_at_its_extremes(scale, turn):
    """Cosines of 1 and -1, where exponentials would vanish or overflow first."""
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
    """Blocks of one row, of two with one left over, of three."""
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


def test_softmax_without_a_mask_is_with_an_empty_one():
    source, target = tensors(vectors(2, 2))
    empty = torch.zeros((0, 2), dtype=torch.int64)
    with_none = softmax_loss(source, target, None, 20.0, 0.2)
    assert with_none.item() == softmax_loss(source, target, empty, 20.0, 0.2).item()


def test_masked_copies_do_not_count():
    """A second copy of a pair, masked, leaves each loss what it was without it."""
    source, target = vectors(3, 2, n=4)
    alone = softmax_loss(*tensors([source, target]), None, 10.0, 0.1).item()
    twice = tensors([np.tile(source, (2, 1)), np.tile(target, (2, 1))])
    unmasked = softmax_loss(*twice, None, 10.0, 0.1).item()
    # Rows i and i + 4 are the same pair; of all others one copy is masked as well.
    same = torch.zeros((8, 8), dtype=torch.bool)
    same[:4, 4:] = same[4:, :4] = True
    assert softmax_loss(*twice, same.nonzero(), 10.0, 0.1).item() == pytest.approx(alone, rel=1e-12)
    assert unmasked > alone + 0.1


def test_softmax_margin_is_on_the_true_pair_alone():
    """Orthonormal pairs: the true cosine is 1 - margin, every other one 0."""
    eye = torch.eye(3, dtype=torch.float64)
    for margin in (0.0, 0.3):
        loss = softmax_loss(eye, eye, None, 4.0, margin).item()
        assert loss == pytest.approx(math.log(1 + 2 * math.exp(-4.0 * (1 - margin))), rel=1e-9)


@pytest.mark.parametrize("margin", [0.0, 0.4, 2.0])
def test_margin_is_its_definition(margin):
    arrays = vectors(4, 4)
    inputs = tensors(arrays)
    loss = margin_loss(*inputs, margin)
    assert loss.item() == pytest.approx(margin_reference(*arrays, margin), rel=1e-9)

    loss.backward()
    expected = differences(lambda *args: margin_reference(*args, margin), arrays)
    for tensor, gradient in zip(inputs, expected, strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), gradient, atol=1e-6)


def test_margin_is_nothing_where_the_pair_wins_by_it():
    eye = np.eye(4)
    near, far = eye[:2], eye[2:]
    inputs = tensors([near, near, far, far])
    loss = margin_loss(*inputs, 0.99)
    loss.backward()
    assert loss.item() == 0
    assert all((tensor.grad == 0).all() for tensor in inputs)
    assert margin_loss(*inputs, 1.25).item() == pytest.approx(0.5)


@pytest.mark.parametrize("factor", [1e-3, 40.0])
def test_only_directions_count(factor):
    arrays = vectors(5, 4)
    scaled = tensors([arrays[0] * factor, *arrays[1:]])
    plain = tensors(arrays)
    assert margin_loss(*scaled, 0.4).item() == pytest.approx(margin_loss(*plain, 0.4).item())
    there = softmax_loss(*scaled[:2], None, 20.0, 0.2).item()
    assert there == pytest.approx(softmax_loss(*plain[:2], None, 20.0, 0.2).item())
