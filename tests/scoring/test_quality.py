"""The quality of a pair: score and word order, learned from corrupted pairs."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_references import order_reference
from support.near_copies import sentences
from support.tokens import flat

from miner.encoder.encoder import Encoder
from miner.encoder.known_languages import KnownLanguage
from miner.encoder.model import load
from miner.errors import ArtifactError
from miner.kernels.long_texts import ORDER_PART, ORDER_REACH, PART, REACH, windows
from miner.kernels.tokens import COLUMNS, LONGEST, ORDER_COLUMNS, compare
from miner.scoring import number_agreement
from miner.scoring.explain import explain
from miner.scoring.pair_features import PAIR_FEATURES, unit_codes
from miner.scoring.quality import (
    CONTRADICTED,
    FEATURES,
    NAME,
    Quality,
    features,
)
from miner.scoring.verifier import Verifier


def ordered(source: list[list[int]], target: list[list[int]], codes, scale, weight) -> np.ndarray:
    n, size = len(source), len(weight)
    rows = np.arange(n)
    # An empty lexicon.
    lexicon = np.zeros(size + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
    frequency = np.full(size, 0.5, dtype=np.float32)
    metrics = np.empty((n, COLUMNS), dtype=np.float32)
    out = np.full((n, ORDER_COLUMNS), np.nan, dtype=np.float32)
    table = codes, scale, weight, frequency
    compare(flat(source), flat(target), rows, rows, table, lexicon, metrics, out)
    return out


texts = st.lists(st.lists(st.integers(0, 11), max_size=14), min_size=1, max_size=6)


@given(texts, texts, st.integers(0, 99))
def test_the_kernel_agrees_with_the_reference(source, target, seed):
    generator = np.random.default_rng(seed)
    # Few dimensions, so that counterparts tie; pieces 0 and 1 are equal, 2 is zero.
    embedding = generator.integers(-1, 2, (12, 4)).astype(np.float32)
    embedding[1], embedding[2] = embedding[0], 0
    weight = generator.random(12).astype(np.float32) + 0.1
    n = min(len(source), len(target))
    known = *unit_codes(embedding), weight
    found = ordered(source[:n], target[:n], *known)
    expected = order_reference(source[:n], target[:n], *known)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_order_of_kept_reversed_and_long_sentences():
    size = LONGEST + 20
    known = *unit_codes(np.eye(size, dtype=np.float32)), np.ones(size, dtype=np.float32)
    line = list(range(size))
    found = ordered([line, line[:8], [], [0, 1, 2]], [line, line[7::-1], [1], [2, 1, 0]], *known)
    np.testing.assert_allclose(found[0], 1)
    np.testing.assert_allclose(found[1], [1, 1, -1, -1], atol=1e-6)
    np.testing.assert_allclose(found[2], 1)
    np.testing.assert_allclose(found[3, 2:], 1)  # three pieces are too few for an order


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_order_of_long_texts_agrees_with_the_reference(seed):
    generator = np.random.default_rng(seed)
    size = int(generator.integers(20, 60))
    known = (
        *unit_codes(generator.normal(size=(size, 6)).astype(np.float32)),
        np.ones(size, np.float32),
    )
    source, target = (
        [generator.integers(0, size, length).tolist() for length in generator.integers(0, 400, 4)]
        for _ in range(2)
    )
    found, expected = ordered(source, target, *known), order_reference(source, target, *known)
    np.testing.assert_allclose(found, expected, atol=2e-5)


@given(st.integers(0, 2000), st.integers(0, 2000))
def test_windows_cover_both_texts(own, others):
    for size, reach in ((PART, REACH), (ORDER_PART, ORDER_REACH)):
        parts = windows(own, others, size, reach)
        covered = [place for part, _ in parts for place in range(part.start, part.stop)]
        assert covered == list(range(own))
        assert {place for _, part in parts for place in range(part.start, part.stop)} == set(
            range(others)
        )
        for part, other in parts:
            assert part.stop - part.start <= size
            assert other.stop - other.start <= (2 * reach + 1) * size


def faults(source: list[str], target: list[str], tail: list[str]) -> dict[str, tuple[str, str]]:
    """Make a pair of long texts, and pairs with a fault in their last quarter."""
    cut = len(target) - len(tail)
    sides = {
        "intact": (source, target),
        "dropped from the target": (source, target[:cut]),
        "dropped from the source": (source[:cut], target),
        "changed": (source, target[:cut] + tail),
        "added": (source, target + tail),
    }
    return {name: (" ".join(left), " ".join(right)) for name, (left, right) in sides.items()}


@pytest.mark.parametrize("lines", [24, 48])
def test_faults_beyond_the_longest_comparison_lower_the_score(lines):
    encoder = Encoder.load("default", 2)
    quality, german, english = Quality(Verifier(encoder)), sentences("de"), sentences("en")
    pairs = faults(german[:lines], english[:lines], english[-lines // 4 :])
    for left, right in pairs.values():
        for side in (left, right):  # texts are equal up to LONGEST
            assert np.diff(encoder.tokenizer([side])[1])[0] > LONGEST
    left, right = (list(side) for side in zip(*pairs.values(), strict=True))
    score = dict(zip(pairs, quality.score(left, right), strict=True))
    metrics, _ = features(quality.verifier, left, right)
    unmatched = dict(zip(pairs, metrics[:, FEATURES.index("unmatched_max")], strict=True))
    logit = quality.verifier.pair_function.logit(metrics[:, : len(PAIR_FEATURES)])
    pair_logit = dict(zip(pairs, logit, strict=True))
    assert score["intact"] > 0.9
    for name in set(pairs) - {"intact"}:
        assert score[name] < score["intact"] - 0.05, name
        assert unmatched[name] > unmatched["intact"] + 0.02, name
        assert pair_logit[name] < pair_logit["intact"], name


@pytest.fixture(scope="module")
def knowing(knowing_model: Path) -> Encoder:
    """The small model with a quality function."""
    return Encoder.load(knowing_model, 2)


def test_nothing_known_scores_zero(knowing: Encoder):
    scores = Quality(Verifier(knowing)).score(
        ["", "Guten Tag", "語語", " "], ["a b", "", "Good day", ""]
    )
    np.testing.assert_array_equal(scores, 0)
    assert Quality(Verifier(knowing)).score([], []).shape == (0,)


def test_a_model_without_and_with_a_faulty_function(verifying_model: Path, knowing: Encoder):
    with pytest.raises(ArtifactError, match="train the model again, or score by cosine"):
        Quality(Verifier(Encoder.load(verifying_model)))
    model = knowing.model
    for broken in ({}, {"weight": {}, "mean": {}}, 3):
        with pytest.raises(ArtifactError, match="quality"):
            changed = dataclasses.replace(model, verifier={**model.verifier, NAME: broken})
            Quality(Verifier(Encoder(changed)))


def test_numbers_that_contradict_take_most_of_the_quality(knowing_model):
    quality = Quality(Verifier(Encoder(load(knowing_model)), ("de", "en")))
    pairs = [("Er hat 3,5 Hunde.", "He has 3.5 dogs."), ("Er hat 3,5 Hunde.", "He has 35 dogs.")]
    right, wrong = quality.score(*zip(*pairs, strict=True))
    assert wrong <= CONTRADICTED < right
    shown = explain(quality.verifier, *pairs[1], quality)
    assert shown.probability == pytest.approx(wrong)
    total = sum(shown.parts.values()) + quality.function.intercept
    assert 1 / (1 + np.exp(-total)) == pytest.approx(wrong)


def test_equal_numbers_of_other_digits_do_not_differ(knowing_model):
    verifier = Verifier(Encoder(load(knowing_model)), ("de", "en"))
    pairs = [("Um 22:00 Uhr.", "At 10 pm."), ("Bei 180 °C.", "At 350 °F."), ("Um 22 Uhr.", "At 9.")]
    metrics, _ = features(verifier, *map(list, zip(*pairs, strict=True)))
    assert metrics[:, FEATURES.index("numbers_differ")].tolist() == [0, 0, 1]


def test_converted_numbers_are_measured_with_the_same_digits(knowing_model):
    """In either direction, and beside other rows."""
    verifier = Verifier(Encoder(load(knowing_model)), ("de", "en"))
    pairs = [("Bei 180 °C und 73 m.", "At 240 ft and 350 °F."), ("Der Hund.", "The dog.")]
    same = ("Bei 180 °C und 73 m.", "At 73 ft and 180 °F.")
    expected, _ = features(verifier, *map(list, zip(same, pairs[1], strict=True)))
    metrics, _ = features(verifier, *map(list, zip(*pairs, strict=True)))
    assert np.array_equal(metrics, expected)
    swapped = [features(verifier, [target], [source])[0] for source, target in (pairs[0], same)]
    assert np.array_equal(*swapped)
    wrong, _ = features(verifier, ["Bei 180 °C."], ["At 450 °F."])
    assert wrong[0, FEATURES.index("numbers_differ")] == 1


def test_a_conversion_is_measured_once(knowing_model, monkeypatch):
    """Texts in one unit may look convertible again."""
    verifier = Verifier(Encoder(load(knowing_model)), ("de", "en"))
    monkeypatch.setattr("miner.scoring.quality._in_one_unit", lambda *both: both[:2])
    metrics, known = features(verifier, ["Bei 180 °C."], ["At 350 °F."])
    assert known.all()
    assert np.isfinite(metrics).all()


def test_the_line_of_the_languages_calibrates_the_quality(knowing_model):
    """The order of pairs is unchanged; mining uses the uncalibrated function."""
    model = load(knowing_model)
    languages = {"de": KnownLanguage(9, quality_map=(1.5, 0.5)), "en": KnownLanguage(9)}
    mapped = Encoder(dataclasses.replace(model, languages=languages))
    verifiers = [Verifier(one, ("de", "en")) for one in (Encoder(model), mapped)]
    plain, own = map(Quality, verifiers)
    pairs = sentences("de"), [*sentences("en")[1:], sentences("en")[0]]
    logit = np.log(plain.score(*pairs)) - np.log1p(-plain.score(*pairs))
    both = zip(*pairs, strict=True)
    straight = np.array([not number_agreement.compare(*pair).contradicts for pair in both])
    expected = 1 / (1 + np.exp(-1.5 - 0.5 * logit))
    assert straight.sum() > 20
    assert own.score(*pairs)[straight] == pytest.approx(expected[straight], abs=1e-9)
    assert own.function.intercept == plain.function.intercept
    shown = explain(verifiers[1], pairs[0][0], pairs[1][0], own)
    assert shown.probability == pytest.approx(own.score(pairs[0][:1], pairs[1][:1])[0])
    # In the other direction, and with a language without a line.
    assert Quality(Verifier(mapped, ("en", "de"))).calibrated.intercept == own.calibrated.intercept
    assert Quality(Verifier(mapped, ("fr", "en"))).calibrated.intercept == plain.function.intercept
