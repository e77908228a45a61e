"""miner.train --from adds a language and preserves the others."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.files import write
from support.trainings import synthetic

from miner.encoder.encoder import Encoder
from miner.encoder.model import load
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier
from miner_train import learn_comparer, learn_verification, learn_verifier
from miner_train.config import TrainConfig
from miner_train.pipeline import train_model
from miner_train.read import TextPair

CONFIG = TrainConfig(
    pieces=120, dimension=16, batch=64, epochs=2, rate=0.02, heldout=70, dtype="int8"
)
# Letters that only the third language has.
OTHER = str.maketrans("bdfgkaeo", "mnlrhäöå")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a complete model of de-en, and text of fr-en."""
    place = tmp_path_factory.mktemp("extend")
    bitext = write(place / "de-en" / "text.tsv", zip(*synthetic(700), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn_verifier, "ENOUGH", 20)
        patch.setattr(learn_verification, "FEWEST", 100)
        patch.setattr(learn_comparer, "LEAST", 500)
        train_model([TextPair(str(bitext))], CONFIG, place / "base", threshold=1.1)
    rows = zip(*synthetic(600, seed=3), strict=True)
    write(place / "fr-en" / "text.tsv", ((text.translate(OTHER), other) for text, other in rows))
    return place


@pytest.fixture(scope="module")
def extended(place: Path) -> Path:
    from miner.cli import main

    text = place / "fr-en" / "text.tsv"
    options = "--pieces", "90", "--epochs", "8", "--batch", "64"
    arguments = ["train", "--from", place / "base", "--bitext", text, "-o", place / "both"]
    assert main([*map(str, arguments), *options]) == 0
    return place / "both"


def test_what_the_model_knew_stays(place: Path, extended: Path) -> None:
    old, new = Encoder.load(place / "base"), Encoder.load(extended)
    source, target = synthetic(50, seed=9)
    for side in (source, target):
        np.testing.assert_array_equal(old.encode(side), new.encode(side))
    qualities = [Quality(Verifier(one, ("de", "en"))).score(source, target) for one in (old, new)]
    np.testing.assert_array_equal(*qualities)
    assert new.model.threshold == old.model.threshold == 1.1
    before, after = (one.model.decoys_by_language() for one in (old, new))
    assert set(before) == {"de", "en"} and after["en"] == before["en"] and after["fr"]


def test_the_new_language_is_known(place: Path, extended: Path) -> None:
    source, target = synthetic(50, seed=9)
    french = [text.translate(OTHER) for text in source]
    encoder = Encoder.load(extended)
    assert not Encoder.load(place / "base").encode(french).any()
    nearest = (encoder.encode(french) @ encoder.encode(target).T).argmax(axis=1)
    assert (nearest == np.arange(50)).mean() > 0.6
    assert ("fr", "en") in encoder.model.lexicons.tables
    quality = Quality(Verifier(encoder, ("fr", "en")))
    right, wrong = quality.score(french, target), quality.score(french, target[::-1])
    assert right.mean() > wrong.mean() + 0.3
    known = load(extended).languages
    assert known["fr"].pairs > 400 and known["de"] == load(place / "base").languages["de"]
    assert known["en"].pairs == known["fr"].pairs + known["de"].pairs


def test_more_text_of_a_known_language_moves_all_vectors(place: Path) -> None:
    config = dataclasses.replace(CONFIG, epochs=3, rate=0.01)
    base, old = load(place / "base"), place / "de-en" / "text.tsv"
    new = write(place / "de-en" / "more.tsv", zip(*synthetic(400, seed=5), strict=True))
    more, again = (
        train_model([TextPair(str(text))], config, place / f"on-{text.stem}", base=base)
        for text in (new, old)
    )
    source, target = synthetic(50, seed=9)
    for model in (more, again):
        assert model.vocabularies == base.vocabularies and model.verifier == base.verifier
        assert (model.parts[0].weights != base.parts[0].weights).mean() > 0.5
        quality = Quality(Verifier(Encoder(model), ("de", "en")))
        right, wrong = quality.score(source, target), quality.score(source, target[::-1])
        assert right.mean() > wrong.mean() + 0.3
    [first] = more.training["earlier"]
    assert first["fingerprint"] == base.fingerprint
    assert first["config"] == base.training["config"] != more.training["config"]
    # Text of both trainings is recorded once.
    assert again.languages == base.languages and more.training["continues"] == base.fingerprint
    assert more.languages["de"].pairs > base.languages["de"].pairs


def test_warnings_are_about_what_was_given_and_what_to_expect(place: Path) -> None:
    """Warnings about settings of the user only, and about little text and weak learning.

    The base has a temperature; the text is small, and one epoch does not learn it.
    """
    base = load(place / "base")
    own = {**base.training, "config": {**base.training["config"], "temperature": 1.6, "apart": 2}}
    base = dataclasses.replace(base, training=own)
    config = dataclasses.replace(CONFIG, epochs=1, pieces=90, temperature=1.6, apart=2)
    said: list[str] = []
    text = [TextPair(str(place / "fr-en" / "text.tsv"))]
    train_model(text, config, place / "few", base=base, given=["epochs"], report=said.append)
    warnings = [line for line in said if line.startswith("warning")]
    assert warnings[0].startswith("warning: 600 pairs are few for a new language")
    assert warnings[1:] == [line for line in warnings if "held-out mining F1" in line]
    training = next(index for index, line in enumerate(said) if line == "training")
    assert said.index(warnings[0]) < training
    said.clear()
    config = dataclasses.replace(config, epochs=0)
    given = ["temperature", "epochs"]
    train_model(text, config, place / "like", given=given, report=said.append)
    assert any("--temperature has no effect" in line for line in said)
    assert not any("--apart" in line for line in said)


def test_names_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, miner) -> None:
    monkeypatch.setattr(learn_verifier, "ENOUGH", 20)
    monkeypatch.setattr(learn_verification, "FEWEST", 100)
    monkeypatch.setattr(learn_comparer, "LEAST", 500)
    latin, cyrillic = "abdefgiklmnoprstuvzhcjyx", "абдефгиклмнопрстувзхцйыш"
    spelled, generator = str.maketrans(latin, cyrillic), np.random.default_rng(1)
    names = ["".join(generator.choice([*latin], 6)) for _ in range(700)]
    source, target = synthetic(700)
    sides = (
        [f"{text} {name}".translate(spelled) for text, name in zip(source, names, strict=True)],
        [f"{text} {name.capitalize()}" for text, name in zip(target, names, strict=True)],
    )
    text = write(tmp_path / "ru-en" / "text.tsv", zip(*sides, strict=True))
    config = dataclasses.replace(CONFIG, epochs=20)
    model = train_model([TextPair(str(text))], config, tmp_path / "base")
    assert model.names and "transliterated" in dict(model.verifier or {})["quality"]["weight"]
    french = [one.translate(OTHER) for one in source]
    more = write(tmp_path / "fr-en" / "text.tsv", zip(french, target, strict=True))
    again = "train-verifier", tmp_path / "base", "--bitext", text, "--no-comparer"
    added = "train", "--from", tmp_path / "base", "--bitext", more, "--pieces", "90"
    for command in (again, added):
        code, _, err = miner(*command, "-o", tmp_path / command[0])
        assert code == 0, err
        kept = (tmp_path / command[0] / "names.npz").read_bytes()
        assert kept == (tmp_path / "base" / "names.npz").read_bytes()
        found = Encoder.load(tmp_path / command[0])
        assert len(Quality(Verifier(found, ("ru", "en"))).score(*sides)) == 700


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--bitext", "fr-en/text.tsv", "--dimension", "8"], 1, "dimension 16, which further"),
        (["--bitext", "fr-en/text.tsv", "--recipe", "p19"], 2, "are starting points; give one"),
    ],
)
def test_faults(
    place: Path,
    miner: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(place)
    found, _, err = miner("train", "--from", "base", *arguments, "-o", place / "new")
    assert found == code and words in err.splitlines()[-1], err
    assert not (place / "new").exists()
