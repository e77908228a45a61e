"""Commands on models of every encoder: train, index, search, verify, explain."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.commands import right
from support.trainings import aligned_files, synthetic

import miner_train.learn_verifier
from miner.cli import main
from miner.encoder.model import load
from miner_train.config import TrainConfig

Run = Callable[..., tuple[int, str, str]]
FAST = [
    *("--dimension", "16", "--batch", "64", "--epochs", "3", "--rate", "0.02", "--heldout", "70"),
    *("--initial", "0.1"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [*aligned_files(tmp_path_factory.mktemp("text"), synthetic(700))]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write parallel text that the training has not seen."""
    return [*aligned_files(tmp_path_factory.mktemp("corpora"), synthetic(60, seed=9))]


def trained(files: list[str], output: Path, *options: str) -> str:
    source, target = files
    arguments = ["train", "--source", source, "--target", target, "-o", str(output)]
    words = any(one.startswith(("word", "gran")) for one in options)
    pieces = [] if words else ["--pieces", "120"]
    assert main([*arguments, *FAST, *pieces, *options]) == 0
    return str(output)


@pytest.mark.parametrize(
    "encoder, more",
    [
        ("lstm-sp", []),
        ("gran-gru", ["--objective", "margin", "--margin", "0.4", "--megabatch", "3"]),
        ("word+trigram", ["--combine", "concat"]),
    ],
)
def test_mined_verified_and_explained(files, corpora, tmp_path, miner, monkeypatch, encoder, more):
    monkeypatch.setattr(miner_train.learn_verifier, "ENOUGH", 50)
    work = tmp_path / "work"
    model = trained(files, tmp_path / "model", "--encoder", encoder, *more)
    config = json.loads((tmp_path / "model" / "config.json").read_text(encoding="utf-8"))
    assert config["encoder"] == encoder and config["verification"]
    code, out, err = miner("mine", *corpora, "--model", model, "--work", work, "--threshold", 0)
    assert code == 0 and "estimate" in err
    code, out, _ = miner("search", work / "source", work / "target", "--ids")
    assert code == 0 and right(out) >= 55
    by_margin = miner("search", work / "source", work / "target", "--ids", "--rank", "margin")
    assert right(by_margin[1]) >= 55
    source, target = (Path(corpus).read_text(encoding="utf-8").splitlines() for corpus in corpora)
    code, out, _ = miner("explain", source[0], target[0] + " gibtsnicht", "--model", model)
    assert code == 0 and target[0].split()[0] in out
    code, _, err = miner("encode", corpora[0], "--model", model, "-o", tmp_path / "vectors.npy")
    vectors = np.load(tmp_path / "vectors.npy")
    assert code == 0 and vectors.shape == (60, load(model).dimension)


def test_separate_vocabularies_want_a_side(files, corpora, tmp_path, miner):
    model = trained(files, tmp_path / "model", "--vocabularies", "separate")
    code, _, err = miner("index", corpora[0], "--model", model, "-o", tmp_path / "a")
    assert code == 1
    assert "source or target (--side)" in err.splitlines()[-1]
    for corpus, side in zip(corpora, ("source", "target"), strict=True):
        place = tmp_path / side
        assert miner("index", corpus, "--model", model, "--side", side, "-o", place)[0] == 0
    code, out, err = miner("search", tmp_path / "source", tmp_path / "target", "--ids")
    assert code == 0 and right(out) >= 50 and "cannot verify pairs" in err
    mined = miner("mine", *corpora, "--model", model, "--work", tmp_path / "w", "--threshold", 0)
    assert mined[0] == 0
    again = miner("search", tmp_path / "w" / "source", tmp_path / "w" / "target", "--ids")
    assert again[1] == out
    adding = ["index", corpora[1], "--model", model, "--side", "target", "--add"]
    code, _, err = miner(*adding, "-o", tmp_path / "source")
    assert code == 1 and "--side source, not with target" in err


def test_like_takes_over_a_configuration(files: list[str], tmp_path: Path, miner: Run) -> None:
    first = trained(files, tmp_path / "first", "--encoder", "word", "--types", "50")
    arguments = ["train", "--source", files[0], "--target", files[1], "--like", first]
    code, _, _ = miner(*arguments, "-o", tmp_path / "second", "--seed", 2)
    assert code == 0
    one, other = (load(path).training["config"] for path in (first, tmp_path / "second"))
    assert other == {**one, "seed": 2} and TrainConfig.from_dict(other).types == 50
    # Unknown configurations are refused.
    path = tmp_path / "first" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["training"]["config"]["depth"] = 3
    path.write_text(json.dumps(config), encoding="utf-8")
    code, _, err = miner(*arguments, "-o", tmp_path / "third")
    assert code == 1 and "unknown depth" in err


def test_a_model_that_was_kept_from_test_sentences(files, tmp_path, miner):
    lines = Path(files[1]).read_text(encoding="utf-8").splitlines()
    tests = tmp_path / "tests.txt"
    tests.write_text("\n".join(f"{line.upper()} !" for line in lines[:40]) + "\n", encoding="utf-8")
    assert len(set(lines[:40])) == 40 and lines.count(lines[0]) == 1
    rest = [tmp_path / "rest.a", tmp_path / "rest.b"]
    for path, file in zip(rest, files, strict=True):
        kept = Path(file).read_text(encoding="utf-8").splitlines()[40:]
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    model = trained(files, tmp_path / "model", "--without", str(tests))
    training = load(model).training
    assert training["excluded"] == [{"name": "tests.txt", "sentences": 40}]
    (text,) = training["text"]
    assert text["pairs"] == 660 and text["with excluded sentences"] == 40
    # Excluded text has no effect: the model equals one of text without it.
    other = trained([str(path) for path in rest], tmp_path / "other")
    assert load(other).fingerprint == load(model).fingerprint
    source, target = files
    again = ["train", "--source", source, "--target", target, "--like", model, "--epochs", "0"]
    code, _, err = miner(*again, "-o", str(tmp_path / "again"))
    assert code == 0 and "was trained with excluded sentences, which were not given" in err
    tests.write_text("of none of the pairs\n", encoding="utf-8")
    code, _, err = miner(*again, "-o", str(tmp_path / "more"), "--without", str(tests))
    assert code == 0 and f"warning: no pair has a sentence of {tests}" in err
    tests.write_bytes(b"not UTF-8: \xff\n")
    code, _, err = miner(*again, "-o", str(tmp_path / "no"), "--without", str(tests))
    assert code == 1 and "tests.txt, line 1" in err and "--on-error" not in err
