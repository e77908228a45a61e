"""The bootstrap against a plain one, which resamples the items themselves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miner.analysis import text_statistics as plain
from miner.evaluation import bootstrap

# A statistic of the items of one draw, by their positions (m,).
Plain = Callable[[np.ndarray], float]


def drawn_plainly(statistic: Plain, weights: np.ndarray) -> list[float]:
    """The reference: every draw as items, each as often as it was drawn."""
    items = np.arange(weights.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constants, which are what is tested
        return [statistic(np.repeat(items, row.astype(int))) for row in weights]


@st.composite
def sets(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two columns ``(n,)`` with ties and constants among them, and weights of draws ``(b, n)``."""
    n = draw(st.integers(1, 30))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.sampled_from((1, 2, 3, 1000)))
    x = generator.integers(-levels, levels, size=n) / levels
    y = x * draw(st.sampled_from((-1, 0, 1))) + generator.integers(0, 4, size=n)
    blocks = draw(st.integers(1, 9))
    items = generator.integers(n, size=(blocks, n))
    weights = np.stack([np.bincount(row, minlength=n) for row in items]).astype(np.float64)
    return x, y, weights


@given(sets())
def test_mean_and_ratio(drawn: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, weights = drawn
    expected = drawn_plainly(lambda items: x[items].mean(), weights)
    np.testing.assert_allclose(bootstrap.mean(x)(weights), expected, atol=1e-12)

    def ratio(items: np.ndarray) -> float:
        return float(x[items].sum() / y[items].sum()) if y[items].sum() else 0.0

    x, y = np.floor(np.abs(x)), np.floor(np.abs(y))
    x = np.where(y > 0, x, 0)
    found = bootstrap.ratio(x, y)(weights)
    np.testing.assert_allclose(found, drawn_plainly(ratio, weights), atol=1e-12)


@given(sets())
def test_correlations(drawn: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, weights = drawn
    for found, reference in (
        (bootstrap.pearson(x, y), plain.pearson),
        (bootstrap.spearman(x, y), plain.spearman),
        (bootstrap.pearson(x.astype(np.float32), y), plain.pearson),
    ):

        def statistic(items: np.ndarray, reference: Callable = reference) -> float:
            # Of a constant the reference may leave rounding.
            constant = len(set(x[items])) == 1 or len(set(y[items])) == 1
            return 0.0 if constant else reference(x[items], y[items])

        expected = drawn_plainly(statistic, weights)
        np.testing.assert_allclose(found(weights), expected, atol=1e-6)
    assert (bootstrap.spearman(x, x + 0)(weights) <= 1 + 1e-12).all()


@given(sets())
@settings(max_examples=40)
def test_correlations_are_those_of_scipy(drawn: tuple[np.ndarray, ...]) -> None:
    stats = pytest.importorskip("scipy.stats")
    x, y, weights = drawn
    for found, reference in (
        (bootstrap.pearson, stats.pearsonr),
        (bootstrap.spearman, stats.spearmanr),
    ):

        def statistic(items: np.ndarray, reference: Callable = reference) -> float:
            if len(set(x[items])) == 1 or len(set(y[items])) == 1:
                return 0.0  # where scipy has NaN
            return float(reference(x[items], y[items])[0])

        expected = drawn_plainly(statistic, weights)
        np.testing.assert_allclose(found(x, y)(weights), expected, atol=1e-10)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 4.6])
def test_a_constant_has_no_correlation(value: float) -> None:
    """Nor has one that is constant in a draw alone, whatever rounding leaves of it."""
    other = np.linspace(0, 5, 1000)
    mixed = np.where(np.arange(1000) < 500, value, other)
    weights = np.ones((2, 1000))
    weights[1, 500:] = 0
    for statistic in (bootstrap.pearson, bootstrap.spearman):
        assert (statistic(np.full(1000, value), other)(weights) == 0).all()
        found = statistic(mixed, other)(weights)
        assert abs(found[0]) > 0.1 and found[1] == 0
        assert statistic(other, mixed)(weights)[1] == 0


