"""Fault features of likely pairs: wrong pairs that differ from translations in one fact."""

import numpy as np
import pytest
from support.near_copies import NEAR

from miner.evaluation.gold import read_gold
from miner.precision import faults as likely
from miner.precision.estimate import Estimate
from miner.precision.faults import FAULTLESS, FEWEST, POSSIBLE, USUAL, FaultFeatures
from miner.precision.search_result import SearchResult
from miner.scoring.logistic import sigmoid
from miner.scoring.pair_features import PAIR_FEATURES
from miner.scoring.quality import Quality, features, logits_and_factors


def reading(found: SearchResult) -> FaultFeatures:
    assert found.verifier is not None
    assert found.source_text is not None and found.target_text is not None
    quality = Quality(found.verifier)
    pairs, texts = found.pairs, (found.source_text, found.target_text)
    places = pairs.source_row, pairs.target_row
    return likely.read(quality, texts, places, pairs.cosine, pairs.score)


def test_a_pair_is_read_by_itself(copies: SearchResult, monkeypatch: pytest.MonkeyPatch) -> None:
    found = reading(copies)
    assert found.rows.tolist() == np.flatnonzero(copies.pairs.score > POSSIBLE).tolist()
    assert copies.verifier is not None
    _, german, english = zip(*copies.pairs.take(found.rows[:40]).texts(), strict=True)
    quality = Quality(copies.verifier.of(("de", "en")))
    logit, _ = logits_and_factors(quality.verifier, quality.function, german, english)
    # Indexes store vectors as float16.
    plain = [not any(map(str.isdigit, one + two)) for one, two in zip(german, english, strict=True)]
    np.testing.assert_allclose(sigmoid(found.quality[:40])[plain], sigmoid(logit)[plain], atol=1e-3)
    columns, _ = features(copies.verifier, german, english)
    np.testing.assert_allclose(found.features[:40], columns[:, len(PAIR_FEATURES) :], atol=1e-3)
    monkeypatch.setattr(likely, "BLOCK", 7)
    again = reading(copies)
    assert (again.features == found.features).all() and (again.quality == found.quality).all()


def test_faults_are_relative_to_the_corpus() -> None:
    """If the model rates all translations low, only faulty ones lose score."""
    generator = np.random.default_rng(1)
    count = 2 * FEWEST
    sure = np.concatenate([np.full(count, 0.99), np.full(500, 0.01)])

    def scores(median: float, probability: np.ndarray = sure) -> np.ndarray:
        own = np.concatenate([median + np.linspace(-1, 1, count - 1), [median - 8]])
        quality = np.concatenate([own, generator.normal(-9, 1, 500)])
        found = FaultFeatures(np.arange(count + 500), np.zeros((count + 500, 0)), quality)
        return likely.scores(probability, quality, found.raised(probability))

    usual = scores(USUAL + 2)
    expected = 0.99 * sigmoid(USUAL + 2 + np.linspace(-1, 1, count - 1) + FAULTLESS)
    # good quality does not lower the score
    np.testing.assert_allclose(usual[: count - 1], expected)
    poor = scores(USUAL - 4)
    assert (poor[: count - 1] > 0.95).all() and poor[count - 1] < 0.2
    # Too few pairs to fit.
    few = scores(USUAL - 4, np.where(np.arange(count + 500) < FEWEST - 1, sure, 0.01))
    expected = 0.99 * sigmoid(USUAL - 4 + np.linspace(-1, 1, count - 1) + FAULTLESS)
    np.testing.assert_allclose(few[: FEWEST - 1], expected[: FEWEST - 1])


def test_the_best_pairs_are_right(calibrated_copies: tuple[SearchResult, Estimate]) -> None:
    calibrated, _ = calibrated_copies
    gold = read_gold(NEAR / "near.gold")
    best = [(source, target) for _, source, target in calibrated.pairs.top(10).ids()]
    assert [pair for pair in best if pair not in gold] == []
