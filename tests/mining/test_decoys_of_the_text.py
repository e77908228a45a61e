"""Near-decoys with one changed fact, and knock-outs: sources matched without their partner."""

from dataclasses import replace

import numpy as np
import pytest

from miner.index.index import Index
from miner.mining.mine import search_indexes
from miner.precision import knock_out
from miner.precision.decoys import DecoyPairs
from miner.precision.estimate import calibrate
from miner.precision.knock_out import MOST, SHARE, Foreseen, weighted
from miner.precision.near_decoys import FEWEST, NearDecoys, near_decoys
from miner.precision.search_result import SearchResult
from miner.scoring.quality import Quality


def by_quality(rows: np.ndarray, logit: np.ndarray) -> np.ndarray:
    assert len(rows) == len(logit)
    return logit


def quality_of(
    copies: SearchResult, languages: tuple[str | None, str | None] = ("de", "en")
) -> Quality:
    assert copies.verifier is not None
    return Quality(copies.verifier.of(languages))


def test_a_changed_fact_lowers_the_quality(copies: SearchResult) -> None:
    quality, best = quality_of(copies), np.arange(100)
    found = near_decoys(copies.pairs, best, quality, by_quality)
    assert found is not None and 80 <= len(found.score) <= 100
    assert (np.diff(found.score) >= 0).all()
    _, german, english = zip(*copies.pairs.take(best).texts(), strict=True)
    right = quality.score(german, english)
    own = np.log(right) - np.log1p(-right)
    assert np.median(found.score) < np.median(own) - 1


def test_the_english_side_is_changed_wherever_it_is(copies: SearchResult) -> None:
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


def test_few_pairs_make_none(copies: SearchResult) -> None:
    for count in (0, 1, FEWEST - 1):
        assert near_decoys(copies.pairs, np.arange(count), quality_of(copies), by_quality) is None


def test_the_share_kept_falls_with_the_threshold() -> None:
    near = NearDecoys(np.array([0.1, 0.5, 0.5, 0.9]))
    assert [near.kept(at) for at in (0.0, 0.1, 0.5, 0.6, 0.9, 1.0)] == [1, 1, 0.75, 0.25, 0.25, 0]


def test_a_knock_out_is_the_match_without_the_partner(copies: SearchResult, tmp_path) -> None:
    """A search without the partner gives the same target and score."""
    pairs, knocked = copies.pairs, copies.knocked
    assert knocked is not None
    assert copies.verifier is not None
    partner = dict(zip(pairs.source_row.tolist(), pairs.target_row.tolist(), strict=True))
    assert all(partner[s] != t for s, t in zip(knocked.source_row, knocked.decoy, strict=True))
    for best in np.argsort(-knocked.score, kind="stable")[:2].tolist():
        source, target = int(knocked.source_row[best]), int(knocked.decoy[best])
        english = list(pairs.target.sentences(np.arange(len(pairs.target))))
        gone = english[partner[source]]
        (tmp_path / "en").write_text("".join(f"{one}\n" for one in english if one != gone))
        left = Index.build(copies.verifier.encoder, tmp_path / "en", tmp_path / f"{best}")
        again = search_indexes(pairs.source, left, copies.verifier).pairs
        (at,) = np.flatnonzero(again.source_row == source)
        assert left.sentences(again.target_row[[at]]) == [english[target]]
        assert again.score[at] == pytest.approx(knocked.score[best], rel=1e-3)


@pytest.mark.parametrize(
    ("sources", "share"), [(1, SHARE), (1 + MOST / 2, SHARE / 2), (1 + MOST, 0)]
)
def test_knock_outs_count_where_many_sources_have_a_partner(copies, sources, share, monkeypatch):
    """Knock-outs of near-copies do not count."""
    monkeypatch.setattr(knock_out, "near_copies", lambda pairs, likely: np.zeros(len(pairs)))
    pairs = replace(copies.pairs, score=np.full(len(copies.pairs), 0.9))
    right = np.ones(len(pairs))
    assert copies.knocked is not None
    poor = replace(copies.knocked, score=np.full(len(copies.knocked), 0.1))
    knocked, weight, left = weighted(poor, pairs, right, round(sources * len(pairs)))
    assert left == pytest.approx(1 if sources == 1 else share, abs=0.01)
    assert len(knocked) == (len(poor) if share else 0)
    assert weight == pytest.approx((sources - 1) * share, abs=0.05)


