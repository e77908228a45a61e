"""Likely sources are matched again without their partner, and count as decoys do."""

from dataclasses import replace

import numpy as np
import pytest

from miner.index.index import Index
from miner.mining.mine import run
from miner.precision.decoys import DecoyPairs
from miner.precision.estimate import calibrate
from miner.precision.knock_out import MOST, SHARE, weighted
from miner.precision.search_result import Search


def test_a_knock_out_is_the_match_without_the_partner(copies: Search, tmp_path) -> None:
    """A search without the partner finds the same target, with the same score."""
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
        again = run(pairs.source, left, copies.verifier).pairs
        (at,) = np.flatnonzero(again.source_row == source)
        assert left.sentences(again.target_row[[at]]) == [english[target]]
        assert again.score[at] == pytest.approx(knocked.score[best], rel=1e-3)


@pytest.mark.parametrize(
    ("sources", "share"), [(1, SHARE), (1 + MOST / 2, SHARE / 2), (1 + MOST, 0)]
)
def test_knock_outs_count_where_many_sources_have_a_partner(copies, sources, share):
    pairs = replace(copies.pairs, score=np.full(len(copies.pairs), 0.9))
    right = np.ones(len(pairs))
    assert copies.knocked is not None
    poor = replace(copies.knocked, score=np.full(len(copies.knocked), 0.1))
    knocked, weight, left = weighted(poor, pairs, right, round(sources * len(pairs)))
    assert left == pytest.approx(1 - share, abs=0.01)
    assert len(knocked) == (len(poor) if share else 0)
    assert weight == pytest.approx((sources - 1) * share, abs=0.05)


def test_doubtful_sources_and_second_translations_do_not_count(copies: Search) -> None:
    pairs, knocked = replace(copies.pairs, score=np.full(len(copies.pairs), 0.9)), copies.knocked
    assert knocked is not None
    score = np.where(np.arange(len(knocked)) % 2, 0.1, 0.9)
    right = np.where(pairs.source_row == knocked.source_row[1], 0.5, 1.0)
    found, _, _ = weighted(replace(knocked, score=score), pairs, right, len(pairs))
    assert found.source_row.tolist() == knocked.source_row[3::2].tolist()


def test_near_copies_lower_the_estimate(copies: Search) -> None:
    """Knock-outs that score as pairs do leave less of the precision than decoys alone."""
    knocked = copies.knocked
    assert knocked is not None
    half = DecoyPairs(*(getattr(knocked, name)[:0] for name in knocked.__dataclass_fields__))
    without = calibrate(replace(copies, knocked=half))[1]
    alike = replace(knocked, score=np.full(len(knocked), 0.4))
    assert calibrate(replace(copies, knocked=alike))[1].wrong[-1] > without.wrong[-1]
