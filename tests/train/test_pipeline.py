"""From text to a model in one call, and refused continuations of a stopped training."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from support.trainings import Stop, aligned_files, synthetic

import miner
from miner.encoder.encoder import Encoder
from miner.errors import ArtifactError
from miner_train.config import TrainConfig
from miner_train.pipeline import train_model
from miner_train.read import TextPair

FROM_TEXT = TrainConfig(pieces=120, dimension=16, batch=64, epochs=2, rate=0.02, heldout=70)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return TextPair(*aligned_files(tmp_path_factory.mktemp("text"), synthetic(700)))


@pytest.fixture(scope="module")
def whole(text, tmp_path_factory):
    """Train the model without interruption."""
    output = tmp_path_factory.mktemp("whole") / "model"
    model = train_model([text], FROM_TEXT, output)
    assert list(output.parent.iterdir()) == [output]  # the checkpoint is removed
    return model


def test_one_call_trains_on_files_and_on_pairs(text, whole, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    sides = [Path(side).read_text("utf-8").splitlines() for side in (text.source, text.target)]
    given = ((text.source, text.target), (zip(*sides, strict=True),), sides)
    for number, one in enumerate(given):
        encoder = miner.train(*one, output=tmp_path / f"model{number}", config=FROM_TEXT)
        assert np.array_equal(encoder.encode(sides[0][:9]), Encoder(whole).encode(sides[0][:9]))


def kill(text, output, config=FROM_TEXT):
    def progress(stage, done, total):
        if done > 1000:
            raise Stop

    with pytest.raises(Stop):
        train_model([text], config, output, progress=progress)


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


def test_a_file_that_is_held_out_gives_words_and_is_not_trained_on(text, whole, tmp_path):
    """Its pairs are used to learn the verifier and the bounds."""
    apart = TextPair(*aligned_files(tmp_path, synthetic(90, seed=7)), held_out=True)
    lines: list[str] = []
    model = train_model([text, apart], FROM_TEXT, tmp_path / "model", report=lines.append)
    assert model.training["text"][1]["held out"] is True
    assert model.training["held-out pairs"] == whole.training["held-out pairs"] + 90
    assert model.training["pairs"] == whole.training["pairs"]
