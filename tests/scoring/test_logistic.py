"""Log-odds of probabilities, whatever their type."""

import numpy as np
import pytest

from miner.scoring.logistic import log_odds, sigmoid


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, int])
def test_log_odds_are_finite(dtype: type) -> None:
    found = log_odds(np.array([0, 1], dtype=dtype))
    assert np.isfinite(found).all() and found[0] < -15 and found[1] > 15
    assert np.isfinite(log_odds(1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_odds_invert_the_sigmoid(dtype: type) -> None:
    logit: np.ndarray = np.linspace(-9, 9, 19, dtype=dtype)
    assert np.allclose(log_odds(sigmoid(logit)), logit, atol=1e-3)
