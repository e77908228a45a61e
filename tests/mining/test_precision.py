"""Precision without gold: calibrated scores and their estimate, on a small search."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miner.encoder.encoder import Encoder
from miner.encoder.known_languages import KnownLanguage
from miner.errors import ResourceError
from miner.index.index import Index
from miner.knn.neighbors import Neighbors
from miner.knn.settings import SearchSettings
from miner.mining.choices import verifier_for
from miner.mining.mine import search_indexes
from miner.precision import decoys
from miner.precision import estimate as precision
from miner.precision.decoys import merged_lists
from miner.precision.estimate import (
    Estimate,
    calibrate,
    counted_wrong,
    expected_wrong,
    interval_text,
    rounded,
)
from miner.precision.search_result import SearchResult
from miner.scoring.languages import Identified
from miner.scoring.pairs import Pairs
from miner.scoring.verifier import FEATURES, Verifier

SURE = Identified((("de", 1.0),), "de"), Identified((("en", 1.0),), "en")


def competing(sides: tuple[Index, Index], pool: Sequence[str] | None = None) -> SearchResult:
    """Return a search with the model's decoys, or with these sentences as decoys."""
    return search_indexes(*sides, verifier_for(sides[0]), estimating=True, decoys=pool)


def guessed(sides: tuple[Index, Index], pool: Sequence[str] | None = None) -> Estimate:
    return calibrate(competing(sides, pool), pool, refitting=False)[1]


@given(st.integers(0, 2**32 - 1), st.integers(0, 300))
def test_expected_wrong_is_in_range_and_in_order(seed: int, m: int) -> None:
    """With ties kept together, and with no pair at all."""
    score = -np.sort(-np.round(np.random.default_rng(seed).random(m), 2))
    wrong, q_value = expected_wrong(score)
    kept = np.searchsorted(-score, -score, side="right")
    assert ((wrong >= 0) & (wrong <= kept + 1e-9)).all()
    assert ((q_value >= 0) & (q_value <= 1 + 1e-12)).all() and (np.diff(q_value) >= 0).all()
    for value in np.unique(score):
        same = score == value
        assert len(np.unique(wrong[same])) == 1
        last = np.flatnonzero(same)[-1]
        assert wrong[last] == pytest.approx((1 - score[: last + 1]).sum())


def test_an_estimate_answers() -> None:
    score = np.array([0.9, 0.8, 0.8, 0.4, 0.1])
    found = Estimate(score, np.array([0, 0, 0, 1, 2.0]), np.array([0, 0, 0, 0.25, 0.4]), 500, 9)
    assert found.threshold(0.95) == 0.8 and found.threshold(0.7) == 0.4
    assert found.count(0.8) == 3 and found.precision(3) == 1 and found.precision(0) == 1
    assert found.precision(4) == 0.75 and found.recall(3) == 1 and found.recall(0) == 0
    assert [row.kept for row in found.table((0.99, 0.95, 0.7, 0.5))] == [3, 4, 5]
    nothing = Estimate(score, np.arange(1, 6.0), np.full(5, 1.0), 500, 9)
    assert nothing.threshold(0.9) is None and nothing.recall(2) == 0
    assert rounded(0.1234567) == 0.123456


def test_recall_is_the_share_of_the_expected_right_pairs() -> None:
    score = np.array([1.0, 0.8, 0.2, 0.0])
    found = Estimate(score, *expected_wrong(score), 500, 30)
    assert found.recall(1) == 0.5 and found.recall(2) == 0.9
    assert found.recall(4) == 1 and found.recall(0) == 0
    assert replace(found, total=4.0).recall(2) == 0.45
    assert replace(found, total=1.0).recall(2) == 0.9


