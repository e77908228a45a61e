"""Near-decoys: pairs of the near-copies with one fact of the English side changed."""

from dataclasses import replace

import numpy as np
import pytest

from miner.precision.near_decoys import FEWEST, NearDecoys, near_decoys
from miner.precision.search_result import Search
from miner.scoring.quality import Quality


def by_quality(rows: np.ndarray, logit: np.ndarray) -> np.ndarray:
    assert len(rows) == len(logit)
    return logit


def quality_of(copies: Search, languages: tuple[str | None, str | None] = ("de", "en")) -> Quality:
    assert copies.verifier is not None
    return Quality(copies.verifier.of(languages))


def test_a_changed_fact_lowers_the_quality(copies: Search) -> None:
    quality, best = quality_of(copies), np.arange(100)
    found = near_decoys(copies.pairs, best, quality, by_quality)
    assert found is not None and 80 <= len(found.score) <= 100
    assert (np.diff(found.score) >= 0).all()
    _, german, english = zip(*copies.pairs.take(best).texts(), strict=True)
    right = quality.score(german, english)
    own = np.log(right) - np.log1p(-right)
    assert np.median(found.score) < np.median(own) - 1


def test_the_english_side_is_changed_wherever_it_is(copies: Search) -> None:
    pairs, best = copies.pairs, np.arange(60)
    turned = replace(
        pairs,
        source=pairs.target,
        target=pairs.source,
        source_row=pairs.target_row,
        target_row=pairs.source_row,
    )
    found = near_decoys(turned, best, quality_of(copies, ("en", "de")), by_quality)
    assert found is not None
    assert len(found.score) == len(near_decoys(pairs, best, quality_of(copies), by_quality).score)  # type: ignore[union-attr]


@pytest.mark.parametrize("languages", [("de", "fr"), (None, None)])
def test_without_english_there_are_none(copies, languages):
    assert (
        near_decoys(copies.pairs, np.arange(60), quality_of(copies, languages), by_quality) is None
    )


def test_few_pairs_make_none(copies: Search) -> None:
    for count in (0, 1, FEWEST - 1):
        assert near_decoys(copies.pairs, np.arange(count), quality_of(copies), by_quality) is None


def test_the_share_kept_falls_with_the_threshold() -> None:
    near = NearDecoys(np.array([0.1, 0.5, 0.5, 0.9]))
    assert [near.kept(at) for at in (0.0, 0.1, 0.5, 0.6, 0.9, 1.0)] == [1, 1, 0.75, 0.25, 0.25, 0]
