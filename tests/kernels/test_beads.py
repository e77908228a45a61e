"""Alignment kernels agree with plain enumeration; bands around anchors."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.alignment.anchors import band, chain
from miner.alignment.beads import KINDS, MOST, best, decode, spans_of
from miner.kernels.beads import (
    FEATURES,
    band_products,
    bead_features,
    block_norms,
    forward_backward,
    score_beads,
)

Bead = tuple[int, int]


def alignments(n: int, m: int) -> list[list[Bead]]:
    """Enumerate the alignments of n and m sentences as lists of kinds."""
    if (n, m) == (0, 0):
        return [[]]
    kinds = [(a, b) for a, b in KINDS.tolist() if a <= n and b <= m]
    return [[*rest, kind] for kind in kinds for rest in alignments(n - kind[0], m - kind[1])]


def whole(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a band that contains all states."""
    return np.zeros(n + 1, np.int64), np.arange(n + 2) * (m + 1)


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 99), st.booleans())
def test_posteriors_and_best_path_agree_with_enumeration(n, m, seed, ties) -> None:
    generator = np.random.default_rng(seed)
    limits = whole(n, m)
    shape = (limits[1][-1], len(KINDS))
    scores = generator.integers(-2, 2, shape) if ties else generator.normal(size=shape)
    scores = scores.astype(np.float32)
    for cell, kind in itertools.product(*map(range, shape)):
        i, j = divmod(cell, m + 1)
        if i < KINDS[kind, 0] or j < KINDS[kind, 1]:
            scores[cell, kind] = -np.inf
    number = {tuple(kind): k for k, kind in enumerate(KINDS.tolist())}
    expected, total, most = np.zeros(shape), 0.0, -math.inf
    for path in alignments(n, m):
        i = j = 0
        places, value = [], 0.0
        for a, b in path:
            i, j = i + a, j + b
            places.append((i * (m + 1) + j, number[a, b]))
            value += float(scores[places[-1]])
        total += math.exp(value)
        most = max(most, value)
        for place in places:
            expected[place] += math.exp(value)
    posterior = np.empty_like(scores)
    found = forward_backward(scores, limits, KINDS, posterior)
    assert found == pytest.approx(math.log(total), abs=1e-5)
    np.testing.assert_allclose(posterior, expected / total, atol=1e-5)
    path = best(scores, limits)
    assert scores[tuple(path.T)].sum() == pytest.approx(most if len(path) else 0, abs=1e-4)
    assert KINDS[path[:, 1]].sum(axis=0).tolist() == [n, m]
    beads = decode(scores, limits)
    ends = beads.spans[:, [1, 3]]
    np.testing.assert_array_equal(beads.spans[1:, [0, 2]], ends[:-1])
    np.testing.assert_allclose(
        beads.probability,
        [posterior[i * (m + 1) + j, number[i - k, j - h]] for k, i, h, j in beads.spans.tolist()],
    )


def test_without_an_alignment_nothing_is_probable() -> None:
    limits = whole(1, 1)
    scores = np.full((4, len(KINDS)), -np.inf, np.float32)
    posterior = np.ones_like(scores)
    assert forward_backward(scores, limits, KINDS, posterior) == -np.inf
    assert not posterior.any() and not len(best(scores, limits))


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 3)), max_size=8), st.integers(0, 3))
def test_the_heaviest_chain(targets: list[tuple[int, int]], more: int) -> None:
    rows = [(row, target) for row, (target, _) in enumerate(targets)]
    pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
    weight = np.array([own for _, own in targets], dtype=np.float64)
    found = chain(pairs, weight, 9 + more)
    assert (np.diff(found, axis=0) > 0).all()
    every = [
        sum(weight[list(some)])
        for size in range(len(pairs) + 1)
        for some in itertools.combinations(range(len(pairs)), size)
        if (np.diff(pairs[list(some), 1]) > 0).all()
    ]
    assert weight[found[:, 0]].sum() == max(every)


@given(
    st.integers(0, 300),
    st.integers(0, 300),
    st.lists(st.tuples(st.integers(0, 299), st.integers(0, 299)), max_size=6),
)
def test_a_band_holds_the_anchors_and_the_ends(n, m, some) -> None:
    pairs = sorted({i: j for i, j in some if i < n and j < m}.items())
    found = chain(np.array(pairs, dtype=np.int64).reshape(-1, 2), np.ones(len(pairs)), max(m, 1))
    low, first = band(found, n, m)
    high = low + np.diff(first) - 1
    assert low[0] == 0 and high[-1] == m and (high >= low).all()
    assert (np.diff(low) >= 0).all() and (np.diff(high) >= 0).all()
    for i, j in found.tolist():
        assert low[i] <= j <= high[i] and low[i + 1] <= j + 1 <= high[i + 1]


