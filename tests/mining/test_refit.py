"""The refit function: folds, shrinkage, fairness and weights of decoys."""

import numpy as np
import pytest

from miner.precision import refit
from miner.precision.decoy_weights import feature_weights, length_weights
from miner.precision.mixture import Histogram
from miner.scoring.pair_features import TokenizedText


def corpus(
    seed: int, right: int, wrong: int, decoys: int
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Simulate log-odds of pairs and decoys, their features, and which pairs are right.

    The model knows the first feature; the second is equally informative.
    """
    generator = np.random.default_rng(seed)
    features = np.concatenate(
        [generator.normal(2.5, 1, (right, 3)), generator.normal(0, 1, (wrong, 3))]
    )
    features[:, 2] = generator.normal(0, 1, right + wrong)
    theirs = generator.normal(0, 1, (decoys, 3))
    true = np.arange(right + wrong) < right
    return 2 * features[:, 0] - 5, 2 * theirs[:, 0] - 5, (features, theirs), true


def again(
    seed: int, right: int
) -> tuple[refit.FittedScores, refit.FittedScores | None, np.ndarray]:
    logit, decoy, features, true = corpus(seed, right, 6000, 3000)
    weight = np.full(len(decoy), 2.0)
    start = refit.scored(logit, decoy, weight, slope=1.0)
    fold = np.arange(len(logit)) % refit.FOLDS, np.arange(len(decoy)) % refit.FOLDS
    return start, refit.refit(start, weight, features, fold), true


def test_a_feature_that_the_model_does_not_know_helps() -> None:
    start, fitted, true = again(1, 1000)
    assert fitted is not None
    best = [true[np.argsort(-scores.logit)][: true.sum()].mean() for scores in (start, fitted)]
    assert best[1] > best[0] + 0.03
    score = fitted.mixture.probability(fitted.logit)
    kept = score >= 0.5
    assert true[kept].mean() == pytest.approx(score[kept].mean(), abs=0.05)


def test_few_pairs_keep_the_function_of_the_model() -> None:
    start, fitted, _ = again(1, 5)
    assert fitted is None or np.corrcoef(start.logit, fitted.logit)[0, 1] > 0.95
    assert refit.refit(start, np.ones(3000), (np.zeros((6005, 1)),) * 2, (np.zeros(1),) * 2) is (
        None
    )


def test_no_pair_is_scored_by_a_function_that_saw_it() -> None:
    """Scores of a fold do not change with the features of its pairs."""
    logit, decoy, features, _ = corpus(2, 500, 3000, 1500)
    weight = np.ones(len(decoy))
    start = refit.scored(logit, decoy, weight, slope=1.0)
    fold = np.arange(len(logit)) % 3, np.arange(len(decoy)) % 3
    one = refit.refit(start, weight, features, fold)
    changed = features[0].copy()
    own = np.flatnonzero(fold[0] == 0)
    # Two pairs of the fold swap features, which affects nothing else.
    changed[own[[0, -1]]] = features[0][own[[-1, 0]]]
    other = refit.refit(start, weight, (changed, features[1]), fold)
    assert one is not None and other is not None
    rest = np.setdiff1d(own, own[[0, -1]])
    np.testing.assert_allclose(one.logit[rest], other.logit[rest], rtol=1e-9)


def test_likely_pairs_alone_are_fitted_by_features_that_they_alone_have() -> None:
    logit, decoy, features, true = corpus(3, 800, 6000, 3000)
    weight = np.full(len(decoy), 2.0)
    start = refit.scored(logit, decoy, weight, slope=1.0)
    rows = np.flatnonzero(logit > -4), np.flatnonzero(decoy > -4)
    columns = features[0][rows[0]][:, 1:], features[1][rows[1]][:, 1:]
    folds = rows[0] % refit.FOLDS, rows[1] % refit.FOLDS
    fitted = refit.refit(start, weight, columns, folds, rows=rows, penalty=3.0)
    assert fitted is not None
    rest = np.setdiff1d(np.arange(len(logit)), rows[0])
    assert (fitted.logit[rest] == start.mixture.log_odds(logit[rest])).all()
    right = [true[np.argsort(-one.logit)][: true.sum()].mean() for one in (start, fitted)]
    assert right[1] > right[0] + 0.03
    # All rows are typical.
    both = tuple(np.arange(len(one)) for one in (logit, decoy))
    folds = both[0] % refit.FOLDS, both[1] % refit.FOLDS
    one = refit.refit(start, weight, features, folds)
    other = refit.refit(start, weight, features, folds, rows=(both[0], both[1]))
    assert one is not None and other is not None and (one.logit == other.logit).all()


def test_folds_depend_on_the_sentence_alone() -> None:
    ids = np.array([1, 2, 3, 9, 1, 2, 3, 7, 8], dtype=np.int32)
    offsets = np.array([0, 3, 4, 7, 9])
    text = TokenizedText(
        ids, offsets, np.ones(4, np.int64), np.empty(0, np.uint64), np.zeros(5, int)
    )
    whole = refit.folds(text, np.arange(4))
    assert whole[0] == whole[2] and set(whole) <= set(range(refit.FOLDS))
    assert [refit.folds(text, np.array([row]))[0] for row in range(4)] == whole.tolist()
    many = refit.folds(text, np.repeat(np.arange(4), 40_000))
    assert (many == np.repeat(whole, 40_000)).all()


def test_a_sample_stands_for_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refit, "BEST", 10)
    monkeypatch.setattr(refit, "OTHERS", 20)
    logit = np.random.default_rng(1).normal(size=100)
    rows, count = refit._sample(logit)
    assert count.sum() == pytest.approx(100) and len(np.unique(rows)) == 30
    assert set(rows[:10]) == set(np.argsort(-logit)[:10])


def test_weights_of_lengths_make_decoys_as_long_as_targets() -> None:
    generator = np.random.default_rng(1)
    targets = np.exp(generator.normal(4.5, 0.5, 5000)).astype(int)
    decoys = np.exp(generator.normal(3.8, 0.6, 3000)).astype(int)
    weight = length_weights(targets, decoys)
    assert weight.sum() == pytest.approx(5000) and (weight > 0).all()
    assert np.average(np.log(decoys), weights=weight) == pytest.approx(4.5, abs=0.05)


def test_weights_of_features_make_poor_matches_alike() -> None:
    generator = np.random.default_rng(1)
    pairs, decoys = generator.normal(0, 1, (4000, 2)), generator.normal(0, 1, (4000, 2))
    decoys[:, 1] += 0.7
    logit, decoy = 2 * pairs[:, 0] - 6, 2 * decoys[:, 0] - 6
    weight = np.ones(4000)
    mixture = Histogram(logit, decoy, weight, 1.0).fit()
    found = feature_weights((pairs, decoys), (logit, decoy), weight, mixture)
    assert np.average(decoys[:, 1], weights=found) == pytest.approx(0, abs=0.15)
    few = feature_weights((pairs[:50], decoys), (logit[:50], decoy), weight, mixture)
    assert (few == weight).all()
