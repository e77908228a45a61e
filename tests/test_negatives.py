"""The choice of negatives against brute force, on data that is mostly copies and ties."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from train import negatives
from train.negatives import hardest, hardest_reference, related


@st.composite
def problems(draw):
    """Vectors of small integers, whose products are exact, and text numbers with many copies."""
    n = draw(st.integers(1, 12))
    vector = st.lists(st.integers(-2, 2), min_size=2, max_size=2)
    many = st.lists(vector, min_size=n, max_size=n)
    numbers = st.lists(st.integers(0, draw(st.integers(0, 12))), min_size=n, max_size=n)
    return draw(many), draw(many), draw(numbers), draw(numbers)


def arrays(problem):
    source, target, source_text, target_text = problem
    return (
        np.array(source, dtype=np.float32),
        np.array(target, dtype=np.float32),
        np.array(source_text, dtype=np.int64),
        np.array(target_text, dtype=np.int64),
    )


def allowed(problem, i, j):
    """Whether pairs i and j have no sentence in common, on whichever side it stands."""
    _, _, source_text, target_text = problem
    return i != j and not {source_text[i], target_text[i]} & {source_text[j], target_text[j]}


def brute(problem):
    source, target, _, _ = problem
    n = len(source)
    found = ([], [])
    for i in range(n):
        others = [j for j in range(n) if allowed(problem, i, j)]
        for chosen, anchor, side in ((found[0], source, target), (found[1], target, source)):
            score = {j: sum(a * b for a, b in zip(anchor[i], side[j], strict=True)) for j in others}
            chosen.append(min(others, key=lambda j: (-score[j], j)) if others else -1)
    return found


ONE = ([[1, 0]], [[1, 0]], [0], [0])
ALL_COPIES = ([[1, 0]] * 3, [[1, 0]] * 3, [0, 0, 0], [0, 1, 2])
ALL_TIED = ([[1, 1]] * 5, [[1, 1]] * 5, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])


@given(problems())
@example(ONE)
@example(ALL_COPIES)
@example(ALL_TIED)
def test_hardest_is_brute_force(problem):
    """Where all are looked at, whatever rounding does: ties, copies, nobody to choose."""
    with mock.patch.object(negatives, "KEPT", 12):
        target_negative, source_negative = hardest(*arrays(problem))
    assert target_negative.dtype == source_negative.dtype == np.int64
    assert (target_negative.tolist(), source_negative.tolist()) == brute(problem)
    reference = hardest_reference(*arrays(problem))
    assert [part.tolist() for part in reference] == [
        target_negative.tolist(),
        source_negative.tolist(),
    ]


@given(problems())
def test_hardest_is_never_right(problem):
    """Never the partner, a copy of the partner, or the partner of a copy; -1 only for want."""
    _, _, source_text, target_text = problem
    n = len(source_text)
    for chosen in hardest(*arrays(problem)):
        for i, j in enumerate(chosen.tolist()):
            if j == -1:
                assert not any(allowed(problem, i, other) for other in range(n))
            else:
                assert j != i
                assert target_text[j] != target_text[i]
                assert source_text[j] != source_text[i]
                assert source_text[j] != target_text[i] and target_text[j] != source_text[i]


def test_negatives_are_of_the_opposite_language():
    """Each source has a twin among the sources, which a choice from its own side would take."""
    source = np.eye(6, dtype=np.float32)[[0, 0, 1, 1]]
    target = np.eye(6, dtype=np.float32)[[2, 3, 4, 5]]
    source[2] += 0.5 * target[0]  # so source 2 likes target 0, and target 0 source 2
    source[0] += 0.5 * target[3]
    target_negative, source_negative = hardest(source, target, np.arange(4), np.arange(4, 8))
    assert target_negative.tolist() == [3, 0, 0, 0]
    assert source_negative.tolist() == [2, 0, 0, 0]


@given(problems())
@example(ALL_COPIES)
def test_related_is_every_shared_sentence(problem):
    n = len(problem[0])
    found = {(row, other) for row, rows in related(*arrays(problem)[2:]) for other in rows.tolist()}
    shared = {(i, j) for i in range(n) for j in range(n) if i != j and not allowed(problem, i, j)}
    assert {(i, j) for i, j in found if i != j} == shared
    assert {i for i, j in found if i == j} == {i for i, _ in shared}


def test_a_sentence_of_both_columns_is_no_negative_of_itself():
    """German-English and English-French trained together: English stands on both sides."""
    source = np.array([[1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)
    target = np.array([[0.9, 0.1], [0, 1], [0.5, 0.5]], dtype=np.float32)
    hello = 7  # the target of pair 0 and the source of pair 1
    target_negative, source_negative = hardest(
        source, target, np.array([1, hello, 3]), np.array([hello, 5, 6])
    )
    assert target_negative[0] == 2 and source_negative[0] == 2


@pytest.mark.parametrize("kept", [1, 2, 8])
def test_the_few_that_are_looked_at_hold_the_hardest(kept):
    """Vectors in general position; many copies, so that some rows must look at all."""
    generator = np.random.default_rng(3)
    vectors = generator.normal(size=(2, 400, 64))
    source, target = (vectors / np.linalg.norm(vectors, axis=2, keepdims=True)).astype(np.float32)
    texts = generator.integers(0, 300, (2, 400))
    with mock.patch.object(negatives, "KEPT", kept):
        found = hardest(source, target, *texts)
    expected = hardest_reference(source, target, *texts)
    same = [np.mean(one == other) for one, other in zip(found, expected, strict=True)]
    assert min(same) == 1 if kept == 8 else min(same) > 0.8
