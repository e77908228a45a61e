"""Margins of the second opinion agree with a plain computation, whatever the batch."""

import numpy as np
import pytest

from miner.encoder.model import load
from miner.scoring import second_opinion
from miner.scoring.logistic import sigmoid
from miner.scoring.second_opinion import (
    BAND,
    FEWEST,
    NEAREST,
    Weighing,
    centred,
    chance_spread,
    margins,
    of_both,
    standard_margins,
)


def test_all_constants_are_in_fingerprints():
    """No result depends on blocks; the rest decides."""
    named = {name for name in vars(second_opinion) if name.isupper()}
    assert second_opinion.constants().keys() == named - {"BLOCK", "DECIDING"}


def test_no_row_is_kept_for_being_below_the_band():
    bounds = [language.quality_bound for language in load("default").languages.values()]
    assert BAND[0] < min(bound for bound in bounds if bound)


def plain_centred(vectors: np.ndarray) -> np.ndarray:
    rows = [row for row in vectors.astype(np.float64) if row.any()]
    mean = sum(rows) / len(rows) if rows else 0
    out = np.zeros(vectors.shape)
    for place, row in enumerate(vectors.astype(np.float64)):
        if row.any() and np.linalg.norm(row - mean) > 1e-6:
            out[place] = (row - mean) / np.linalg.norm(row - mean)
    return out


def plain_margin(source: np.ndarray, target: np.ndarray, s: int, t: int) -> float:
    def mean(own: np.ndarray, others: np.ndarray) -> float:
        found = sorted((float(own @ other) for other in others if other.any()), reverse=True)
        return float(np.mean(found[:NEAREST]))

    if not (source[s].any() and target[t].any()):
        return np.nan
    around = mean(source[s], target) + mean(target[t], source)
    return float(source[s] @ target[t]) - around / 2


def sides(sizes: tuple[int, int], seed: int, zeros: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw vectors with a common direction, duplicates and zero rows."""
    random = np.random.default_rng(seed)
    found = [random.normal(1, 1, (size, 16)).astype(np.float32) for size in sizes]
    for side in found:
        side[len(side) // 2] = side[0]
        side[random.permutation(len(side))[:zeros]] = 0
    return found[0], found[1]


@pytest.mark.parametrize(
    ("sizes", "zeros"),
    [((FEWEST, FEWEST), 0), ((40, FEWEST), 0), ((61, 47), 5), ((FEWEST, 80), 0)],
)
def test_margins_equal_a_plain_computation(sizes, zeros):
    for seed in range(5):
        own, others = sides(sizes, seed, zeros)
        source, target = centred(own), centred(others)
        assert np.allclose(source, plain_centred(own), atol=1e-6)
        rows = np.random.default_rng(seed).integers(0, sizes, (50, 2))
        found = margins(source, target, rows[:, 0], rows[:, 1])
        wanted = [plain_margin(source, target, s, t) for s, t in rows.tolist()]
        assert np.allclose(found, wanted, atol=1e-5, equal_nan=True)
        alone = [margins(source, target, *row[:, None]).item() for row in rows[:5]]
        assert np.array_equal(alone, found[:5], equal_nan=True)


def test_fewer_sentences_than_neighbours(monkeypatch):
    monkeypatch.setattr(second_opinion, "FEWEST", 1)
    own, others = sides((3, 2), 1)
    source, target = centred(own + np.eye(3, 16)), centred(others + np.eye(2, 16))
    found = margins(source, target, np.array([0, 2]), np.array([1, 0]))
    wanted = [plain_margin(source, target, 0, 1), plain_margin(source, target, 2, 0)]
    assert np.allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("sizes", [(0, 0), (0, 30), (1, 1), (FEWEST - 1, 100)])
def test_too_few_sentences_tell_nothing(sizes):
    source, target = (centred(np.ones((size, 4)) + np.eye(size, 4)) for size in sizes)
    rows = np.zeros(0 if 0 in sizes else 3, dtype=np.int64)
    assert np.isnan(margins(source, target, rows, rows)).all()
    assert len(margins(source, target, rows, rows)) == len(rows)


def test_centre_and_blocks(monkeypatch):
    own, _ = sides((50, FEWEST), 3, 4)
    whole = centred(own)
    assert (whole.any(axis=1) == own.any(axis=1)).all()
    assert not centred(np.ones((4, 3))).any()  # all vectors equal the mean
    assert centred(np.empty((0, 3))).shape == (0, 3)
    monkeypatch.setattr(second_opinion, "BLOCK", 7)
    assert np.allclose(centred(own), whole, atol=1e-7)
    moved = centred(own[:5], own)
    assert np.array_equal(moved, centred(own)[:5])


def test_margins_among_the_sentences_of_the_pairs():
    own, others = sides((90, 70), 5, 3)
    rows = np.random.default_rng(5).integers(0, (60, 50), (45, 2))
    left, right = np.unique(rows[:, 0]), np.unique(rows[:, 1])
    source, target = plain_centred(own[left]), plain_centred(others[right])
    spread = chance_spread(source.astype(np.float32), target.astype(np.float32))
    places = zip(np.searchsorted(left, rows[:, 0]), np.searchsorted(right, rows[:, 1]), strict=True)
    wanted = [plain_margin(source, target, s, t) / spread for s, t in places]
    found = standard_margins(own, others, rows[:, 0], rows[:, 1])
    assert np.allclose(found, wanted, atol=1e-4, equal_nan=True) and np.isnan(found).any()
    order = np.random.default_rng(6).permutation(len(rows))
    again = standard_margins(own, others, rows[order, 0], rows[order, 1])
    assert np.array_equal(again, found[order], equal_nan=True)


def test_qualities_by_both_opinions(monkeypatch):
    monkeypatch.setattr(second_opinion, "QUALITY", Weighing(2.0, 0.5, 3.0))
    quality = np.array([0.5, 0.5, 0.2, 0.5, BAND[0] - 0.01, BAND[1] + 0.01, np.nan])
    found = of_both(quality, np.array([0.5, 3.0, 9.0, np.nan, 9, 9, 9]))
    assert np.allclose(found[:3], sigmoid(np.array([0.0, 5.0, 5.0 + np.log(0.25)])))
    assert np.array_equal(found[3:], quality[3:], equal_nan=True)
