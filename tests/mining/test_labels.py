"""Labels join the evidence of decoys, shown on near-copies, which decoys miss."""

from itertools import islice

import numpy as np
import pytest
from support.near_copies import near_pairs

from miner.errors import CorpusError
from miner.mining.keep import Keep, KeepError
from miner.precision.estimate import Estimate, calibrate
from miner.precision.labels import Labelled, ScoredRows, refine
from miner.precision.search_result import SearchResult
from miner.review.sample import asking_order, strata


@pytest.fixture(scope="module")
def gold() -> set[tuple[str, str]]:
    return set(near_pairs())


def right(found: SearchResult, gold: set[tuple[str, str]]) -> np.ndarray:
    return np.array([(one, other) in gold for _, one, other in found.pairs.texts()])


def labels_of(
    found: SearchResult, gold: set[tuple[str, str]], count: int, seed: int = 1
) -> dict[tuple[str, str], float]:
    """Return the answers of an unerring judge to a stratified sample."""
    stratum = strata(found.pairs.score)
    key = np.random.default_rng(seed).permutation(len(stratum))
    rows = np.array([*islice(asking_order(key, stratum, np.unique(stratum)), count)])
    texts = found.pairs.take(rows).texts()
    return {(one, other): float((one, other) in gold) for _, one, other in texts}


def test_labels_see_near_copies(
    copies: SearchResult,
    calibrated_copies: tuple[SearchResult, Estimate],
    gold: set[tuple[str, str]],
) -> None:
    labels = labels_of(calibrated_copies[0], gold, 120)
    found, guess = calibrate(copies, labels=labels)
    assert guess.labels == 120 and guess.near is None
    assert not any("near-copies" in doubt for doubt in guess.doubts)
    gaps = []
    for search, estimate in (calibrated_copies, (found, guess)):
        threshold = estimate.threshold(0.9)
        assert threshold is not None
        kept = estimate.count(threshold)
        gaps.append(0.9 - right(search, gold)[:kept].mean())
    assert gaps[0] > 0.04 and abs(gaps[1]) < gaps[0], gaps
    texts = [(one, other) for _, one, other in found.pairs.texts()]
    known = {pair: score for pair, score in zip(texts, found.pairs.score, strict=True)}
    assert np.mean([(known[pair] > 0.5) == label for pair, label in labels.items()]) > 0.95


def test_intervals_by_labels_hold(
    copies: SearchResult,
    calibrated_copies: tuple[SearchResult, Estimate],
    gold: set[tuple[str, str]],
) -> None:
    held = []
    for seed in range(8):
        found, guess = calibrate(copies, labels=labels_of(calibrated_copies[0], gold, 60, seed))
        truth = right(found, gold)
        for asked in (0.8, 0.9):
            threshold = guess.threshold(asked)
            assert threshold is not None
            kept = guess.count(threshold)
            (bounds,) = guess.intervals([kept])
            values = truth[:kept].mean(), truth[:kept].sum() / len(gold)
            held += [low <= x <= high for x, (low, high) in zip(values, bounds or (), strict=True)]
    assert len(held) == 32 and np.mean(held) >= 0.8


def test_labels_are_matched_by_text(copies: SearchResult, gold: set[tuple[str, str]]) -> None:
    (one, other), *_ = sorted(gold)
    labels = {(f" {one}  ", other): 1.0, ("no such", "pair"): 0.0}
    _, guess = calibrate(copies, labels=labels)
    assert guess.labels == 0 and guess.near is not None
    assert any("1 of 2 labels are of pairs that were found, too few" in one for one in guess.notes)
    labels |= dict.fromkeys(sorted(gold)[:25], 1.0)
    _, guess = calibrate(copies, labels=labels)
    assert 20 <= guess.labels <= 25
    with pytest.raises(CorpusError, match="none of the 1 labels"):
        calibrate(copies, labels={("no such", "pair"): 0.0})


def test_labels_teach_a_feature_that_decoys_do_not_tell() -> None:
    """Decoys have the feature values of all pairs, like near-copies."""
    generator = np.random.default_rng(3)
    features = generator.normal(0, 1, (500, 4))
    truth = features[:, 2] > 0
    score = np.full(520, 1e-4)
    score[:500] = generator.uniform(0.3, 0.9, 500)
    pairs = ScoredRows(np.arange(500), score[:500], features)
    decoys = ScoredRows(np.arange(50), np.full(50, 0.3), generator.normal(0, 1, (50, 4)))
    rows = np.concatenate([generator.permutation(500)[:200], [510]])
    labels = Labelled(rows, np.append(truth[rows[:200]], 1.0).astype(float))
    found = refine(score, pairs, decoys, np.ones(50), labels, 300.0)
    others = np.setdiff1d(np.arange(500), rows)
    for scores, least, most in ((score, 0.4, 0.6), (found.score, 0.75, 1.0)):
        guessed = scores[others] > np.median(scores[others])
        assert least < np.mean(guessed == truth[others]) < most
    assert found.score[510] > score[510]
    assert (found.score[500:510] == score[500:510]).all()
    precision, _ = found.resample(np.array([100, 520]))
    assert precision[:, 0].mean() > precision[:, 1].mean()


def test_labels_need_the_refit(copies: SearchResult) -> None:
    for without in ({"refit": False}, {"estimate": False}):
        with pytest.raises(KeepError, match="join the refit"):
            Keep(labels={("a", "b"): 1.0}, **without)
    _, guess = calibrate(copies, refitting=False, labels=dict.fromkeys(some(copies), 1.0))
    assert guess.labels == 0 and any("not used" in note for note in guess.notes)


def some(found: SearchResult) -> list[tuple[str, str]]:
    return [(one, other) for _, one, other in found.pairs.top(30).texts()]
