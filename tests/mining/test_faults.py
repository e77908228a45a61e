"""Faults of pairs that match: the demo's wrong pairs differ from translations in one fact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import miner
from miner.encoder.encoder import Encoder
from miner.evaluation.gold import read_gold
from miner.mining import faults
from miner.mining.faults import FAULTLESS, POSSIBLE, faultless
from miner.mining.precision import Estimate
from miner.mining.search import Search, verifier_for
from miner.scoring.logistic import sigmoid
from miner.scoring.quality import NAME, Quality

DEMO = Path(miner.__file__).parent / "demo"


def test_a_pair_is_read_by_itself(demo: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    score = demo.pairs.score
    found = faultless(demo, score)
    assert (found[score <= POSSIBLE] == 1).all() and (found[score > POSSIBLE] < 1).all()
    assert demo.verifier is not None
    rows = np.flatnonzero(score > POSSIBLE)[:40]
    _, german, english = zip(*demo.pairs.take(rows).texts(), strict=True)
    alone = Quality(demo.verifier.encoder, ("de", "en")).score(german, english)
    logit = np.log(alone) - np.log1p(-alone)
    # The index holds vectors as float16.
    np.testing.assert_allclose(found[rows], sigmoid(logit + FAULTLESS), atol=1e-3)
    monkeypatch.setattr(faults, "BLOCK", 7)
    assert (faultless(demo, score) == found).all()


def test_the_best_pairs_of_the_demo_are_right(calibrated_demo: tuple[Search, Estimate]) -> None:
    calibrated, _ = calibrated_demo
    gold = read_gold(DEMO / "demo.gold")
    best = [(source, target) for _, source, target in calibrated.pairs.top(10).ids()]
    assert [pair for pair in best if pair not in gold] == []


def test_a_model_without_a_quality_function(demo: Search) -> None:
    assert demo.verifier is not None
    encoder = demo.verifier.encoder
    rest = {name: part for name, part in (encoder.model.verifier or {}).items() if name != NAME}
    older = replace(encoder.model, verifier=rest)
    verifier = verifier_for(demo.pairs.source, None, demo.verifier.encoder)
    assert verifier is not None
    verifier.encoder = Encoder(older)
    assert (faultless(replace(demo, verifier=verifier), demo.pairs.score) == 1).all()
