"""miner.evaluation.metrics: F1 against every possible cut, statistics against plain resampling."""

import json
import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from miner.evaluation import metrics
from miner.evaluation.metrics import best_threshold, evaluate

GOLD = {("s1", "t1"), ("s2", "t2"), ("s3", "t3")}


def counted(pairs, gold, threshold):
    """Count (proposed, correct) by the protocol's definition."""
    kept = {(s, t) for score, s, t in pairs if threshold is None or float(score) >= threshold}
    return len(kept), len(kept & set(gold))


def f1(proposed, correct, gold):
    precision = correct / proposed if proposed else 0.0
    recall = correct / gold
    return 2 * precision * recall / (precision + recall) if correct else 0.0


def scored(scores):
    ids = st.integers(0, 4)
    return st.lists(st.tuples(scores, ids, ids), max_size=25)


golds = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)
few_scores = st.integers(-3, 6).map(lambda value: value / 4)
any_scores = st.floats(allow_nan=False)
close_scores = st.integers(0, 5).map(lambda steps: 1.0 + steps * 2.0**-52)
close_float32 = st.integers(0, 5).map(lambda steps: np.float32(1.0 + steps * 2.0**-23))
all_scores = st.one_of(few_scores, any_scores, close_scores, close_float32)


@given(scored(all_scores), golds, st.one_of(st.none(), few_scores))
def test_evaluate_follows_the_protocol(pairs, gold, threshold):
    result = evaluate(pairs, gold, threshold)
    proposed, correct = counted(pairs, gold, threshold)
    assert (result.proposed, result.correct, result.gold) == (proposed, correct, len(gold))
    assert result.precision == (correct / proposed if proposed else 0)
    assert result.recall == correct / len(gold)
    assert result.f1 == pytest.approx(f1(proposed, correct, len(gold)))
    assert result.threshold == threshold


@settings(max_examples=200)
@given(scored(all_scores), golds)
@example([(math.inf, 0, 0), (-math.inf, 1, 1)], {(0, 0)})
@example([(1e308, 0, 0), (-1e308, 1, 1)], {(0, 0)})
@example([(0.0, 0, 0), (-0.0, 1, 1)], {(0, 0)})
@example([(5e-324, 0, 0), (0.0, 1, 1)], {(0, 0)})
@example([(0.0, 0, 0), (-5e-324, 1, 1)], {(0, 0)})
def test_best_threshold_beats_every_other_cut(pairs, gold):
    result = best_threshold(pairs, gold)
    if not pairs:
        assert (result.threshold, result.proposed, result.f1) == (None, 0, 0)
        return
    # The threshold gives exactly these counts, and no other cut at a score is better.
    assert evaluate(pairs, gold, result.threshold) == result
    scores = sorted({float(score) for score, _, _ in pairs}, reverse=True)
    cuts = [counted(pairs, gold, score) for score in scores]
    values = [f1(proposed, correct, len(gold)) for proposed, correct in cuts]
    assert result.f1 == pytest.approx(max(values))
    # Among equal cuts the first wins: the one with fewest pairs.
    equals = [
        cut for cut, value in zip(cuts, values, strict=True) if math.isclose(value, result.f1)
    ]
    assert result.proposed == min(proposed for proposed, _ in equals)


@given(scored(all_scores), golds, st.randoms(use_true_random=False))
def test_order_of_pairs_does_not_matter(pairs, gold, random):
    shuffled = random.sample(pairs, len(pairs))
    assert best_threshold(shuffled, gold) == best_threshold(pairs, gold)


def test_faulty_input_is_refused():
    pair = (0.5, "s1", "t1")
    for function in (evaluate, best_threshold):
        with pytest.raises(ValueError, match="gold is empty"):
            function([pair], set())
        with pytest.raises(ValueError, match="'s1', 't1' is NaN"):
            function([(np.float32("nan"), "s1", "t1")], GOLD)
    with pytest.raises(ValueError, match="threshold is NaN"):
        evaluate([pair], GOLD, math.nan)


