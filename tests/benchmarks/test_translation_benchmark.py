"""Benchmark of translators on filtered text: the noisy corpus, a training that goes on, tables."""

import itertools
from pathlib import Path

import pytest
from support.evaluated_models import write_hidden
from support.files import write

from benchmarks.translation import corpus, translation_tables
from benchmarks.translation.phrases import PhraseBased, Phrases
from miner_train.config import TrainConfig
from miner_train.vocabulary import train_vocabulary


@pytest.fixture
def data(tmp_path: Path) -> Path:
    pairs = [
        (f"Das ist Satz {n} von Bild {n % 7}", f"This is line {n} of {n % 7}") for n in range(400)
    ]
    write(tmp_path / "train/de-en/multi30k.tsv", pairs)
    write(tmp_path / "train/de-en/iwslt.tsv", [(f"Rede {n}", f"Talk {n}") for n in range(9)])
    # Sentences of the test sets are dropped from the corpus, whatever their case and marks.
    write(
        tmp_path / "heldout/de-en.multi30k-test_2016_flickr.tsv",
        [("DAS ist Satz 3 von Bild 3!", "x")],
    )
    for pair, split in (("de-en", "test"), ("fr-en", "training")):
        sides = (
            [f"{pair} Nachricht {n}" for n in range(20)],
            [f"{pair} news {n}" for n in range(20)],
        )
        write_hidden(
            tmp_path / "bucc-style" / pair, pair, split, sides, [(n, n) for n in range(20)], ""
        )
    return tmp_path


def test_half_of_the_corpus_is_noise_and_no_test_sentence(data):
    tests = corpus.test_sets(data, "de-en")
    assert {name: len(own) for name, own in tests.items()} == {
        "captions": 1,
        "news": 20,
        "talks": 9,
    }
    held = [pair for own in tests.values() for pair in own]
    found = corpus.noisy_corpus(data, "de-en", held, ("multi30k",))
    assert len(found.pairs) == 399 and found.counts["good"] == 200
    share = {kind: found.counts[kind] / 199 for kind in ("copied", "wrong language")}
    assert share["copied"] > 3 * share["wrong language"] > 0
    assert not any("Satz 3 " in source for source, _ in found.pairs)


def test_a_stopped_training_ends_as_another(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from benchmarks.translation import translator

    pairs = [(f"eins zwei {n % 9}", f"one two {n % 9}") for n in range(60)]
    sides = [source for source, _ in pairs], [target for _, target in pairs]
    vocabulary = train_vocabulary(sides, TrainConfig(pieces=30, fold_case=False))
    monkeypatch.setattr(translator, "SAVED", 2)
    setting = translator.Setting(30, 8, heads=2, layers=1, updates=4, batch=60, warmup=2)
    whole = translator.Translator(vocabulary, setting, 1)
    whole.train(pairs, tmp_path / "whole.pt")
    save = translator.Translator._save

    def killed(self, path):
        save(self, path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(translator.Translator, "_save", killed)
        translator.Translator(vocabulary, setting, 1).train(pairs, tmp_path / "stopped.pt")
    again = translator.Translator(vocabulary, setting, 1)
    again.train(pairs, tmp_path / "stopped.pt")
    sources = ["eins zwei 3", "zwei"]
    assert again.step == 4 and again.translate(sources) == whole.translate(sources)
    states = (one.network.state_dict() for one in (whole, again))
    assert all(a.equal(b) for a, b in zip(*(own.values() for own in states), strict=True))


def test_a_phrase_based_translator_learns_from_the_pairs(tmp_path):
    numbers = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four"}
    pairs = [
        (f"Haus {one} {other}.", f"House {numbers[one]} {numbers[other]}.")
        for one, other in itertools.permutations(numbers, 2)
    ]
    translator = PhraseBased(Phrases())
    translator.train(pairs, tmp_path / "none")
    assert translator.translate(["Haus drei eins.", ""]) == ["house three one .", ""]


def test_tables_mark_differences():
    scores = {"news": {"chrF2": {"score": 31.25, "interval": 0.5, "p": 0.01}}}
    scores["news"]["BLEU"] = {"score": 9.0, "interval": 0.4, "p": None}
    row = {"system": "nothing", "seed": 1, "kept": 9, "clean kept": 1.0, "noise kept": 0.5}
    missing = {"system": "hardrules", "seed": 1, "missing": "no --peers", "scores": None}
    setting = {"updates": 1000, "batch": 100, "layers": 2, "dimension": 8}
    result = {"pairs": 12, "setting": setting, "tests": {"news": 5}}
    result["rows"] = [row | {"scores": scores}, missing]
    record = {"sections": {"de-en, captions": {"results": result}}}
    found = "\n".join(translation_tables.tables(record, lambda section: "conditions"))
    assert "| nothing | 1 | 9 | 100.0% | 50.0% | 31.2\\* ± 0.5 (9.0) |" in found
    assert "hardrules" not in found and "conditions" in found
