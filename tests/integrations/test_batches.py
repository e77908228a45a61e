"""Quality and reasons of batches of pairs equal the whole text's."""

import pytest

import miner
from miner.errors import ArtifactError
from miner.filters.registry import RULES
from miner.integrations.batches import USUAL, BatchFilters, quality_bound

LANGUAGES = ("de", "en")


@pytest.fixture
def pairs(german, english):
    wrong = zip(german[:5], english[9:14], strict=True)
    return [*zip(german, english, strict=True), *wrong, (german[0], german[0]), ("", english[1])]


def test_pairs_are_judged_as_by_a_run_over_the_text(pairs, knowing_model):
    model = str(knowing_model)
    filters = ["identical", "empty", {"name": "quality", "minimum": 0.2}]
    found = BatchFilters(LANGUAGES, filters, model)
    means = {"model": model, "languages": LANGUAGES}
    assert found.qualities(pairs) == [row["quality"] for row in miner.score(pairs, **means)]
    clean = miner.filter(pairs, filters=filters, **means)
    reasons = found.reasons(pairs)
    assert [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None] == [
        (row["source"], row["target"]) for row in clean
    ]
    assert reasons[-2:] == ["identical", "empty"] and "quality" in reasons


def test_batches_change_nothing(pairs):
    found = BatchFilters(LANGUAGES, RULES)
    halves = [pairs[:20], pairs[20:]]
    assert found.reasons(pairs) == [one for half in halves for one in found.reasons(half)]
    assert found.reasons([]) == found.qualities([]) == []


def test_usual_filters_are_the_default_ones_of_one_pair(shipped=USUAL):
    assert "quality" in shipped and "language" in shipped and "duplicates" not in shipped


def test_the_bound_is_that_of_the_languages(knowing_model):
    usual = BatchFilters(LANGUAGES, ["quality"], str(knowing_model))
    assert quality_bound(usual.config) == 0.1
    assert quality_bound(BatchFilters(("he", "en"), ["quality"]).config) < 0.1


@pytest.mark.parametrize(
    "languages, filters, message",
    [
        ("de", USUAL, "two codes"),
        (("de",), USUAL, "two codes"),
        (LANGUAGES, ["qualty"], "did you mean quality"),
        (LANGUAGES, ["duplicates"], "compares pairs with each other"),
        (LANGUAGES, ["classifier"], "needs"),
    ],
)
def test_faulty_settings_are_refused(languages, filters, message):
    with pytest.raises(ArtifactError, match=message):
        BatchFilters(languages, filters)
