"""Training kernels agree with plain references and torch's SparseAdam, for any thread count."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from miner.kernels.embed import (
    dropout_mask,
    group_by_id,
    margin_gradient,
    mean_dropped,
    scale_both,
    sparse_adam,
    spread_dropped,
)
from miner.kernels.pool import mean_rows
from miner.parallel import use_loop_threads
from miner_train import losses

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def mean_rows_reference(table: np.ndarray, ids: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Means by :func:`miner.kernels.pool.mean_rows`."""
    out = np.zeros((len(offsets) - 1, table.shape[1]), dtype=np.float32)
    for i in range(len(out)):
        if offsets[i + 1] > offsets[i]:
            out[i] = table[ids[offsets[i] : offsets[i + 1]]].mean(axis=0)
    return out


def dropout_mask_reference(places: np.ndarray, dimension: int, seed: int, cut: int) -> np.ndarray:
    """Factors by :func:`miner.kernels.embed.dropout_mask`, with whole numbers of Python."""
    blocks, most = -(-dimension // 4), (1 << 64) - 1
    out = np.zeros((len(places), dimension), dtype=np.float32)
    for i, place in enumerate(places.tolist()):
        for j in range(dimension):
            x = (seed + (place * blocks + j // 4 + 1) * 0x9E3779B97F4A7C15) & most
            x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & most
            x = (x ^ x >> 27) * 0x94D049BB133111EB & most
            if ((x ^ x >> 31) >> 16 * (j % 4)) & 0xFFFF >= cut:
                out[i, j] = 1 / (1 - cut / 65536)
    return out


def scale_both_reference(
    matrix: np.ndarray, by_row: np.ndarray, by_column: np.ndarray
) -> np.ndarray:
    """The matrix after :func:`miner.kernels.embed.scale_both`."""
    return matrix * (by_row[:, None] + by_column[None, :])


def batch(generator, size, sentences, longest=9, shortest=1):
    """Draw flat ids below ``size``, many of them repeated, and offsets."""
    lengths = generator.integers(shortest, longest + 1, sentences)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return generator.integers(0, size, offsets[-1]).astype(np.int32), offsets


NOWHERE = np.empty((0, 0), dtype=np.float32)


def adam_step(tables, gradient, ids, offsets, step, rate, start=NOWHERE, pull=0.0, dense=False):
    rows, starts, sentences = group_by_id(ids, offsets, len(tables[0]), dense or pull > 0)
    sparse_adam(
        *tables,
        gradient,
        offsets,
        rows,
        starts,
        sentences,
        step,
        rate,
        BETA1,
        BETA2,
        EPSILON,
        start,
        pull,
    )


def fresh(generator, size, dimension):
    """Return a random table with zero moments."""
    table = generator.normal(size=(size, dimension)).astype(np.float32)
    return [table, np.zeros_like(table), np.zeros_like(table)]


@pytest.fixture
def thread_counts():
    yield range(1, 4)
    use_loop_threads(None)


@pytest.mark.parametrize("dimension", [1, 4, 7, 33])
def test_dropped_means_and_their_gradient_are_those_of_the_mask(dimension, thread_counts):
    generator = np.random.default_rng(dimension)
    table = generator.normal(size=(40, dimension)).astype(np.float32)
    ids, offsets = batch(generator, 40, 30, longest=9, shortest=0)
    seed, cut = -5, 19_661
    mask = dropout_mask_reference(np.arange(len(ids)), dimension, seed, cut)
    places = generator.permutation(len(ids))[:20]
    some = np.empty((20, dimension), np.float32)
    dropout_mask(places, seed, cut, some)
    np.testing.assert_allclose(some, mask[places], rtol=1e-6)

    owner = np.repeat(np.arange(30), np.diff(offsets))
    expected = np.zeros((30, dimension))
    np.add.at(expected, owner, table[ids] * mask / np.diff(offsets)[owner][:, None])
    gradient = generator.normal(size=(30, dimension)).astype(np.float32)
    by_token = gradient[owner] * mask / np.diff(offsets)[owner][:, None]
    for threads in thread_counts:
        use_loop_threads(threads)
        out = np.full((30, dimension), np.nan, np.float32)
        mean_dropped(table, ids, offsets, seed, cut, out)
        np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-6)
        spread = np.full((len(ids), dimension), np.nan, np.float32)
        spread_dropped(gradient, offsets, seed, cut, spread)
        np.testing.assert_allclose(spread, by_token, rtol=1e-5, atol=1e-7)


def test_the_mask_drops_its_share_and_keeps_the_mean():
    out = np.empty((4000, 50), np.float32)
    dropout_mask(np.arange(4000), 3, round(0.3 * 65536), out)
    assert (out == 0).mean() == pytest.approx(0.3, abs=0.005)
    assert out.mean() == pytest.approx(1, abs=0.01)
    # Dropout of tokens and of components is independent.
    gone = out == 0
    for one, other in ((gone[1:], gone[:-1]), (gone[:, 1:], gone[:, :-1])):
        assert (one & other).mean() == pytest.approx(0.09, abs=0.005)


@pytest.mark.parametrize("dimension", [1, 3, 16, 300])
def test_mean_rows_are_the_means(dimension):
    generator = np.random.default_rng(dimension)
    table = generator.normal(size=(40, dimension)).astype(np.float32)
    ids, offsets = batch(generator, 40, 200, longest=25, shortest=0)
    out = np.full((200, dimension), np.nan, dtype=np.float32)
    mean_rows(table, np.ones(40, np.float32), ids, offsets, out)

    assert (np.diff(offsets) == 0).any()
    np.testing.assert_allclose(out, mean_rows_reference(table, ids, offsets), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("size, sentences", [(1, 5), (7, 30), (500, 20), (30, 0)])
def test_group_by_id_against_a_dict(size, sentences, every):
    generator = np.random.default_rng(size)
    ids, offsets = batch(generator, size, sentences, shortest=0)
    expected = {v: [] for v in range(size)} if every else {}
    for i in range(sentences):
        for v in ids[offsets[i] : offsets[i + 1]].tolist():
            expected.setdefault(v, []).append(i)

    rows, starts, owners = group_by_id(ids, offsets, size, every)

    assert rows.tolist() == sorted(expected)
    assert starts[0] == 0 and len(starts) == len(rows) + 1
    found = {
        int(row): owners[starts[r] : starts[r + 1]].tolist() for r, row in enumerate(rows.tolist())
    }
    assert found == expected


@pytest.mark.parametrize("pull", [None, 0.0, 0.01, 3.0])
def test_adam_is_torchs(pull):
    """Compared with SparseAdam, or with dense Adam on a loss with the squared distance from the
    start.
    """
    generator = np.random.default_rng(8)
    size, dimension, rate, sparse = 25, 6, 0.01, pull is None
    tables = fresh(generator, size, dimension)
    start = tables[0].copy()
    if not sparse:
        tables[0][3:] += 0.1 * generator.normal(size=(size - 3, dimension)).astype(np.float32)
    weight = torch.from_numpy(tables[0].copy()).requires_grad_()
    kind = torch.optim.SparseAdam if sparse else torch.optim.Adam
    optimizer = kind([weight], lr=rate, betas=(BETA1, BETA2), eps=EPSILON)

    for step in range(1, 13):
        # Even steps touch half of the table: sparse moments of the other half must not change. On
        # the last step only the pull towards the start changes weights.
        count = 8 if sparse or step < 12 else 0
        ids, offsets = batch(generator, size if step % 2 else size // 2, count)
        if step == 2:  # every sentence twice
            ids, offsets = np.tile(ids, 2), np.concatenate([offsets, offsets[1:] + offsets[-1]])
        gradient = generator.normal(size=(len(offsets) - 1, dimension)).astype(np.float32)
        adam_step(tables, gradient, ids, offsets, step, rate, start, pull or 0.0, not sparse)

        optimizer.zero_grad()
        loss = 0 if sparse else pull * (torch.from_numpy(start) - weight).square().sum()
        if len(ids):
            flat, ends = torch.from_numpy(ids).long(), torch.from_numpy(offsets[:-1])
            means = torch.nn.functional.embedding_bag(
                flat, weight, ends, mode="mean", sparse=sparse
            )
            loss = loss + (means * torch.from_numpy(gradient)).sum()
        loss.backward()
        optimizer.step()
        # A hundredth of a step: if W - start is only rounding, the direction of the step is
        # arbitrary.
        most = {"rtol": 1e-5, "atol": 1e-6} if sparse else {"rtol": 0, "atol": rate / 100}
        np.testing.assert_allclose(tables[0], weight.detach().numpy(), **most)

    moments = optimizer.state[weight]
    np.testing.assert_allclose(tables[1], moments["exp_avg"].numpy(), rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(tables[2], moments["exp_avg_sq"].numpy(), rtol=1e-3, atol=1e-6)
    assert np.abs(tables[0] - start).max() > 5 * rate or pull


@pytest.mark.parametrize("pull", [0.0, 0.5])
def test_threads_do_not_show(thread_counts, pull):
    results = []
    for threads in thread_counts:
        use_loop_threads(threads)
        generator = np.random.default_rng(7)
        tables = fresh(generator, 50, 33)
        start = tables[0].copy()
        out = np.empty((300, 33), dtype=np.float32)
        for step in range(1, 4):
            ids, offsets = batch(generator, 50, 300, longest=20)
            mean_dropped(tables[0], ids, offsets, 5, 9000, out)
            adam_step(tables, out, ids, offsets, step, 0.01, start, pull)
        results.append([array.tobytes() for array in (*tables, out)])
    assert all(result == results[0] for result in results)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 40), st.sampled_from([0, 0.4, 2])
)
def test_margin_gradient_is_that_of_torch(seed, n, d, margin):
    generator = np.random.default_rng(seed)
    means = generator.normal(size=(4 * n, d)).astype(np.float32)
    if generator.random() < 0.3:
        means[generator.integers(4 * n)] = 0
    gradient = np.full_like(means, np.nan)
    value = margin_gradient(means, margin, gradient)
    tensor = torch.from_numpy(means.astype(np.float64)).requires_grad_()
    expected = losses.margin_loss(*tensor.chunk(4), margin)
    expected.backward()
    assert value == pytest.approx(expected.item(), abs=1e-5)
    # At the kink, and for a zero vector, the gradient is undefined.
    cosine = torch.nn.functional.normalize(tensor.detach(), dim=1).chunk(4)
    pair = (cosine[0] * cosine[1]).sum(1)
    kink = [
        (margin - pair + (cosine[x] * cosine[y]).sum(1)).abs().numpy() < 1e-5
        for x, y in ((0, 3), (1, 2))
    ]
    sure = ~np.tile(kink[0] | kink[1], 4) & means.any(axis=1)
    for zero in np.flatnonzero(~means.any(axis=1)):
        sure[zero % n :: n] = False
    # Scaled by length, because short vectors have large gradients with large errors.
    length = np.linalg.norm(means, axis=1, keepdims=True)
    wanted = tensor.grad.numpy() * length
    np.testing.assert_allclose((gradient * length)[sure], wanted[sure], atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(0, 20), st.integers(0, 20))
def test_scale_both(seed, rows, columns):
    generator = np.random.default_rng(seed)
    matrix, by_row, by_column = (
        generator.normal(size=size).astype(np.float32) for size in ((rows, columns), rows, columns)
    )
    expected = scale_both_reference(matrix, by_row, by_column)
    scale_both(matrix, by_row, by_column)
    np.testing.assert_allclose(matrix, expected, rtol=1e-6, atol=1e-7)