def test_scores_are_the_features_of_the_joined_sentences() -> None:
    """Features computed from sums of products equal those of the summed vectors."""
    generator = np.random.default_rng(3)
    n, m, width = 5, 4, MOST - 1
    sums = generator.normal(size=(n, 6)), generator.normal(size=(m, 6))
    sums[0][2] = 0  # a sentence without a vector
    lengths = [np.concatenate([[0], np.cumsum(generator.integers(1, 90, k))]) for k in (n, m)]
    usual = [generator.normal(size=(k, width)).astype(np.float32) for k in (n, m)]
    norms = [
        np.array(
            [
                [np.linalg.norm(own[i : i + a + 1].sum(axis=0)) for a in range(width)]
                for i in range(k)
            ],
            np.float32,
        )
        for own, k in zip(sums, (n, m), strict=True)
    ]
    flat = (sums[0] @ sums[1].T).astype(np.float32).ravel()
    products = flat, np.zeros(n, np.int64), np.arange(n + 1) * m
    limits = whole(n, m)
    weights = generator.normal(size=len(KINDS) + len(FEATURES))
    ratio, loose, level = 1.3, -2.0, 0.6
    scores = np.empty((limits[1][-1], len(KINDS)), np.float32)
    facts = ratio, loose, level
    known = products, tuple(norms), tuple(usual), tuple(lengths), facts
    score_beads(limits, *known, KINDS, weights, scores)
    for cell, kind in itertools.product(range(len(scores)), range(len(KINDS))):
        (i, j), (a, b) = divmod(cell, m + 1), KINDS[kind].tolist()
        if i < a or j < b:
            assert scores[cell, kind] == -np.inf
            continue
        left = lengths[0][i] - lengths[0][i - a]
        right = lengths[1][j] - lengths[1][j - b]
        x = dict.fromkeys(FEATURES, 0.0)
        if a and b:
            one, other = sums[0][i - a : i].sum(axis=0), sums[1][j - b : j].sum(axis=0)
            size = np.linalg.norm(one) * np.linalg.norm(other)
            x["cosine"] = one @ other / size / level if size else 0.0
            x["similarity"] = a * b * x["cosine"]
            x["usual"] = a * b * (usual[0][i - a, a - 1] + usual[1][j - b, b - 1]) / 2 / level
            spread = math.sqrt(6.8 * (left * ratio + right + 2) / 2)
            x["delta"] = min(abs(left * ratio - right) / spread, 6)
        else:
            x["left_out"], x["loose"] = math.log(1 + left + right), loose
        features = np.empty((1, len(FEATURES)))
        bead_features(np.array([[i - a, i, j - b, j]]), *known, features)
        np.testing.assert_allclose(features[0], [*x.values()], rtol=2e-4, atol=1e-5)
        expected = weights[kind] + weights[len(KINDS) :] @ [*x.values()]
        assert scores[cell, kind] == pytest.approx(expected, rel=1e-3, abs=1e-3)


def test_spans_follow_cells() -> None:
    limits = np.array([0, 0, 1]), np.array([0, 2, 5, 7])  # rows 0: 0-1, 1: 0-2, 2: 1-2
    cells, kinds = np.array([3, 6]), np.array([2, 1])  # (1, 1) by 1-1, (2, 2) by 0-1
    assert spans_of(cells, kinds, limits).tolist() == [[0, 1, 0, 1], [2, 2, 1, 2]]


@given(st.integers(0, 2**32 - 1), st.integers(0, 9), st.integers(0, 9), st.integers(0, 80))
def test_products_and_norms_of_blocks(seed: int, n: int, m: int, d: int) -> None:
    generator = np.random.default_rng(seed)
    source, target = (generator.normal(size=(k, d)).astype(np.float32) for k in (n, m))
    source[generator.random(n) < 0.2] = 0
    left = generator.integers(0, m + 1, n)
    starts = np.concatenate([[0], np.cumsum(generator.integers(0, m - left + 1))])
    flat = np.empty(starts[-1], np.float32)
    band_products(source, target, left, starts, flat)
    both = source @ target.T
    for i in range(n):
        own = flat[starts[i] : starts[i + 1]]
        np.testing.assert_allclose(own, both[i, left[i] :][: len(own)], rtol=1e-4, atol=1e-4)
    usual = generator.normal(size=d).astype(np.float32)
    norms, cosines = np.zeros((2, n, 3), np.float32)
    block_norms(source, usual, norms, cosines)
    for i, count in itertools.product(range(n), range(3)):
        total = source[i : i + count + 1].sum(axis=0, dtype=np.float64)
        size = np.linalg.norm(total) if i + count < n else 0.0
        assert norms[i, count] == pytest.approx(size, rel=1e-4, abs=1e-5)
        if 0 < size < 1e-3:  # rows that cancel, of which rounding leaves too much
            continue
        cosine = total @ usual / size if size > 0 else 0.0
        assert cosines[i, count] == pytest.approx(cosine, rel=1e-3, abs=1e-3)
