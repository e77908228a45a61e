"""Training pairs, their split, vocabulary and configuration; no torch needed."""

import dataclasses
import io
import itertools
import json
import math

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from support.trainings import sentences, synthetic

import miner_train.data
from miner.config_fields import limits, option_name, settings
from miner.encoder.architecture import ENCODERS
from miner.encoder.pieces import PieceTokenizer
from miner.errors import ArtifactError, CorpusError
from miner_train.config import TrainConfig
from miner_train.data import UNKNOWN, PairData, dropped, fingerprint, join, prepare, split, tokenize
from miner_train.recipes import FOR_ENCODER, RECIPES, listing, recipe
from miner_train.vocabulary import train_vocabulary


def lists(found):
    """Invert ``sentences``; also check the offsets."""
    assert found.offsets[0] == 0 and found.offsets[-1] == len(found.ids)
    assert found.ids.dtype == np.int32 and found.offsets.dtype == np.int64
    return [found.ids[a:b].tolist() for a, b in itertools.pairwise(found.offsets.tolist())]


many = st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=8)


@given(many, st.data())
def test_take(given_lists, data):
    n = len(given_lists)
    rows = data.draw(st.lists(st.integers(0, n - 1), max_size=12)) if n else []
    found = sentences(given_lists).take(np.array(rows, dtype=np.int64))
    assert len(found) == len(rows)
    assert lists(found) == [given_lists[row] for row in rows]


@given(st.lists(many, min_size=1, max_size=4))
def test_join(parts):
    found = join([sentences(part) for part in parts])
    assert lists(found) == list(itertools.chain(*parts))


@given(many, st.sampled_from([0.01, 0.5, 0.99]), st.integers(0, 5))
def test_dropped_keeps_order_and_leaves_no_sentence_bare(given_lists, rate, seed):
    found = lists(dropped(sentences(given_lists), rate, np.random.default_rng(seed)))
    assert len(found) == len(given_lists)
    for before, after in zip(given_lists, found, strict=True):
        rest = iter(before)
        assert all(piece in rest for piece in after)  # a subsequence
        assert bool(after) == bool(before)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.8])
def test_dropped_share(rate):
    before = sentences([list(range(100))] * 300)
    after = dropped(before, rate, np.random.default_rng(1))
    share = 1 - len(after.ids) / len(before.ids)
    assert share == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / 30_000))
    assert len({tuple(pieces) for pieces in lists(after)}) == 300  # a new draw each time


def words(chunk):
    """Return a tokenizer of words ``wn``, whose id is n; others are dropped."""
    known = [[int(w[1:]) for w in s.split() if w.startswith("w")] for s in chunk]
    found = sentences(known)
    return found.ids, found.offsets


def test_prepare_drops_pairs_without_pieces():
    source = ["w1 w2", "?", "w3", "w1 w2", "w5", "", "w5 x"]
    target = ["w6", "w7", "!", "w8 x w9", "w6", "", "w7"]
    data = prepare(([words], [words]), source, target)
    assert lists(data.source) == [[1, 2], [1, 2], [5], [5]]
    assert lists(data.target) == [[6], [8, 9], [6], [7]]
    # Different texts have different ids, even with equal pieces.
    assert data.source_text[0] == data.source_text[1] != data.source_text[2]
    assert data.source_text[2] != data.source_text[3]
    assert data.target_text[0] == data.target_text[2] != data.target_text[1]


def test_tokenize_keeps_order_over_chunks(monkeypatch):
    monkeypatch.setattr(miner_train.data, "CHUNK", 3)
    found = tokenize([words], [f"w{n} w{n}" for n in range(20)])
    assert lists(found) == [[n, n] for n in range(20)]
    assert lists(tokenize([words], [])) == []


def test_fingerprint_tells_texts_apart():
    texts = [
        (["a", "b"], ["c", "d"]),
        (["a", "b"], ["d", "c"]),
        (["a"], ["b", "c", "d"]),
        (["c", "d"], ["a", "b"]),
        (["ab", ""], ["c", "d"]),
        (["a", "b"], ["c", "\udcff"]),
    ]
    assert len({fingerprint(*text) for text in texts}) == len(texts)
    assert fingerprint(["a"], ["b"]) == fingerprint(["a"], ["b"])


def numbered(source_text, target_text, language=None, held_out=None):
    n = len(source_text)
    one = sentences([[0]] * n)
    return PairData(
        one,
        one,
        np.array(source_text, np.int64),
        np.array(target_text, np.int64),
        np.ones(len(source_text), bool),
        np.full(n, UNKNOWN, np.int16) if language is None else np.array(language, np.int16),
        np.zeros(n, bool) if held_out is None else np.array(held_out, bool),
    )


