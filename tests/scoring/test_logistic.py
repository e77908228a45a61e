"""Logits shifted until their probabilities have a sum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.scoring.logistic import FARTHEST, shift_to, sigmoid


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.floats(0.01, 0.99))
def test_probabilities_sum_to_the_total(seed: int, count: int, share: float) -> None:
    logit = np.random.default_rng(seed).normal(0, 3, count)
    shift = shift_to(logit, share * count)
    assert sigmoid(logit + shift).sum() == pytest.approx(share * count, rel=1e-6)


def test_a_total_out_of_reach() -> None:
    assert shift_to(np.zeros(3), 3) == pytest.approx(FARTHEST)
    assert shift_to(np.zeros(3), 0) == pytest.approx(-FARTHEST)
