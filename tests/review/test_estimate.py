"""Estimates by answers are unbiased and their intervals hold, in simulated reviews."""

from itertools import islice

import numpy as np
import pytest

from miner.review.estimate import Judged, share
from miner.review.sample import asking_order, strata

PAIRS, REVIEWS = 1200, 100


def pairs(kind: str, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores of mined pairs, and which pairs are right."""
    logit = np.concatenate(
        [generator.normal(6, 2, PAIRS // 2), generator.normal(-3, 2, PAIRS // 2)]
    )
    score = 1 / (1 + np.exp(-logit))
    chance = {
        "calibrated": score,
        "confident": 1 / (1 + np.exp(0.8 - 0.6 * logit)),
        "faulty": 0.9 * score,
        "right": np.ones(PAIRS),
        "margins": score,
        "no scores": np.full(PAIRS, 0.9),
    }[kind]
    score = {"margins": 1 + logit / 10, "no scores": np.zeros(PAIRS)}.get(kind, score)
    return score, generator.random(PAIRS) < chance


def judged(
    score: np.ndarray, right: np.ndarray, answers: int, generator: np.random.Generator
) -> Judged:
    stratum = strata(score)
    order = asking_order(generator.permutation(PAIRS), stratum, np.unique(stratum))
    rows = np.array([*islice(order, answers)])
    return Judged(score, stratum, rows, right[rows].astype(float))


@pytest.mark.parametrize(
    "kind", ["calibrated", "confident", "faulty", "right", "margins", "no scores"]
)
def test_intervals_hold_and_estimates_are_unbiased(kind: str) -> None:
    generator = np.random.default_rng(3)
    held, errors = [], []
    for _ in range(REVIEWS):
        score, right = pairs(kind, generator)
        found = judged(score, right, 100, generator)
        for threshold in np.quantile(score, (0, 0.4, 0.7)):
            kept = score >= threshold
            precision, recall = found.precision(threshold), found.recall(threshold)
            values = right[kept].mean(), right[kept].sum() / right.sum()
            for value, figure in zip(values, (precision, recall), strict=True):
                held.append(figure.low - 1e-9 <= value <= figure.high + 1e-9)
            errors.append(precision.value - values[0])
    assert np.mean(held) >= 0.85
    assert abs(np.mean(errors)) < 0.01


def test_no_wrong_answer_and_no_right_one_do_not_exclude_1_and_0() -> None:
    generator = np.random.default_rng(6)
    score, _ = pairs("calibrated", generator)
    stratum = strata(score)
    rows = generator.permutation(PAIRS)[:40]
    every = Judged(score, stratum, rows, np.ones(40)).precision(0)
    none = Judged(score, stratum, rows, np.zeros(40)).precision(0)
    assert every.high == 1 and every.low < 0.99
    assert none.low == 0 and none.high > 0.01
    assert share(10, 10).high == 1 and 0.7 < share(10, 10).low < 0.9
    assert (share(0, 0).low, share(0, 0).high) == (0, 1)


def test_strata_have_uncertain_pairs_and_equal_scores_stay_together() -> None:
    score = np.concatenate([np.full(500, 0.999), np.linspace(0.2, 0.8, 100), np.full(400, 0.001)])
    stratum = strata(score)
    assert len(np.unique(stratum[score == 0.999])) == 1
    assert len(np.unique(stratum[(score > 0.1) & (score < 0.9)])) >= 3
    assert np.array_equal(strata(np.ones(5)), np.zeros(5))
    order = [*asking_order(np.arange(1000), stratum, np.unique(stratum))]
    assert sorted(order) == [*range(1000)]
    first = np.unique(stratum[order[: stratum.max() + 1]])
    assert len(first) == stratum.max() + 1