@given(st.data(), st.integers(0, 20), st.integers(0, 3))
def test_split(data, heldout, seed):
    n = data.draw(st.integers(0, 80))
    number = st.integers(0, data.draw(st.sampled_from([5, 30, 10_000])))
    texts = [data.draw(st.lists(number, min_size=n, max_size=n)) for _ in range(2)]
    language = data.draw(st.lists(st.integers(UNKNOWN, 1), min_size=n, max_size=n))
    marks = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    pairs = numbered(*texts, language, marks)
    training, held = split(pairs, heldout, seed)

    assert training.tolist() == sorted(set(training.tolist()))
    assert held.tolist() == sorted(set(held.tolist()))
    assert not set(training.tolist()) & set(held.tolist())
    assert not pairs.held_out[training].any()
    assert (~pairs.held_out[held]).sum() <= min(heldout, n // 10)
    both = np.stack([pairs.source_text, pairs.target_text])
    kept_out = both[:, held].ravel().tolist()
    assert len(set(kept_out)) == len(kept_out)

    def in_languages(row):
        return {(pairs.language[row], text) for text in both[:, row].tolist()}

    apart = set().union(*map(in_languages, held))
    assert not set().union(*map(in_languages, training)) & apart
    # Pairs that share no sentence with a held-out pair, and are in no held-out file.
    for row in set(range(n)) - set(training.tolist()) - set(held.tolist()):
        assert in_languages(row) & apart or pairs.held_out[row]
    again = split(pairs, heldout, seed)
    assert again[0].tolist() == training.tolist() and again[1].tolist() == held.tolist()


def test_split_of_distinct_pairs_takes_all_it_may():
    pairs = numbered(range(200), range(200, 400))
    assert [len(rows) for rows in split(pairs, 1000, 1)] == [180, 20]
    assert [len(rows) for rows in split(pairs, 7, 1)] == [193, 7]
    assert [len(rows) for rows in split(pairs, 0, 1)] == [200, 0]
    held = [split(pairs, 20, seed)[1].tolist() for seed in (1, 2)]
    assert held[0] != held[1]
    assert max(held[0]) > 100 > min(held[0])  # not only the first pairs
    marked = numbered(range(200), range(200, 400), held_out=np.arange(200) < 30)
    training, rows = split(marked, 20, 1)
    assert set(range(30)) < set(rows.tolist()) and [len(training), len(rows)] == [150, 50]


def test_vocabulary_covers_both_sides_and_folds_case_if_asked():
    source, target = synthetic(200)
    source = [sentence.title() for sentence in source]
    for fold in (False, True):
        config = TrainConfig(pieces=80, fold_case=fold)
        tokenizer = PieceTokenizer(train_vocabulary([source, target], config))
        for side in (source, target):
            ids, offsets = tokenizer(side)
            assert (np.diff(offsets) > 0).all()
        same = [tokenizer([s])[0].tolist() for s in (source[0], source[0].lower())]
        assert (same[0] == same[1]) == fold


def test_text_with_fewer_pieces_or_none():
    tokenizer = PieceTokenizer(train_vocabulary(synthetic(50), TrainConfig(pieces=20_000)))
    assert 20 < tokenizer.size < 20_000
    with pytest.raises(CorpusError, match="no text"):
        train_vocabulary([[], []], TrainConfig())
    # The text has more distinct letters than pieces.
    with pytest.raises(CorpusError, match=r"no vocabulary of 8 pieces .* 60 sentences .*--pieces"):
        train_vocabulary(synthetic(30), TrainConfig(pieces=8))


def test_vocabulary_asks_for_the_sample(monkeypatch):
    asked = {}

    def remember(sentence_iterator, model_writer, **options):
        asked["sentences"] = list(sentence_iterator)
        model_writer.write(b"it")

    monkeypatch.setattr(sentencepiece.SentencePieceTrainer, "train", remember)
    long, short = [f"a{n}" for n in range(900)], [f"b{n}" for n in range(100)]
    assert train_vocabulary([long, short], TrainConfig(vocabulary_sample=50)) == b"it"
    chosen = asked["sentences"]
    assert len(set(chosen)) == len(chosen) == 50
    assert sum(sentence.startswith("b") for sentence in chosen) == 5
    # At temperature 2, 100 draws from 10,000 and 100 pairs have the ratio 10 : 1.
    sides = [[f"{side}{n}" for n in range(10_100)] for side in "ab"]
    language = np.repeat(np.array([0, 1], np.int16), [10_000, 100])
    config = TrainConfig(vocabulary_sample=220, temperature=2)
    train_vocabulary(sides, config, language)
    rare = [sentence for sentence in asked["sentences"] if int(sentence[1:]) >= 10_000]
    assert len(asked["sentences"]) == 220 and len(rare) == 20
    # At most all pairs.
    train_vocabulary(sides, dataclasses.replace(config, vocabulary_sample=4400), language)
    assert len(asked["sentences"]) == 4000 + 200


def faulty(own):
    """Return invalid values of each setting, by its choices or range."""
    if own.choices:
        return ["", "none such"] + ["sp+", "sp+sp", "word+none"] * own.several
    if not own.within:
        return []
    low, high = limits(own.within)
    low -= 1e-3 * own.within.startswith("[")
    high += 1e-3 * own.within.endswith("]")
    return [low, high, math.nan]


BAD = {name: faulty(own) for name, own in settings(TrainConfig).items()}


@pytest.mark.parametrize("name, value", [(name, v) for name, bad in BAD.items() for v in bad])
def test_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"^{name} = .*(out of range|not one of)"):
        TrainConfig(**{name: value})


