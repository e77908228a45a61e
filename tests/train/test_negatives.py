"""Negatives agree with brute force, on data of many duplicates and ties."""

import contextlib
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from miner_train import negatives
from miner_train.negatives import choose_negatives, forbidden_pairs


def forbidden_pairs_reference(query_text: np.ndarray, candidate_text: np.ndarray) -> np.ndarray:
    """Find forbidden pairs one at a time."""
    found = [
        (i, j)
        for i, query in enumerate(query_text.tolist())
        for j, candidate in enumerate(candidate_text.tolist())
        if i != j and set(query) & set(candidate)
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def allowed_reference(source_text: np.ndarray, target_text: np.ndarray, either: bool) -> np.ndarray:
    """Find the allowed negatives of each sentence, ``(2n, 2n) bool``, one pair at a time."""
    n = len(source_text)
    texts = [set(pair) for pair in zip(source_text.tolist(), target_text.tolist(), strict=True)]
    allowed = np.zeros((2 * n, 2 * n), dtype=bool)
    for a, b in np.ndindex(allowed.shape):
        allowed[a, b] = not texts[a % n] & texts[b % n] and (either or a // n != b // n)
    return allowed


def nearest_reference(
    source: np.ndarray,
    target: np.ndarray,
    source_text: np.ndarray,
    target_text: np.ndarray,
    either: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the hardest negatives by the whole matrix in double precision."""
    n = len(source)
    if n == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    both = np.concatenate([source, target]).astype(np.float64)
    similarity = (both @ both.T).astype(np.float32)
    similarity[~allowed_reference(source_text, target_text, either)] = -np.inf
    best = np.where(np.isfinite(similarity.max(axis=1)), similarity.argmax(axis=1), -1)
    return best[:n], best[n:]


@st.composite
def problems(draw):
    """Draw integer vectors with exact products, and text ids with many duplicates."""
    n = draw(st.integers(0, 12))
    vector = st.lists(st.integers(-2, 2), min_size=2, max_size=2)
    many = st.lists(vector, min_size=n, max_size=n)
    numbers = st.lists(st.integers(0, draw(st.integers(0, 12))), min_size=n, max_size=n)
    return draw(many), draw(many), draw(numbers), draw(numbers)


def arrays(problem):
    source, target, source_text, target_text = problem
    return (
        np.array(source, dtype=np.float32).reshape(-1, 2),
        np.array(target, dtype=np.float32).reshape(-1, 2),
        np.array(source_text, dtype=np.int64),
        np.array(target_text, dtype=np.int64),
    )


def choices(problem, either, a):
    """List the allowed negatives of sentence ``a``, counted over both columns."""
    return np.flatnonzero(allowed_reference(*arrays(problem)[2:], either)[a]).tolist()


def brute(problem, either):
    """Find the nearest negative of every source, then target; the lower row of equals."""
    return np.concatenate(nearest_reference(*arrays(problem), either)).tolist()


def chosen(problem, mode, either, seed=0):
    """Return negatives of sources and targets as one list."""
    found = choose_negatives(*arrays(problem), mode, either, np.random.default_rng(seed))
    n = len(problem[0])
    assert all(part.dtype == np.int64 and part.shape == (n,) for part in found)
    return [*found[0].tolist(), *found[1].tolist()]


@contextlib.contextmanager
def by_engine(kept):
    """Search by the engine for many sentences, whatever their number."""
    with mock.patch.object(negatives, "FEW", 0), mock.patch.object(negatives, "KEPT", kept):
        yield


def unit(generator, n, d):
    vectors = generator.normal(size=(n, d))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


NOTHING = ([], [], [], [])
ONE = ([[1, 0]], [[1, 0]], [0], [0])
TWO = ([[1, 0], [0, 1]], [[1, 0], [1, 1]], [0, 1], [2, 3])
ALL_COPIES = ([[1, 0]] * 3, [[1, 0]] * 3, [0, 0, 0], [0, 1, 2])
ALL_TIED = ([[1, 1]] * 5, [[1, 1]] * 5, [0, 1, 2, 3, 4], [5, 6, 7, 8, 9])
ALL_ZERO = ([[0, 0]] * 4, [[0, 0]] * 4, [0, 1, 2, 3], [4, 5, 6, 7])
# One English sentence with three German ones, one of which has an English one of its own too.
ONE_TO_MANY = (
    [[1, 0], [1, 1], [2, 1], [1, 1], [0, 1]],
    [[1, 0], [1, 0], [1, 0], [1, 2], [0, 1]],
    [1, 2, 3, 2, 4],
    [9, 9, 9, 8, 7],
)
EITHER = pytest.mark.parametrize("either", [False, True], ids=["opposite", "either"])


def examples(function):
    for problem in (NOTHING, ONE, TWO, ALL_COPIES, ALL_TIED, ALL_ZERO, ONE_TO_MANY):
        function = example(problem)(function)
    return given(problems())(function)


@EITHER
@examples
def test_max_is_brute_force(either, problem):
    expected = brute(problem, either)
    assert chosen(problem, "max", either) == expected
    # In this case the engine keeps all sentences, despite rounding.
    with by_engine(24):
        assert chosen(problem, "max", either) == expected


@EITHER
@pytest.mark.parametrize("draws", [1, 8])
@pytest.mark.parametrize("mode", ["max", "rand", "mix"])
@examples
def test_a_negative_is_allowed_if_any_is(mode, draws, either, problem):
    """Also if none of the kept or drawn sentences is allowed."""
    with by_engine(1), mock.patch.object(negatives, "DRAWS", draws):
        found = chosen(problem, mode, either)
        if mode == "rand":  # without vectors
            again = choose_negatives(
                None, None, *arrays(problem)[2:], mode, either, np.random.default_rng(0)
            )
            assert np.concatenate(again).tolist() == found
    for a, b in enumerate(found):
        options = choices(problem, either, a)
        assert b in options if options else b == -1


@EITHER
@pytest.mark.parametrize("draws", [1, 3, 8])
def test_rand_is_uniform(either, draws, monkeypatch):
    """Per sentence over many seeds, by chi-squared; from draws, and from all sentences."""
    monkeypatch.setattr(negatives, "DRAWS", draws)
    times = 2000
    found = np.array([chosen(ONE_TO_MANY, "rand", either, seed) for seed in range(times)])
    for a in range(10):
        options = choices(ONE_TO_MANY, either, a)
        count = np.bincount(found[:, a], minlength=10)
        assert set(np.flatnonzero(count)) == set(options)
        expected = times / len(options)
        squares = ((count[options] - expected) ** 2 / expected).sum()
        freedom = len(options) - 1
        assert squares < freedom + 5 * np.sqrt(2 * freedom) + 5


@EITHER
def test_mix_tosses_a_coin_for_each_pair(either):
    generator = np.random.default_rng(4)
    n = 1500
    source, target = unit(generator, n, 8), unit(generator, n, 8)
    texts = np.arange(n), np.arange(n, 2 * n)
    find = {
        mode: choose_negatives(source, target, *texts, mode, either, np.random.default_rng(5))
        for mode in ("max", "mix")
    }
    as_max = [mixed == nearest for mixed, nearest in zip(find["mix"], find["max"], strict=True)]
    # A random negative is the nearest by chance once in thousands of times.
    assert (as_max[0] != as_max[1]).sum() < 10
    assert abs(as_max[0].mean() - 0.5) < 5 * 0.5 / np.sqrt(n)


@st.composite
def texts(draw):
    """Return text ids of the pairs of queries and of candidates, of any numbers."""
    number = st.integers(0, draw(st.integers(0, 15)))
    pair = st.tuples(number, number)
    return [
        np.array(draw(st.lists(pair, max_size=12)), dtype=np.int64).reshape(-1, 2) for _ in "qc"
    ]


@given(texts())
def test_forbidden_pairs_is_the_plain_loop(sides):
    found = forbidden_pairs(*sides)
    assert found.dtype == np.int64 and found.shape[1:] == (2,)
    assert found.tolist() == forbidden_pairs_reference(*sides).tolist()


@EITHER
@pytest.mark.parametrize("kept", [2, 3, 8])
def test_the_few_that_are_looked_at_hold_the_nearest(kept, either):
    """With vectors in general position and many duplicates, so that some rows must search all."""
    generator = np.random.default_rng(3)
    source, target = unit(generator, 400, 64), unit(generator, 400, 64)
    numbers = generator.integers(0, 300, (2, 400))
    with by_engine(kept):
        found = choose_negatives(source, target, *numbers, "max", either, generator)
    expected = nearest_reference(source, target, *numbers, either)
    same = [np.mean(one == other) for one, other in zip(found, expected, strict=True)]
    assert min(same) == 1 if kept == 8 else min(same) > 0.8


@pytest.mark.parametrize("either", [False, True])
@pytest.mark.parametrize("count", [30, 400])
def test_what_is_nearer_than_the_bound_is_passed_over(either, count):
    generator = np.random.default_rng(count)
    vectors = generator.normal(size=(2, count, 6)).astype(np.float32)
    source, target = vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
    texts = np.arange(count), np.arange(count, 2 * count)
    both = np.concatenate([source, target])
    similarity = both @ both.T
    allowed = allowed_reference(*texts, either)
    for below in (0.8, 0.2, -1.0):
        found = choose_negatives(source, target, *texts, "max", either, generator, below)
        for row, chosen in enumerate(np.concatenate(found).tolist()):
            rest = np.where(allowed[row] & (similarity[row] <= below), similarity[row], -np.inf)
            if chosen < 0:
                assert rest.max() < below + 1e-6 and (below == -1 or not np.isfinite(rest.max()))
            else:
                assert allowed[row, chosen] and similarity[row, chosen] <= below + 1e-6
                # For many sentences the engine ranks by int8.
                assert similarity[row, chosen] >= rest.max() - (1e-5 if count < 256 else 0.05)
