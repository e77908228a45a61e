"""Quality function: corruptions of every kind, which the function recognises."""

import dataclasses

import numpy as np
import pytest
from support.near_copies import sentences

from miner.encoder.encoder import Encoder
from miner.scoring.comparer import COMPARED
from miner.scoring.logistic import sigmoid
from miner.scoring.quality import FEATURES, NAME, Quality
from miner.scoring.verifier import Verifier
from miner_train import learn_quality as learning
from miner_train.language_texts import LanguageText
from miner_train.learn_quality import KINDS, corrupt, learn_quality, with_comparer
from miner_train.learn_verifier import fit

PAIR = (
    "Am Montag fuhr Anna mit 3 Freunden nach Berlin",
    "On Monday our friend Anna went with 3 friends to Berlin",
)
OTHER = ("Der Hund schläft im Garten hinter dem Haus", "The dog sleeps in the yard by our house")
NAMES = ["Zoe"]


def test_kinds_do_what_they_say():
    generator = np.random.default_rng(1)
    make = {kind.__name__[1:]: kind(PAIR, OTHER, NAMES, generator) for kind in KINDS}
    assert make["misaligned"] == OTHER[1] and make["copied"] == PAIR[0]
    assert make["cut"] in PAIR[1] and len(make["cut"]) < 0.8 * len(PAIR[1])
    assert PAIR[1] in make["added"] and OTHER[1] in make["added"]
    assert sorted(make["shuffled"].split()) == sorted(PAIR[1].split())
    assert "Zoe" in make["renamed"] and "Anna" not in make["renamed"]
    assert make["exchanged"].split()[:5] == PAIR[1].split()[:5]
    assert learning._NUMBER.sub("", make["renumbered"]) == learning._NUMBER.sub("", PAIR[1])


def test_kinds_that_do_not_apply():
    generator = np.random.default_rng(1)
    short = ("Ja", "yes")
    for kind in KINDS[1:]:
        if kind.__name__ in ("_cut", "_exchanged", "_renumbered", "_renamed", "_shuffled"):
            assert kind(short, OTHER, [], generator) is None


def test_half_is_corrupted_and_the_same_each_time(encoder: Encoder):
    held = sentences("de"), sentences("en")
    pairs, good = corrupt(encoder, held, 1)
    assert (pairs, good.tolist()) == (lambda p, g: (p, g.tolist()))(*corrupt(encoder, held, 1))
    assert 35 <= len(pairs) < 60  # some pairs are joined
    assert 0.25 < good.mean() < 0.75
    text = " ".join(held[1])
    assert all(target.split()[0] in text for (_, target), ok in zip(pairs, good, strict=True) if ok)


def test_a_learned_function_recognises_corrupted_pairs(verifying_model):
    encoder = Encoder.load(verifying_model)
    held = [side * 4 for side in (sentences("de"), sentences("en"))]
    learned = learn_quality(encoder, [LanguageText(("de", "en"), (held[0], held[1]), ([], []))], 1)
    assert set(learned["weight"]) == set(FEATURES)
    model = encoder.model
    model = dataclasses.replace(model, verifier={**(model.verifier or {}), NAME: learned})
    quality = Quality(Verifier(Encoder(model)))
    german, english = sentences("de"), sentences("en")
    assert quality.score(german, english).mean() > 2 * quality.score(german, english[::-1]).mean()


def test_the_comparer_moves_the_order_by_its_weight():
    generator = np.random.default_rng(1)
    features = generator.normal(size=(4000, len(FEATURES) + 1)).astype(np.float32)
    true = generator.random(4000) < sigmoid(3 * features[:, 0] + features[:, -1])
    function = fit(features[:, :-1], true, FEATURES)
    both = with_comparer(function, features, true)
    assert both.names == (*FEATURES, COMPARED)
    total = function.logit(features) + learning.COMPARER * features[:, -1]
    assert (np.argsort(both.logit(features)) == np.argsort(total)).mean() > 0.999
    # Calibrated: the share of right pairs equals the mean probability, at any scale.
    assert sigmoid(both.logit(features)).mean() == pytest.approx(true.mean(), abs=0.005)