def test_every_field_has_a_range():
    assert [name for name, bad in BAD.items() if not bad] == ["fold_case", "one_script"]


@pytest.mark.parametrize(
    "values, reason",
    [
        ({"scramble": 0.3}, "scramble is for a recurrent encoder"),
        ({"pooling": "max", "encoder": "word+trigram"}, "pooling is for a recurrent encoder"),
        ({"encoder": "gran-gru", "hidden": 7}, "hidden is for an encoder by an LSTM's states"),
        ({"negatives_below": 0.9}, "negatives_below is for an objective that chooses"),
        ({"combine": "concat"}, "combine is for several encoders"),
        ({"lambda_c": 0.1}, "lambda_c is for a recurrent encoder"),
        ({"encoder": "blstm", "dimension": 33, "directions": "concat"}, "dimension = 33 is odd"),
        ({"segmentation": "morfessor"}, "segmentation is for an encoder of words"),
        ({"negatives": "rand"}, "softmax takes all of a batch .* unless megabatch > 1"),
        ({"encoder": "sp+lstm", "hidden": 7}, "cannot be added: sp 512, lstm 7"),
    ],
)
def test_settings_that_contradict_each_other(values, reason):
    with pytest.raises(ValueError, match=reason):
        TrainConfig(**values)


def test_config_as_dict_and_back():
    for config in (*RECIPES.values(), TrainConfig(seed=9, dtype="int8", fold_case=True)):
        stored = json.load(io.StringIO(json.dumps(config.as_dict())))
        assert TrainConfig.from_dict(stored) == config
    with pytest.raises(ArtifactError, match="unknown depth, width"):
        TrainConfig.from_dict({"width": 1, "pieces": 100, "depth": 2})
    with pytest.raises(ValueError, match="epochs"):
        TrainConfig.from_dict({"epochs": -1})
    with pytest.raises(ArtifactError, match="training configuration: "):
        TrainConfig.from_dict({"epochs": "many"})
    with pytest.raises(ArtifactError, match="training configuration: "):
        TrainConfig.from_dict({"encoder": 3})


def test_recipes_by_encoder():
    """Each recipe adapts to each of its encoders; settings common to all encoders are unchanged."""
    for name, base in RECIPES.items():
        for encoder in (*ENCODERS, "word+trigram", "word+trigram+lstm"):
            found = recipe(name, encoder)
            assert (found.encoder, found.objective, found.margin, found.adam) == (
                (encoder, base.objective, base.margin, base.adam)
            )
        assert recipe(name) == recipe(name, base.encoder) == base
    blstm = recipe("p19", "blstm-sp")
    assert (blstm.scramble, blstm.embedding_dropout) == (0.3, 0.3)
    assert (blstm.states("blstm-sp"), blstm.size("blstm-sp")) == (150, 300)
    gran = recipe("p17", "gran-lstm")
    assert (gran.epochs, gran.negatives) == (3, "max")
    assert recipe("s18", "sp").segmentation == "none" and recipe("s18", "sp").variational == 0
    assert recipe("s18", "word").segmentation == "morfessor"
    with pytest.raises(ValueError, match="^encoder = 'cnn' is not one of"):
        recipe("p19", "cnn")
    assert set(FOR_ENCODER) <= set(RECIPES)


def test_list_names_every_setting_and_choice():
    text = listing()
    for name, own in settings(TrainConfig).items():
        assert option_name(name) in text
        assert all(f"  {choice} " in text for choice in own.choices)
    assert all(f"  {recipe} " in text for recipe in RECIPES)
