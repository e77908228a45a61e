"""Lexicon and verifier: translations are found, and separated from other candidates."""

import dataclasses

import numpy as np
import pytest
from support.near_copies import sentences
from support.trainings import aligned_files, synthetic

import miner_train.learn_verifier
import miner_train.pipeline
from miner.encoder.encoder import Encoder
from miner.encoder.lexicons import UNKNOWN
from miner.scoring.logistic import sigmoid
from miner.scoring.verifier import Verifier
from miner_train.config import TrainConfig
from miner_train.data import UNKNOWN as UNKNOWN_NUMBER
from miner_train.data import SplitPairs, prepare
from miner_train.language_texts import LanguageText, rows_by_languages, texts_by_languages
from miner_train.learn_lexicon import learn_lexicons
from miner_train.learn_verifier import fit, learn_verifier
from miner_train.pipeline import train_model
from miner_train.read import TextPair


def test_the_lexicon_finds_translations():
    """Word i of one language translates word i of the other, in random sentences."""
    generator = np.random.default_rng(1)
    number = {f"{side}{i}": 2 * i + (side == "b") for side in "ab" for i in range(40)}

    def tokenizer(chunk):
        ids = [[number[word] for word in sentence.split()] for sentence in chunk]
        offsets = np.cumsum([0, *map(len, ids)])
        return np.array([piece for one in ids for piece in one], dtype=np.int32), offsets

    words = [generator.choice(40, 6) for _ in range(400)]
    pairs = [[" ".join(f"{side}{i}" for i in row) for row in words] for side in "ab"]
    data = prepare(([tokenizer], [tokenizer]), *pairs)
    rows = np.arange(len(data))
    lexicon = learn_lexicons(data, {("de", "en"): rows}, 80).of("de", "en")
    one = learn_lexicons(data, {(UNKNOWN, UNKNOWN): rows}, 80).of("de", "en")
    np.testing.assert_allclose(one.frequency, lexicon.frequency, rtol=0.02)
    for piece in range(80):
        others, probability = lexicon.translations(piece)
        assert others[probability.argmax()] == piece ^ 1
        assert probability.max() > 0.8
        assert probability.sum() <= 1.001


def test_a_lexicon_of_nothing_in_common():
    def tokenizer(chunk):
        ids = [int(sentence) for sentence in chunk]
        return np.array(ids, dtype=np.int32), np.arange(len(ids) + 1)

    data = prepare(([tokenizer], [tokenizer]), ["0", "1"], ["2", "3"])
    lexicons = learn_lexicons(data, {("de", "en"): np.arange(2)}, 4)
    assert len(lexicons.of("de", "en").pieces) == 0


def test_the_regression_finds_its_weights():
    generator = np.random.default_rng(2)
    features = generator.normal([1, 5, 0], [1, 10, 0], (20_000, 3)).astype(np.float32)
    logit = -1 + 2 * features[:, 0] - 0.3 * (features[:, 1] - 5)
    true = generator.random(20_000) < sigmoid(logit)
    function = fit(features, true, ("a", "b", "c"))
    np.testing.assert_allclose(function.weight, [2, -0.3, 0], atol=0.15)
    assert sigmoid(function.logit(features)).mean() == pytest.approx(true.mean(), abs=0.005)
    # An average translation has no terms for or against.
    np.testing.assert_allclose(function.mean, features[true].mean(axis=0), atol=1e-4)


def knowing(encoder: Encoder, pairs) -> Encoder:
    """Return the encoder with a lexicon of the ``pairs``."""
    data = prepare(([encoder.tokenizer], [encoder.tokenizer]), *pairs)
    lexicons = learn_lexicons(data, {("de", "en"): np.arange(len(data))}, encoder.tokenizer.size)
    return Encoder(dataclasses.replace(encoder.model, lexicons=lexicons), threads=2)


def test_a_verifier_tells_translations_from_others(encoder: Encoder):
    pairs = sentences("de"), sentences("en")
    known = knowing(encoder, pairs)
    text = LanguageText(("de", "en"), pairs, ([], []))
    learned = learn_verifier(known, [text], seed=1)
    assert learned["translations"] == 15  # one sentence in four keeps its partner
    again = learn_verifier(known, [text], seed=1)
    assert again == learned
    verifier = Verifier(Encoder(dataclasses.replace(known.model, verifier=learned)))
    left, right = (verifier.tokenize_text(side) for side in pairs)
    rows = np.arange(60)
    true = verifier.pair_function.logit(verifier.tokens.pair_features(left, right, rows, rows))
    false = verifier.pair_function.logit(
        verifier.tokens.pair_features(left, right, rows, np.roll(rows, 7))
    )
    assert (true > np.quantile(false, 0.95)).mean() > 0.8


def test_too_few_pairs_for_a_verifier_are_a_warning(tmp_path):
    config = TrainConfig(pieces=120, dimension=16, batch=64, epochs=1, rate=0.02, heldout=70)
    lines: list[object] = []
    text = TextPair(*aligned_files(tmp_path, synthetic(700)))
    model = train_model([text], config, tmp_path / "model", report=lines.append)
    assert model.verifier is None
    assert any("70 held-out pairs are too few to learn to verify" in str(line) for line in lines)


def test_text_that_is_no_bitext_makes_no_verifier(encoder: Encoder, monkeypatch):
    """No held-out pair is found, so the model is saved without verification."""
    pairs = sentences("de"), sentences("en")
    known = knowing(encoder, pairs)
    text = LanguageText(("de", "en"), pairs, ([], []))
    monkeypatch.setattr(miner_train.learn_verifier, "FEWEST", 16)
    assert learn_verifier(known, [text], seed=1) is None


def test_text_by_pair_of_languages(encoder: Encoder):
    """Files of one language pair are joined, whatever codes name it."""
    german, english = sentences("de"), sentences("en")
    tokenizers = [encoder.tokenizer], [encoder.tokenizer]
    numbers = np.array([0, 1, UNKNOWN_NUMBER, 2] * 15, dtype=np.int16)
    data = prepare(tokenizers, german, english, None, numbers)
    rows, unique = np.arange(60), list(dict.fromkeys([*german, *english]))
    split = SplitPairs(
        data, rows[rows % 8 > 3], rows[rows % 8 < 3], unique, ["de-en", "deu-eng", "fr-en"]
    )
    groups = rows_by_languages(split, split.translations)
    assert {pair: (found % 4).tolist() for pair, found in groups.items()} == {
        ("de", "en"): [0, 1] * 7,
        ("fr", "en"): [3] * 7,
        (UNKNOWN, UNKNOWN): [2] * 7,
    }
    texts = texts_by_languages(split)
    assert [text.languages for text in texts] == [("de", "en"), (UNKNOWN, UNKNOWN)]
    assert texts[0].held[0] == [german[row] for row in rows if row % 8 in (0, 1)]
    assert texts[0].training[1] == [english[row] for row in groups["de", "en"]]