def test_doubtful_sources_and_second_translations_do_not_count(copies: SearchResult) -> None:
    pairs, knocked = replace(copies.pairs, score=np.full(len(copies.pairs), 0.9)), copies.knocked
    assert knocked is not None
    score = np.where(np.arange(len(knocked)) % 2, 0.1, 0.9)
    right = np.where(pairs.source_row == knocked.source_row[1], 0.5, 1.0)
    found, _, _ = weighted(replace(knocked, score=score), pairs, right, len(pairs))
    assert found.source_row.tolist() == knocked.source_row[3::2].tolist()


def test_near_copies_lower_the_estimate(copies: SearchResult) -> None:
    """Knock-outs with scores of right pairs lower the precision more than decoys alone."""
    knocked = copies.knocked
    assert knocked is not None
    half = DecoyPairs(*(getattr(knocked, name)[:0] for name in knocked.__dataclass_fields__))
    without = calibrate(replace(copies, knocked=half))[1]
    alike = replace(knocked, score=np.full(len(knocked), 0.4))
    assert calibrate(replace(copies, knocked=alike))[1].wrong[-1] > without.wrong[-1]


def test_knock_outs_that_match_like_kept_pairs_are_counted(copies: SearchResult) -> None:
    pairs, knocked = copies.pairs, copies.knocked
    assert knocked is not None
    right = np.where(np.arange(len(pairs)) % 3, 0.6, 0.4)
    likely = set(pairs.source_row[right >= 0.5].tolist())
    foreseen = Foreseen.of(knocked, pairs, right, 1000)
    assert foreseen.each == pytest.approx((1000 - right.sum()) / len(likely))
    best = np.sort(pairs.score)[::-1]
    for kept in (1, 2, len(pairs) // 2, len(pairs)):
        counted = sum(
            score >= best[kept - 1] and row in likely
            for row, score in zip(knocked.source_row.tolist(), knocked.score, strict=True)
        )
        assert foreseen.matched[kept] == counted
        assert foreseen.most(kept) == pytest.approx((counted + 1) * foreseen.each)
    assert foreseen.matched[0] == 0


@pytest.mark.parametrize(
    ("matched", "each", "doubtful"),
    [(3, 10.0, True), (0, 10.0, False), (0, 50.0, True), (100, 5.0, False)],
)
def test_knock_outs_doubt_an_estimate_where_few_sources_have_a_partner(matched, each, doubtful):
    foreseen = Foreseen(np.full(501, matched), each)
    assert foreseen.doubtful(500) is doubtful
    assert not foreseen.doubtful(0)


def test_draws_lie_between_none_and_all_that_knock_outs_foresee() -> None:
    foreseen = Foreseen(np.arange(101), 10.0)
    kept = np.array([1.0, 20.0, 100.0])
    draws = np.array([foreseen.drawn(number, kept) for number in range(500)])
    assert (draws >= 0).all() and (draws == 0).all(axis=1).mean() == pytest.approx(1 / 3, abs=0.1)
    np.testing.assert_allclose(draws.mean(axis=0), (kept + 1) * 10 / 3, rtol=0.15)
    np.testing.assert_array_equal(foreseen.drawn(3, kept)[1:2], foreseen.drawn(3, kept[1:2]))


def test_a_doubtful_estimate_says_so_and_has_wider_intervals(copies, monkeypatch) -> None:
    alike = replace(
        copies, knocked=replace(copies.knocked, score=np.full(len(copies.knocked), 0.9))
    )
    usual = calibrate(alike)[1]
    assert not any("partner is hidden" in doubt for doubt in usual.doubts)
    monkeypatch.setattr(knock_out, "FEW_PARTNERS", 0.0)
    doubted = calibrate(alike)[1]
    assert any("partner is hidden" in doubt for doubt in doubted.doubts)
    kept = usual.count(0.5)
    ((before, _),), ((after, _),) = usual.intervals([kept]), doubted.intervals([kept])
    assert after[0] < before[0] and after[1] <= before[1]
    np.testing.assert_array_equal(usual.score, doubted.score)
