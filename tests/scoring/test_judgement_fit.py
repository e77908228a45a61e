"""Logistic weights, shifted logits, and functions fitted to answers of erring judges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.scoring.judgement_fit import believed, fit_again, fit_answers
from miner.scoring.logistic import FARTHEST, Logistic, fit_ridge, shift_to, sigmoid


def answered(
    seed: int, count: int, faults: float = 0.0, errors: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw log-odds of pairs, and answers."""
    generator = np.random.default_rng(seed)
    logit = generator.normal(0, 3, count)
    right = (generator.random(count) < sigmoid(logit)) & (generator.random(count) >= faults)
    return logit, (right ^ (generator.random(count) < errors)).astype(float)


@pytest.mark.parametrize(("faults", "errors"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.1)])
def test_shares_of_faults_and_errors_are_found(faults: float, errors: float) -> None:
    logit, answers = answered(1, 4000, faults, errors)
    design = np.column_stack([np.ones(len(logit)), logit])
    found = fit_answers(design, answers, np.full(2, 1.0), np.array([0.0, 1.0]))
    assert found.faults == pytest.approx(faults, abs=0.04)
    assert found.errors == pytest.approx(errors, abs=0.04)
    assert found.weights == pytest.approx([0, 1], abs=0.25)


def test_believed_answers() -> None:
    assert believed(np.array([1.0, 0.0]), np.array([0.5, 0.5]), 0.1) == pytest.approx([0.9, 0.1])
    assert believed(np.array([1.0, 0.0]), np.array([0.01, 0.9]), 0.0) == pytest.approx([1, 0])
    assert believed(np.array([0.5]), np.array([0.3]), 0.1)[0] == pytest.approx(
        (0.27 / 0.34 + 0.03 / 0.66) / 2
    )


def test_answers_teach_what_a_score_does_not_know_and_few_of_them_little() -> None:
    generator = np.random.default_rng(2)
    features = generator.normal(0, 1, (600, 5))
    start = Logistic(tuple("abcde"), 0.0, np.array([2.0, 0, 0, 0, 0]), np.zeros(5))
    logit = start.logit(features)
    right = (generator.random(600) < sigmoid(logit + 3 * features[:, 1])).astype(float)
    many = fit_again(start, features, right, 10.0)
    assert np.mean((many.logit(features) > 0) == right) > 0.8
    assert np.mean((logit > 0) == right) < 0.75
    assert sigmoid(many.logit(features)).mean() == pytest.approx(right.mean(), abs=0.02)
    few = fit_again(start, features[:10], right[:10], 10.0)
    assert np.abs(few.weight[1:]).max() < 0.3


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(0.01, 0.99))
def test_probabilities_sum_to_the_total(seed: int, count: int, share: float) -> None:
    logit = np.random.default_rng(seed).normal(0, 3, count)
    shift = shift_to(logit, share * count)
    assert sigmoid(logit + shift).sum() == pytest.approx(share * count, rel=1e-6)


def test_a_total_out_of_reach() -> None:
    assert shift_to(np.zeros(3), 3) == pytest.approx(FARTHEST)
    assert shift_to(np.zeros(3), 0) == pytest.approx(-FARTHEST)


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 6), st.floats(0.5, 30))
def test_a_fit_ends_where_nothing_pulls(seed: int, count: int, width: int, spread: float) -> None:
    # Full Newton steps from far away oscillate, because nearly all rows are certain there.
    draw = np.random.default_rng(seed)
    design = np.column_stack([np.ones(count), draw.normal(0, spread, (count, width))])
    right, wrong = draw.integers(0, 2, count).astype(float), draw.random(count) * 0.2
    penalty = np.concatenate([[0.1], np.full(width, 0.1)])
    center = draw.normal(0, 3, width + 1)
    weights = fit_ridge(design, right, wrong, penalty, center)
    pull = design.T @ ((right + wrong) * sigmoid(design @ weights) - right)
    assert np.abs(pull + penalty * (weights - center)).max() < 1e-4