def test_the_result_prints_and_serialises():
    result = evaluate([(0.5, "s1", "t1"), (0.75, "s1", "t2")], GOLD, 0.5)
    assert str(result) == (
        "precision 50.00% recall 33.33% F1 40.00% (threshold 0.5: 1 correct of 2 proposed, 3 gold)"
    )
    assert "no threshold" in str(evaluate([], GOLD))
    assert json.loads(json.dumps(result.as_dict())) == {
        "precision": 0.5,
        "recall": 1 / 3,
        "f1": 0.4,
        "threshold": 0.5,
        "proposed": 2,
        "correct": 1,
        "gold": 3,
    }


# Computes a statistic of one resample from the positions of its items (m,).
Plain = Callable[[np.ndarray], float]


def resampled(statistic: Plain, weights: np.ndarray) -> list[float]:
    """Compute the statistic on each resample as a list of items with repetitions."""
    items = np.arange(weights.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy warns of constant columns, which are tested here
        return [statistic(np.repeat(items, row.astype(int))) for row in weights]


@st.composite
def sets(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw two columns ``(n,)``, some with ties or constant, and weights of b resamples."""
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
def test_mean_and_ratio(example: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, weights = example
    expected = resampled(lambda items: x[items].mean(), weights)
    np.testing.assert_allclose(metrics.mean(x)(weights), expected, atol=1e-12)

    def ratio(items: np.ndarray) -> float:
        return float(x[items].sum() / y[items].sum()) if y[items].sum() else 0.0

    x, y = np.floor(np.abs(x)), np.floor(np.abs(y))
    x = np.where(y > 0, x, 0)
    found = metrics.ratio(x, y)(weights)
    np.testing.assert_allclose(found, resampled(ratio, weights), atol=1e-12)


def ranks(values: np.ndarray) -> np.ndarray:
    """Rank by definition, from 1: equal values share the mean of their ranks."""
    below = (values[:, None] > values).sum(axis=1)
    return below + ((values[:, None] == values).sum(axis=1) + 1) / 2


@given(sets())
@example((np.array([1 / 3, -2 / 3]), np.array([1, 2]) + np.array([1 / 3, -2 / 3]), np.ones((1, 2))))
def test_correlations(example: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, weights = example

    def correlation(left: np.ndarray, right: np.ndarray) -> float:
        constant = min(np.ptp(left), np.ptp(right)) < 1e-12  # or equal but for rounding
        return 0.0 if constant else float(np.corrcoef(left, right)[0, 1])

    expected = resampled(lambda items: correlation(x[items], y[items]), weights)
    np.testing.assert_allclose(metrics.pearson(x, y)(weights), expected, atol=1e-6)
    found = metrics.pearson(x.astype(np.float32), y)(weights)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    expected = resampled(lambda items: correlation(ranks(x[items]), ranks(y[items])), weights)
    np.testing.assert_allclose(metrics.spearman(x, y)(weights), expected, atol=1e-10)
    assert (metrics.spearman(x, x + 0)(weights) <= 1 + 1e-12).all()


@given(sets())
@settings(max_examples=40)
def test_auc_and_average_precision_agree_with_scikit_learn(example):
    score, y, weights = example
    good = y > 1

    def area(items: np.ndarray) -> float:
        one_kind = len(set(good[items])) == 1
        return 0.5 if one_kind else roc_auc_score(good[items], score[items])

    def precision(items: np.ndarray) -> float:
        none = not good[items].any()
        return 0.0 if none else average_precision_score(good[items], score[items])

    # Infinite scores rank like the best and worst finite scores.
    ends = np.where(score == score.max(), np.inf, np.where(score == score.min(), -np.inf, score))
    np.testing.assert_array_equal(
        metrics.auc(ends, good)(weights), metrics.auc(score, good)(weights)
    )
    for found, reference in ((metrics.auc, area), (metrics.average_precision, precision)):
        expected = resampled(reference, weights)
        np.testing.assert_allclose(found(score, good)(weights), expected, atol=1e-10)
