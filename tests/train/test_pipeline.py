"""From text to a model: what is said of it, and that a killed training goes on."""

import dataclasses

import pytest
from support.invented import synthetic
from support.trainings import Stop

import miner_train.loop
import miner_train.pipeline
from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError, CorpusError
from miner_train.config import TrainConfig
from miner_train.pipeline import train_model
from miner_train.read import TextPair

FROM_TEXT = TrainConfig(pieces=120, dimension=16, batch=64, epochs=2, rate=0.02, heldout=70)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    directory = tmp_path_factory.mktemp("text")
    for name, side in zip(("a", "b"), synthetic(700), strict=True):
        (directory / name).write_text("\n".join(side) + "\n", encoding="utf-8")
    return TextPair(str(directory / "a"), str(directory / "b"))


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory):
    """The model of an uninterrupted training."""
    output = tmp_path_factory.mktemp("whole") / "model"
    model = train_model([text], FROM_TEXT, output)
    assert list(output.parent.iterdir()) == [output]  # no checkpoint stays
    return model


def test_model_says_what_made_it(whole):
    assert TrainConfig.from_dict(whole.training["config"]) == FROM_TEXT
    assert whole.training["text"] == [{"name": "a", "pairs": 700, "empty": 0, "not UTF-8": 0}]
    assert whole.training["held-out pairs"] == 70
    assert whole.training["pairs"] == 630
    assert whole.training["held-out mining F1"] > 0.5
    assert whole.threshold > 0
    assert Encoder(whole).encode(["gibts nicht"]).shape == (1, 16)


def kill(text, output, config=FROM_TEXT):
    def progress(stage, done, total):
        if done > 1000:
            raise Stop

    with pytest.raises(Stop):
        train_model([text], config, output, progress=progress)


def test_killed_then_repeated_is_the_same_model(text, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(miner_train.loop, "CHECKPOINT_EVERY", -1.0)
    kill(text, tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == [".model.training"]
    monkeypatch.setattr(miner_train.pipeline, "learn_vocabularies", None)  # not learned again
    lines, done = [], []
    model = train_model(
        [text],
        FROM_TEXT,
        tmp_path / "model",
        report=lines.append,
        progress=lambda *event: done.append(event[1]),
    )
    assert f"going on from {tmp_path / '.model.training'}" in lines
    assert min(done) > 1000
    assert model.fingerprint == whole.fingerprint
    assert (
        model.parts[0].weights == whole.parts[0].weights
    ).all() and model.threshold == whole.threshold
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_other_options_or_text_are_refused_until_restart(text, whole, tmp_path):
    kill(text, tmp_path / "model", dataclasses.replace(FROM_TEXT, rate=0.01))
    with pytest.raises(ArtifactError, match=r"\.model\.training.*--restart"):
        train_model([text], FROM_TEXT, tmp_path / "model")
    swapped = TextPair(text.target, text.source)
    with pytest.raises(ArtifactError, match=r"\.model\.training"):
        train_model([swapped], dataclasses.replace(FROM_TEXT, rate=0.01), tmp_path / "model")
    model = train_model([text], FROM_TEXT, tmp_path / "model", restart=True)
    assert model.fingerprint == whole.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_too_few_pairs_leave_nothing_behind(text, whole, tmp_path):
    """So that the right text, given next, is not refused for an old checkpoint."""
    (tmp_path / "one").write_text("bada gefe\n", encoding="utf-8")
    one = TextPair(str(tmp_path / "one"), str(tmp_path / "one"))
    with pytest.raises(CorpusError, match="only 1 .*too few"):
        train_model([one], FROM_TEXT, tmp_path / "model")
    assert train_model([text], FROM_TEXT, tmp_path / "model").fingerprint == whole.fingerprint
