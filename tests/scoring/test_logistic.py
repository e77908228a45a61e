"""Logistic weights at the optimum, and logits shifted until their probabilities have a sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.scoring.logistic import FARTHEST, fit_ridge, shift_to, sigmoid


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
    # Whole Newton steps from far away go in circles: nearly all rows are sure there.
    draw = np.random.default_rng(seed)
    design = np.column_stack([np.ones(count), draw.normal(0, spread, (count, width))])
    right, wrong = draw.integers(0, 2, count).astype(float), draw.random(count) * 0.2
    penalty = np.concatenate([[0.1], np.full(width, 0.1)])
    center = draw.normal(0, 3, width + 1)
    weights = fit_ridge(design, right, wrong, penalty, center)
    pull = design.T @ ((right + wrong) * sigmoid(design @ weights) - right)
    assert np.abs(pull + penalty * (weights - center)).max() < 1e-4
