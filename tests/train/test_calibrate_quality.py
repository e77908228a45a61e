"""Calibration of the quality by language: lines, bounds, and their storage in the model."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.near_copies import sentences

from miner.encoder.encoder import Encoder
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.model import load
from miner.scoring.logistic import sigmoid
from miner.scoring.quality import CONTRADICTED
from miner_train.calibrate_quality import (
    ALONE,
    HIGHEST,
    LOST,
    LOST_OF_EACH,
    LOWEST,
    Calibration,
    QualityEvidence,
    bound_of,
    calibrated,
    calibrations,
    with_calibrations,
)
from miner_train.language_texts import LanguageText


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=400), min_size=2, max_size=4))
def test_a_bound_lets_few_right_pairs_fall(sources: list[list[float]]) -> None:
    """In the mean over sources and in each, unless all pairs are below the lowest bound."""
    arrays = [np.array(one) for one in sources]
    bound = bound_of(arrays)
    assert LOWEST <= bound <= HIGHEST
    if bound > LOWEST:
        # Rounded to two digits.
        lost = [float((one < 0.95 * bound).mean()) for one in arrays]
        assert np.mean(lost) <= LOST + 1e-9 and max(lost) <= LOST_OF_EACH + 1e-9
    assert bound_of([np.ones(5)] * 2) == HIGHEST and bound_of([np.zeros(5)] * 2) == LOWEST


def test_other_languages_count_where_a_language_has_little() -> None:
    low, high = np.full(300, 0.02), np.full(300, 0.09)
    assert bound_of([high] * 2) == 0.09
    assert bound_of([high] * 2, [low, low]) == 0.02
    mostly = np.concatenate([np.full(3, 0.02), np.full(297, 0.09)])
    assert bound_of([high] * 9, [mostly, mostly]) == 0.09


def test_one_source_tells_less_of_others() -> None:
    high = np.full(300, 0.09)
    assert bound_of([high]) == bound_of([], [high]) == 0.045


def evidence(constant: float, slope: float, size: int, seed: int = 1) -> QualityEvidence:
    """Draw pairs whose log-odds of being right are linear in the logits."""
    generator = np.random.default_rng(seed)
    mixed = generator.normal(-1, 3, size)
    good = generator.random(size) < sigmoid(constant + slope * mixed)
    return QualityEvidence(mixed[good], np.ones(int(good.sum())), mixed, good)


def test_a_probability_means_the_same_in_each_language() -> None:
    texts = {
        ("de", "en"): [evidence(0, 1, 20_000)],
        ("he", "en"): [evidence(2, 0.6, 20_000, seed) for seed in (2, 3)],
    }
    found = calibrations(texts)
    assert found["de", "en"].line == pytest.approx((0, 1), abs=0.1)
    assert found["he", "en"].line == pytest.approx((2, 0.6), abs=0.1)
    for pair, sources in texts.items():
        assert LOWEST < found[pair].bound <= HIGHEST
        for one in sources:
            assert (one.scores(found[pair].line) < found[pair].bound).mean() <= LOST_OF_EACH + 0.005
    few = calibrations({**texts, ("ka", "en"): [evidence(-3, 1, 5, 4)]})
    # Five pairs are little evidence, so the line is near that of all languages.
    assert few["ka", "en"].line[0] > 0
    assert calibrations({}) == {}


def test_numbers_that_contradict_lower_a_score() -> None:
    one = QualityEvidence(np.zeros(2), np.array([1, 0.05]), np.zeros(0), np.zeros(0, bool))
    assert one.scores((0.0, 1.0)).tolist() == [0.5, 0.025]


def test_a_model_keeps_the_calibration_of_its_languages(knowing_model) -> None:
    model = load(knowing_model)
    model = dataclasses.replace(model, languages={c: KnownLanguage(9) for c in ("de", "en", "fr")})
    found = {("de", "en"): Calibration((1, 0.5), 0.02), ("de", "fr"): Calibration((3, 1), 0.05)}
    languages = with_calibrations(model, found).languages
    # Text with English gives the line of German; the rest of the other text is shared.
    assert languages["de"].quality_map == (1, 0.5) and languages["de"].quality_bound == 0.02
    assert languages["fr"].quality_map == (1.5, 1) and languages["fr"].quality_bound == 0.05
    assert languages["en"].quality_map is None
    assert with_calibrations(model, {("xx", "en"): found["de", "en"]}).languages == model.languages


def test_held_out_text_calibrates_a_model(knowing_model) -> None:
    model = load(knowing_model)
    model = dataclasses.replace(model, languages={c: KnownLanguage(9) for c in ("de", "en")})
    held = [side * 3 for side in (sentences("de"), sentences("en"))]
    texts = [LanguageText(("de", "en"), (held[0], held[1]), ([], []))]
    known = calibrated(model, texts, 1).languages
    assert known["de"].quality_map is not None and known["en"].quality_map is None
    assert known["de"].quality_bound is not None
    # The function is calibrated anew, not on top of an earlier calibration.
    again = calibrated(dataclasses.replace(model, languages=known), texts, 1).languages
    assert again == known
    few = [dataclasses.replace(texts[0], held=(held[0][:9], held[1][:9]))]
    assert calibrated(model, few, 1, Encoder).languages == model.languages


def test_a_wrong_number_lies_below_every_bound_that_is_learned():
    assert CONTRADICTED <= LOWEST * ALONE
    # A language with one source has the lowest bound.
    assert bound_of([np.zeros(5)], [np.zeros(5)]) == pytest.approx(LOWEST * ALONE)
