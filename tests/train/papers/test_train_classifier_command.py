"""``miner train-classifier``: output, replaced directories, refused input."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.classified import topics
from support.files import whole, write

from miner.scoring.classifier import Classifier


@pytest.fixture
def command(tmp_path, miner):
    good, bad = (write(tmp_path / name, text) for name, text in zip("gb", topics(), strict=True))
    fixed = ("train-classifier", "--good", good, "--bad", bad, "-o", tmp_path / "model")
    yield lambda *arguments: miner(*fixed, *arguments)


def test_the_command(tmp_path: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = command(
        *("--units", "word", "--dimension", 16, "--epochs", 3, "--rate", 0.02, "--batch", 20),
        *("--heldout", 50, "--keep-case", "--types", 60, "--threads", 2),
    )
    assert (code, out) == (0, ""), err
    assert "epoch 3 of 3: loss " in err and "held-out accuracy 1.0000 (majority 0.5000)" in err
    last = err.splitlines()[-1]
    assert last.startswith(f"{tmp_path / 'model'}: a classifier, word, ")
    config = json.loads((tmp_path / "model" / "config.json").read_text())["training"]["config"]
    assert config["heldout"] == 50 and config["fold_case"] is False and config["types"] == 60
    assert Classifier.load(tmp_path / "model").probability(["sea1 sea2"])[0] > 0.5
    before = whole(tmp_path / "model")
    code, _, err = command("--units", "word")
    assert code == 2 and "is a classifier already" in err and whole(tmp_path / "model") == before


def test_usage(command: Callable[..., tuple[int, str, str]]) -> None:
    for arguments, message in (
        (("--heldout", 0), "--heldout = 0 is neither a share nor a number"),
        (("--heldout", 2.5), "--heldout = 2.5 is neither a share nor a number"),
        (("--test", 1.0), "--test = 1 is neither a share nor a number"),
        (("--epochs", 0), "--epochs = 0 is out of range"),
        (("--types", 50), "--types is for --units word"),
        (("--units", "word", "--pieces", 50), "--pieces is for --units piece"),
    ):
        code, _, err = command(*arguments)
        assert code == 2 and message in err, err
