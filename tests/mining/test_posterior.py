"""Probabilities of being right, on simulated scores with known truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.precision.mixture import (
    HIDDEN,
    RESAMPLES,
    RIGHT_SPREAD,
    Histogram,
    Mixture,
    drawn_spreads,
    interval,
)

NOTHING_MORE = np.zeros(RESAMPLES), np.inf


def world(
    seed: int, right: int, wrong: int, decoys: int, offset: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Simulate log-odds of pairs, their truth, and log-odds of decoys.

    Wrong pairs and decoys have the same distribution; there are fewer decoys by the factor
    exp(``offset``).
    """
    generator = np.random.default_rng(seed)
    logit = np.concatenate([generator.normal(3, 1.5, right), generator.logistic(-6, 0.8, wrong)])
    seen = generator.binomial(decoys, np.exp(-offset))
    return logit, np.arange(right + wrong) < right, generator.logistic(-6, 0.8, seen)


def fitted(seed: int, right: int, share: float, offset: float = 0.0) -> tuple[Histogram, ...]:
    logit, true, decoys = world(seed, right, 20_000, int(20_000 * share), offset)
    histogram = Histogram(logit, decoys, np.full(len(decoys), 1 / share), slope=1.0)
    return histogram, logit, true


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("right", [300, 3000])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_what_is_asked_is_reached(seed: int, right: int, share: float) -> None:
    histogram, logit, true = fitted(seed, right, share)
    score = histogram.fit().probability(logit)
    order = np.argsort(-score)
    mean = np.cumsum(score[order]) / np.arange(1, len(score) + 1)
    for asked in (0.9, 0.95, 0.98):
        kept = int(np.count_nonzero(mean >= asked))
        assert kept > right / 3
        assert true[order][:kept].mean() == pytest.approx(asked, abs=0.1 if right == 300 else 0.04)
    if right == 3000:
        assert score.sum() == pytest.approx(right, rel=0.1)


@pytest.mark.parametrize("right", [0, 10])
@pytest.mark.parametrize("wider", [0.0, 0.1])
def test_little_is_kept_where_little_is_parallel(right: int, wider: float) -> None:
    """Chance pairs are never taken for right ones, even if their tail is heavier than the decoys'.

    A chance match is the best of many, so that its log-odds are distributed as a maximum.
    """
    for seed in range(20):
        generator = np.random.default_rng(seed)
        logit = generator.gumbel(-9.5, 1.2 + wider, 4600)
        logit[:right] = generator.normal(4, 1.5, right)
        decoys = generator.gumbel(-9.5, 1.2, 5000)
        histogram = Histogram(logit, decoys, np.full(5000, 0.5), slope=2.0)
        score = np.sort(histogram.fit().probability(logit))[::-1]
        kept = int(np.count_nonzero(np.cumsum(score) >= 0.9 * np.arange(1, len(score) + 1)))
        assert right * 0.7 <= kept <= right + 10


def test_decoys_that_match_less_are_scaled() -> None:
    """If half as many decoys are matched as wrong pairs of the corpus, low scores reveal the
    factor.
    """
    histogram, logit, true = fitted(1, 1000, 1.0, offset=float(np.log(2)))
    mixture = histogram.fit()
    assert np.exp(mixture.scale) == pytest.approx(2, rel=0.1)
    score = mixture.probability(logit)
    order = np.argsort(-score)
    kept = int(np.count_nonzero(np.cumsum(score[order]) >= 0.9 * np.arange(1, len(score) + 1)))
    assert true[order][:kept].mean() == pytest.approx(0.9, abs=0.03)


def test_intervals_hold_the_truth() -> None:
    inside = []
    for seed in range(10):
        histogram, logit, true = fitted(seed, 400, 0.3)
        mixture = histogram.fit()
        order = np.argsort(-logit)
        kept = np.array([300.0, 400.0])
        precision, recall = histogram.resampled(mixture, *NOTHING_MORE, kept)
        for place, count in enumerate(kept.astype(int)):
            right = true[order][:count].sum()
            low, high = interval(precision[:, place])
            inside.append(low <= right / count <= high)
            low, high = interval(recall[:, place])
            inside.append(low <= right / true.sum() <= high)
    assert np.mean(inside) >= 0.7


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(1, 200))
def test_probabilities_rise_with_log_odds(seed: int, m: int, n: int) -> None:
    """With ties, few pairs or few decoys, nothing fails and the order is preserved."""
    generator = np.random.default_rng(seed)
    logit = np.sort(np.round(generator.normal(0, 4, m), 1))
    decoys = np.round(generator.normal(-2, 4, n), 1)
    mixture = Histogram(logit, decoys, generator.random(n) + 0.1, slope=1.0).fit()
    score = mixture.probability(logit)
    assert ((score >= 0) & (score <= 1)).all() and (np.diff(score) >= 0).all()
    assert np.isfinite(mixture.wrong(decoys)).all() and (mixture.wrong(decoys) > 0).all()