@given(sets(), st.booleans())
def test_auc(drawn: tuple[np.ndarray, np.ndarray, np.ndarray], infinite: bool) -> None:
    x, y, weights = drawn
    good = y > 1
    score = np.where(x == x.max(), np.inf, np.where(x == x.min(), -np.inf, x)) if infinite else x

    def pairs(items: np.ndarray) -> float:
        above, below = score[items][good[items]], score[items][~good[items]]
        if not len(above) or not len(below):
            return 0.5
        higher = above[:, None] > below
        return float((higher + (above[:, None] == below) / 2).mean())

    found = bootstrap.auc(score, good)(weights)
    np.testing.assert_allclose(found, drawn_plainly(pairs, weights), atol=1e-12)


@given(sets())
@settings(max_examples=40)
def test_auc_and_average_precision_are_those_of_scikit_learn(
    drawn: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    score, y, weights = drawn
    good = y > 1

    def area(items: np.ndarray) -> float:
        one_kind = len(set(good[items])) == 1
        return 0.5 if one_kind else metrics.roc_auc_score(good[items], score[items])

    def precision(items: np.ndarray) -> float:
        none = not good[items].any()
        return 0.0 if none else metrics.average_precision_score(good[items], score[items])

    for found, reference in ((bootstrap.auc, area), (bootstrap.average_precision, precision)):
        expected = drawn_plainly(reference, weights)
        np.testing.assert_allclose(found(score, good)(weights), expected, atol=1e-10)


def test_draws_are_those_of_the_name_and_the_number_of_items() -> None:
    values = np.arange(50.0)

    def items_of(name: str, count: int = 20) -> np.ndarray:
        """Draws in numbers that tell any two of them apart."""
        return bootstrap.draws([bootstrap.mean(np.exp2(values))], 50, name, count)[0]

    seed = int.from_bytes(sha256(b"a set\x0050").digest()[:8], "big")
    generator = np.random.default_rng(seed)
    expected = [np.exp2(values)[generator.integers(50, size=50)].mean() for _ in range(20)]
    np.testing.assert_allclose(items_of("a set"), expected)
    np.testing.assert_array_equal(items_of("a set", 10), items_of("a set")[:10])
    assert not np.isin(items_of("another set"), items_of("a set")).any()


def test_draws_depend_neither_on_the_statistics_nor_on_the_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(5)
    x, good = generator.normal(size=70), generator.random(70) < 0.4
    statistics = [
        bootstrap.mean(x),
        bootstrap.ratio(good.astype(float), np.ones(70)),
        bootstrap.pearson(x, x + good),
        bootstrap.spearman(x, x + good),
        bootstrap.auc(x, good),
        bootstrap.average_precision(x, good),
    ]
    whole = bootstrap.draws(statistics, 70, "a set")
    assert whole.shape == (6, bootstrap.DRAWS)
    for row, statistic in zip(whole, statistics, strict=True):
        alone = bootstrap.draws([statistic], 70, "a set")[0]
        np.testing.assert_array_equal(alone, row)
    for held in (1, 71, 70 * 333):
        monkeypatch.setattr(bootstrap, "HELD", held)
        in_blocks = bootstrap.draws(statistics, 70, "a set")
        np.testing.assert_allclose(in_blocks, whole, rtol=1e-12, atol=1e-12)


def test_the_deviation_of_a_mean_is_that_of_the_textbook() -> None:
    values = np.random.default_rng(1).exponential(size=400)
    drawn = bootstrap.draws([bootstrap.mean(values)], 400, "a set")[0]
    assert drawn.mean() == pytest.approx(values.mean(), rel=0.02)
    assert drawn.std() == pytest.approx(values.std() / np.sqrt(400), rel=0.1)


def test_an_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(2)
    held = 0
    for trial in range(200):
        values = generator.normal(size=100)
        drawn = bootstrap.draws([bootstrap.mean(values)], 100, f"trial {trial}", 300)[0]
        low, high = np.quantile(drawn, (0.025, 0.975))
        held += low <= 0 <= high
    assert 0.89 <= held / 200 <= 0.99


def test_once_is_the_set_itself() -> None:
    x, y = np.array([0.1, 0.9, 0.5]), np.array([1.0, 3.0, 2.5])
    assert bootstrap.once(bootstrap.mean(x), 3) == pytest.approx(0.5)
    assert bootstrap.once(bootstrap.spearman(x, y), 3) == pytest.approx(1)
