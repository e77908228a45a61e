"""miner_train.selection: pairs to keep by score, by rank and by chance, and columns of labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.errors import CorpusError
from miner_train.selection import cut, cut_clean, draw, labels

LINES = np.array([2, 5, 9])


def test_labels() -> None:
    found = labels(["1", " 0 ", "1.0"], "a.tsv", LINES)
    assert found.dtype == bool and found.tolist() == [True, False, True]
    assert len(labels([], "a.tsv", LINES[:0])) == 0


@pytest.mark.parametrize("text", ["", "0.5", "2", "-1", "good", "nan", "true"])
def test_what_is_no_label(text: str) -> None:
    with pytest.raises(CorpusError, match="^standard input, line 9: the label .* neither 1 nor 0"):
        labels(["1", "0", text], "-", LINES)


def test_cut() -> None:
    assert cut(10, 0.8).tolist() == list(range(8))
    best = cut(6, 0.5, np.array([0.1, 0.9, 0.5, 0.5, 0.5, -np.inf]))
    assert best.tolist() == [1, 2, 3] and best.dtype == np.int64
    assert cut(3, 0.01).tolist() == [0]
    assert cut(0, 0.5).tolist() == [] == cut(0, 0.5, np.empty(0)).tolist()


@given(st.lists(st.integers(-3, 3), max_size=40), st.floats(0, 1, exclude_min=True))
def test_what_is_cut_off_is_no_better(values: list[int], share: float) -> None:
    ranks = np.array(values, dtype=np.float64)
    rows = cut(len(values), share, ranks)
    others = np.setdiff1d(np.arange(len(values)), rows)
    assert (np.diff(rows) > 0).all()
    assert abs(len(rows) - len(values) * share) <= max(0.5, 1 - len(values) * share)
    for row in others.tolist():
        worst = ranks[rows].min()
        assert ranks[row] <= worst
        assert ranks[row] < worst or row > rows[ranks[rows] == worst].max()
    if share == 1:
        assert len(others) == 0


def test_cut_by_cleanliness() -> None:
    probability = np.array([0.2, 1.0, 0.9, 0.5, 0.9])
    assert cut_clean(probability, 0.8).tolist() == [1, 2, 3, 4]  # mean 0.825
    assert cut_clean(probability, 0.9).tolist() == [1, 2, 4]
    assert cut_clean(probability, 0.1).tolist() == [0, 1, 2, 3, 4]
    assert cut_clean(probability[:1], 0.8).tolist() == [] == cut_clean(probability[:0], 1).tolist()


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0, 1))
def test_cleanliness_is_reached_and_no_longer_run_reaches_it(values, clean):
    probability = np.array(values, dtype=np.float64)
    rows = cut_clean(probability, clean)
    best = np.sort(probability)[::-1]
    np.testing.assert_array_equal(np.sort(probability[rows])[::-1], best[: len(rows)])
    if len(rows):
        assert probability[rows].mean() >= clean - 1e-9
    if len(rows) < len(best):
        assert best[: len(rows) + 1].mean() < clean + 1e-9


def test_draw() -> None:
    rows = draw(1000, 100, 3)
    assert len(rows) == 100 == len(set(rows.tolist())) and rows.dtype == np.int64
    assert (np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < 1000
    np.testing.assert_array_equal(draw(1000, 100, 3), rows)
    assert draw(1000, 100, 4).tolist() != rows.tolist()
    # Evenly from everywhere: the mean of 100 of 1000 is within five standard errors.
    assert abs(rows.mean() - 499.5) < 5 * 289 / 10


@pytest.mark.parametrize("sample", [0, 5, 6, 10**9])
def test_draw_all(sample: int) -> None:
    assert draw(5, sample, 1).tolist() == [0, 1, 2, 3, 4]