def test_a_mixture_keeps_to_a_total() -> None:
    histogram, logit, _ = fitted(1, 1000, 1.0)
    mixture = histogram.fit()
    found = mixture.probability(logit).sum()
    assert mixture.within(logit, 2 * found) == mixture
    half = mixture.within(logit, found / 2)
    assert half.probability(logit).sum() == pytest.approx(found / 2, rel=1e-6)
    assert half.within(logit, found / 4).probability(logit).sum() == pytest.approx(found / 4)
    # Resamples are lowered by the same amount.
    kept = np.array([500.0])
    assert (
        histogram.resampled(half, *NOTHING_MORE, kept)[0].mean()
        < histogram.resampled(mixture, *NOTHING_MORE, kept)[0].mean()
    )


@pytest.mark.parametrize("cut", [-6.0, -2.0, -0.5])
def test_right_pairs_below_the_cut_count(cut: float) -> None:
    """Normal log-odds above a cut determine the number below it."""
    logit = np.random.default_rng(1).normal(-1.0, RIGHT_SPREAD, 4000)
    sharp = Mixture(low=cut, spread=1.0, scale=0.0, tilt=0.0, intercept=0.0, slope=50.0)
    none = np.empty(0)
    assert sharp.all_right(logit, none, np.inf) == pytest.approx(4000, rel=0.1)
    assert sharp.all_right(np.full(3, cut - 5), none, np.inf) == pytest.approx(0, abs=1e-6)
    spread = sharp.all_right(logit, none, np.inf, drawn_spreads())
    assert spread[0] == sharp.all_right(logit, none, np.inf)[0] and len(spread) == RESAMPLES + 1


def test_right_pairs_that_lose_to_rivals_count() -> None:
    """A right pair is mined only if it beats all other candidates of its source."""
    generator = np.random.default_rng(1)
    logit, rivals = generator.normal(0.0, RIGHT_SPREAD, 4000), generator.normal(-2.5, 1.5, 4000)
    found = logit[logit > rivals]
    sharp = Mixture(low=-6.0, spread=1.0, scale=0.0, tilt=0.0, intercept=0.0, slope=50.0)
    alone = float(sharp.all_right(found, np.empty(0), np.inf)[0])
    both = float(sharp.all_right(found, rivals[:500], np.inf)[0])
    assert alone < both < 4300


def test_right_pairs_are_no_more_than_rows() -> None:
    """If nearly all rows have a partner, recall is uncertain, and pairs do not exceed rows."""
    generator = np.random.default_rng(1)
    logit = generator.normal(-3.0, RIGHT_SPREAD, 1500)
    logit = logit[logit > -6.5]
    sharp = Mixture(low=-6.0, spread=1.0, scale=0.0, tilt=0.0, intercept=0.0, slope=2.0)
    few, many = (float(sharp.all_right(logit, np.empty(0), most)[0]) for most in (1500, 1e6))
    assert many < few <= 1500 and HIDDEN > 1
    assert sharp.all_right(logit, np.empty(0), 1000) == 1000


def test_right_pairs_are_not_taken_for_a_heavy_tail() -> None:
    """Over half of the lines are parallel, and scores of right and wrong pairs overlap.

    From few starting points some of these fits ended with a heavy tail of wrong pairs.
    """
    for seed in range(30):
        generator = np.random.default_rng(seed)
        wrong = generator.gumbel(-4.5, 1.0, 700)
        logit = np.concatenate([generator.normal(-1.0, 2.1, 700), wrong])
        decoys = generator.gumbel(-4.7, 0.95, 4000)
        mixture = Histogram(logit, decoys, np.full(4000, 700 / 4000), slope=1.0).fit()
        assert mixture.probability(logit).sum() > 350, seed


def test_intervals_do_not_depend_on_the_others() -> None:
    """A report asks for one threshold, a table for several; their intervals agree."""
    histogram, _, _ = fitted(1, 400, 0.3)
    mixture = histogram.fit()
    several = histogram.resampled(mixture, *NOTHING_MORE, np.array([100.0, 300.0, 400.0]))
    alone = histogram.resampled(mixture, *NOTHING_MORE, np.array([300.0]))
    for one, other in zip(several, alone, strict=True):
        assert (one[:, 1] == other[:, 0]).all()