def test_intervals_contain_the_estimate() -> None:
    score = np.linspace(0.9, 0.5, 10)

    def resample(kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full((20, len(kept)), 0.5), np.full((20, len(kept)), 1.0)

    found = Estimate(score, *expected_wrong(score), 500, 30, resample=resample)
    ((precision, recall),) = [both for both in found.intervals([4]) if both is not None]
    assert precision == (0.5, found.precision(4)) and recall == (found.recall(4), 1.0)
    (row,) = found.table((0.8,))
    assert row.precision_interval is not None and row.precision_interval[0] == 0.5
    assert Estimate(score, *expected_wrong(score), 500, 30).intervals([4]) == [None]


def test_an_interval_that_says_nothing_is_a_dash() -> None:
    assert interval_text((0.0004, 0.9996)) == "–"
    assert interval_text((0.25, 1.0)) == "0.250-1.000"


@given(st.integers(0, 2**32 - 1))
def test_merged_lists_are_those_of_the_union(seed: int) -> None:
    generator = np.random.default_rng(seed)
    n, first, more, k = 5, *generator.integers(0, 7, 2).tolist(), int(generator.integers(1, 5))
    similarity = np.round(generator.random((n, first + more)), 1).astype(np.float32)

    def nearest(part: np.ndarray) -> Neighbors:
        order = np.argsort(-part, axis=1, kind="stable")[:, :k]
        missing = k - order.shape[1]
        values = np.take_along_axis(part, order, axis=1)
        return Neighbors(
            np.pad(values, ((0, 0), (0, missing)), constant_values=-np.inf),
            np.pad(order, ((0, 0), (0, missing)), constant_values=-1),
        )

    merged = merged_lists(nearest(similarity[:, :first]), nearest(similarity[:, first:]), first)
    whole = nearest(similarity)
    assert (merged.row == whole.row).all() and (merged.similarity == whole.similarity).all()


def test_calibrating_a_search(
    copies: SearchResult, calibrated_copies: tuple[SearchResult, Estimate]
) -> None:
    calibrated, guess = calibrated_copies
    pairs = calibrated.pairs
    assert guess.decoys >= 500 and len(guess.q_value) == len(pairs) == len(copies.pairs)
    assert (np.diff(pairs.score) <= 0).all() and (pairs.score == guess.score).all()
    assert pairs.raw_score is not None and pairs.q_value is not None
    # The pairs of the search, each with its features and its score by the model.
    own = {(s, t): (score, row) for s, t, score, row in rows(copies.pairs, copies.pairs.score)}
    assert own == {(s, t): (score, row) for s, t, score, row in rows(pairs, pairs.raw_score)}
    kept = guess.count(guess.threshold(0.9) or 2.0)
    assert kept >= 100 and guess.precision(kept) == pytest.approx(pairs.score[:kept].mean())


def test_targets_cannot_be_the_decoys(verifying: tuple[Index, Index], english: list[str]) -> None:
    found = competing(verifying)
    assert any("pairs to judge by" in doubt for doubt in calibrate(found)[1].doubts)
    with pytest.raises(ResourceError, match="only 0 decoys.*no targets"):
        guessed(verifying, english)


def rows(pairs: Pairs, score: np.ndarray) -> Iterator[tuple[int, int, float, list[float]]]:
    """Rows of the pairs with a score and their features."""
    assert pairs.features is not None
    yield from zip(
        pairs.source_row.tolist(),
        pairs.target_row.tolist(),
        score.tolist(),
        pairs.features.tolist(),
        strict=True,
    )


def test_scores_do_not_depend_on_threads(copies, calibrated_copies):
    """Neither the number of threads nor a repetition changes a score."""
    one, _ = calibrate(replace(copies, settings=replace(copies.settings, threads=1)))
    assert (one.pairs.score == calibrated_copies[0].pairs.score).all()


@pytest.mark.parametrize(("stay", "used"), [(0, 510), (510, 510), (515, 515), (10**6, None)])
def test_decoys_like_the_targets_are_used(verifying, monkeypatch, stay, used):
    """Model decoys unlike the targets are dropped down to a minimum; given decoys are all used."""
    found = competing(verifying)
    assert found.verifier is not None
    pool = found.verifier.encoder.model.read_decoys()
    every = guessed(verifying, pool).decoys
    assert every > 520

    def likelihoods(*arguments: object) -> tuple[np.ndarray, float]:
        usable = arguments[3]
        assert isinstance(usable, np.ndarray) and len(usable) == every
        return -np.arange(every, dtype=np.float64), -509.0

    monkeypatch.setattr(decoys, "_likelihoods", likelihoods)
    monkeypatch.setattr(decoys, "STAY", stay)
    assert guessed(verifying).decoys == (used or every) and guessed(verifying, pool).decoys == every


def test_translations_among_the_decoys_are_dropped(verifying, english):
    """Decoys that are near-copies of targets match as well as these, not by chance."""
    found = competing(verifying)
    assert found.verifier is not None
    pool = found.verifier.encoder.model.read_decoys()
    clean = guessed(verifying, pool)
    assert clean.dropped == 0
    near = [f"{word} {sentence}" for word in ("und", "the", "a") for sentence in english]
    guess = guessed(verifying, [*pool, *near])
    assert guess.dropped > 40 and any("were dropped" in doubt for doubt in guess.doubts)
    assert guess.decoys == clean.decoys + len(set(near)) - guess.dropped


def test_decoys_of_other_lengths_are_doubted(verifying):
    """Short decoys among long ones get the weight of the short targets."""
    found = competing(verifying)
    assert found.target_text is not None and found.competed is not None
    assert not isinstance(found.competed, str)
    assert not any("the length of few" in doubt for doubt in calibrate(found)[1].doubts)
    decoyed, _ = found.competed
    used = np.concatenate(decoyed.draws)
    found.target_text.characters[:] = 5
    decoyed.text.characters[:] = 200
    decoyed.text.characters[used[:3]] = 5
    assert any("the length of few" in doubt for doubt in calibrate(found)[1].doubts)


@pytest.mark.parametrize(("factor", "doubted"), [(0.2, True), (1.0, False), (5.0, True)])
def test_unlike_decoys_are_doubted(verifying, factor, doubted):
    found = competing(verifying)
    doubts = precision.doubts_of(found, factor)
    assert any("poor matches" in doubt for doubt in doubts) == doubted


@pytest.mark.parametrize(("lead", "doubted"), [(0.5, True), (4.0, False)])
def test_near_copies_are_doubted(verifying, lead, doubted):
    found = competing(verifying)
    features = found.pairs.features
    assert features is not None
    features = features.copy()
    features[:, FEATURES.index("lead_min")] = lead
    pairs = replace(found.pairs, features=features, score=np.full(len(features), 0.9))
    doubts = precision.doubts_of(replace(found, pairs=pairs), 1.0)
    assert any("near-copies" in doubt for doubt in doubts) == doubted


@pytest.mark.parametrize(("sources", "doubted"), [(5000, True), (1, False)])
def test_targets_that_fill_the_lists(verifying, sources: int, doubted: bool) -> None:
    """Few targets always fill few lists."""
    found = competing(verifying)
    sides = copy(found.pairs.source), copy(found.pairs.target)
    sides[0].distinct, sides[1].distinct = sources, 5000
    pairs = replace(found.pairs, source=sides[0], target=sides[1])
    lists = replace(found.forward, row=found.forward.row % 10)
    doubts = precision.doubts_of(replace(found, pairs=pairs, forward=lists), 1.0)
    assert any("10 targets fill 100%" in doubt for doubt in doubts) == doubted


def test_without_matched_decoys_nothing_is_estimated(
    verifying: tuple[Index, Index], tmp_path: Path, english_file: Path
) -> None:
    """Each source is mined with itself, so that decoys give no evidence."""
    encoder = Encoder.load(verifying[0].model_name)
    same = verifying[1], Index.build(encoder, english_file, tmp_path / "same")
    with pytest.raises(ResourceError, match="none of .* decoys was matched"):
        guessed(same)


def test_counting_decoys() -> None:
    wrong, q_value = counted_wrong(
        np.array([0.9, 0.8, 0.5, 0.4, 0.2]), np.array([0.45, 0.3]), np.array([2.0, 1.0])
    )
    np.testing.assert_allclose(wrong, [1, 1.5, 1.5, 3.5, 4.5])
    np.testing.assert_allclose(q_value, [0.5, 0.5, 0.5, 0.875, 0.9])


def test_decoys_are_in_the_language_of_the_targets(verifying: tuple[Index, Index]) -> None:
    """A model with decoys in the sources' language only has none for these targets."""
    encoder = Encoder.load(verifying[0].model_name)
    pool = encoder.model.read_decoys()

    def chosen(by_language: dict[str, list[str]], language: str | None = None) -> int:
        model = replace(encoder.model, decoys=by_language, decoys_digest=None)
        settings = SearchSettings(languages=(None, language))
        found = search_indexes(*verifying, Verifier(Encoder(model)), settings, estimating=True)
        return calibrate(found)[1].decoys

    assert chosen({"en": pool}) == chosen({"": pool}) == chosen({"de": pool}, "de") >= 500
    with pytest.raises(ResourceError, match=r"no decoys in English \(en\); give .*--decoys FILE"):
        chosen({"de": pool})


def test_too_few_targets_are_not_estimated(verifying, english, tmp_path):
    """Three lines do not suffice, however many decoys there are."""
    (tmp_path / "few").write_text("\n".join(english[:3]) + "\n", encoding="utf-8")
    encoder = Encoder.load(verifying[0].model_name)
    few = Index.build(encoder, tmp_path / "few", tmp_path / "few.index")
    with pytest.raises(ResourceError, match="only 3 different targets"):
        guessed((verifying[0], few))


def test_a_precision_that_is_met_exactly() -> None:
    score = np.linspace(0.9, 0.5, 10)
    found = Estimate(score, np.ones(10), np.full(10, 0.1), 500, 0)
    assert found.threshold(0.9) == 0.5


def test_few_matched_decoys_are_doubted(verifying: tuple[Index, Index]) -> None:
    """The mixture scales few decoys like many; a warning names their number."""
    guess = guessed(verifying)
    assert guess.matched < precision.FEWEST_MATCHED and guess.resample is not None
    assert any(f"only {guess.matched} decoys found a source" in doubt for doubt in guess.doubts)
    assert guess.intervals([5])[0] is not None


def test_recall_is_withheld_where_the_model_is_blind(verifying: tuple[Index, Index]) -> None:
    """A search cannot count translations that the model does not recognise."""
    guess = guessed(verifying)
    assert guess.recall(5) is not None
    found = competing(verifying)
    weak = {"de": KnownLanguage(2000), "en": KnownLanguage(1_000_000)}
    assert found.verifier is not None
    model = replace(found.verifier.encoder.model, languages=weak)
    found = replace(found, verifier=Verifier(Encoder(model)), languages=SURE)
    blind = calibrate(found, refitting=False)[1]
    assert blind.recall(5) is None and "German (de)" in blind.recall_of
    (bounds,) = blind.intervals([5])
    assert bounds is not None and bounds[1] is None
    assert all(row.recall is None for row in blind.table((0.9, 0.5)))


def test_a_recall_near_zero_of_many_is_not_printed() -> None:
    assert precision._no_recall([], 1.5, 621.0) and not precision._no_recall([], 400.0, 621.0)
    assert not precision._no_recall([], 1.0, 12.0)
