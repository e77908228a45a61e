"""``miner evaluate``: single tasks, `all`, `sentences`."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.evaluated_models import write_every
from support.files import write

import miner as package
from miner.cli.evaluate import TASKS
from miner.encoder.encoder import Encoder

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def data(german: list[str], english: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small test sets of every evaluation, as `miner data get` lays them out."""
    return write_every(tmp_path_factory.mktemp("data"), german, english)


def metrics_of(record: dict[str, Any], task: str, model: int = 0) -> dict[tuple[str, str], float]:
    found = record["models"][model]["evaluations"][task]["figures"]
    return {(one["set"], one["metric"]): one["value"] for one in found}


def test_all(miner: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miner.precision.decoys.DRAWS", 10)  # enough for 60 sentences
    code, out, err = miner("evaluate", "all", "--data", data, "--json", tmp_path / "all.json")
    assert code == 0, err
    record = json.loads((tmp_path / "all.json").read_text())
    assert (record["miner"], record["data"]) == (package.__version__, str(data))
    (model,) = record["models"]
    assert model["model"] == "default"
    assert model["fingerprint"] == Encoder.load("default").fingerprint
    assert tuple(model["evaluations"]) == TASKS and "differences" not in record
    for name in TASKS:
        assert f"\n{name} " in out
    assert metrics_of(record, "tatoeba")["de-en", "both ways by margin"] > 0.9
    assert metrics_of(record, "noisy")["de-en.web", "auc by quality"] > 0.9
    assert metrics_of(record, "bucc")["bucc-tiny de-en", "f1 by probability"] > 0.5
    assert metrics_of(record, "sts")["2012, 1 of 5 sets", "pearson"] > 0.8
    assert metrics_of(record, "paraphrase")["msrpc", "accuracy by cosine"] > 0.9
    assert all(value > 0 for value in metrics_of(record, "speed").values())
    # The summary has the main metrics of each task, without notes.
    value = metrics_of(record, "tatoeba")["de-en", "both ways by cosine"]
    assert f"  {value:.3f}  " in out and "there by cosine" not in out
    assert "oracle" not in out and "missing: 2013: not there" in out


def test_no_sets_at_all(miner: Run, tmp_path: Path) -> None:
    for command in (["all"], ["sentences", "-o", tmp_path / "laser"]):
        code, out, err = miner("evaluate", *command, "--data", tmp_path)
        assert (code, out) == (1, "")
        assert err.splitlines()[-1] == (
            f"miner: error: {tmp_path}: holds no test set; 'miner data list' lists public ones"
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [*TASKS, "all"])
def test_a_directory_that_does_not_exist(miner: Run, tmp_path: Path, name: str) -> None:
    code, out, err = miner("evaluate", name, "--data", tmp_path / "nowhere")
    assert (code, out) == (1, "") and err.count("\n") == 1
    assert f"{tmp_path / 'nowhere'}: no such directory; 'miner data get'" in err


def test_vectors_from_elsewhere_are_a_model(miner, data, tmp_path, german):
    """Precomputed vectors of the default model give its metrics."""
    place = tmp_path / "laser"
    place.mkdir()
    code, out, err = miner("evaluate", "sentences", "--data", data, "-o", place)
    assert (code, out) == (0, "")
    assert err == f"{place / 'sentences.txt'}: 120 sentences of {', '.join(TASKS[:-1])}\n"
    code, _, err = miner("evaluate", "sts", "--data", data, "--model", place)
    assert code == 1 and "no vectors.npy" in err
    texts, vectors = place / "sentences.txt", place / "vectors.npy"
    assert miner("encode", texts, "--dtype", "float32", "-o", vectors)[0] == 0

    own, theirs = tmp_path / "own.json", tmp_path / "theirs.json"
    for name in ("sts", "tatoeba"):
        assert miner("evaluate", name, "--data", data, "--json", own)[0] == 0
        options = ["--data", data, "--model", place, "--json", theirs]
        assert miner("evaluate", name, *options)[0] == 0
        found = [json.loads(path.read_text()) for path in (own, theirs)]
        ours, others = (metrics_of(record, name) for record in found)
        assert ours == others
        assert len(found[1]["models"][0]["fingerprint"]) == 16
    code, _, err = miner("evaluate", "sentences", "--data", data, "-o", place)
    assert code == 1 and "has vectors.npy, which new sentences would not fit" in err
    np.save(place / "other.npy", np.zeros((1, 1)))
    (place / "other.npy").rename(place / "vectors.h5")
    code, _, err = miner("evaluate", "sts", "--data", data, "--model", place)
    assert code == 1 and "has vectors.npy and vectors.h5; remove the older" in err


def test_a_faulty_file_does_not_stop_other_evaluations(miner, data, tmp_path, tiny_model):
    shutil.copytree(data / "tatoeba", tmp_path / "tatoeba")
    write(tmp_path / "noisy" / "de-en.web-labelled.tsv", [("a", "b", 1), ("a", "b", 2)])
    path = tmp_path / "all.json"
    options = ["--data", tmp_path, "--model", tiny_model, "--json", path]
    code, out, err = miner("evaluate", "all", *options)
    assert code == 1 and "\ntatoeba " in out
    assert err.splitlines()[-1].startswith("miner: error: ") and "line 2: the label is 2" in err
    (model,) = json.loads(path.read_text())["models"]
    assert list(model["evaluations"]) == ["tatoeba", "speed"]
    left_out = json.loads(path.read_text())["left out"]
    (fault,) = (one for one in left_out if one["evaluation"] == "noisy")
    assert "line 2: the label is 2" in fault["reason"] and fault["model"] == str(tiny_model)
    assert f"left out: noisy of {tiny_model}: {fault['reason']}\n" in out


def test_all_left_out_is_an_error_and_a_bad_output_is_found_first(miner, data, tmp_path):
    options = ["--data", data, "--json", tmp_path / "nowhere" / "out.json"]
    code, out, err = miner("evaluate", "all", *options)
    assert (code, out) == (1, "") and "out.json: cannot be written: no such directory" in err
    (tmp_path / "sentences.txt").write_text("one\n")
    np.save(tmp_path / "vectors.npy", np.eye(1, dtype=np.float32))
    shutil.copytree(data / "tatoeba", tmp_path / "sets" / "tatoeba")
    code, _, err = miner("evaluate", "all", "--data", tmp_path / "sets", "--model", tmp_path)
    assert code == 1 and "nothing could be evaluated" in err.splitlines()[-1]


def test_without_scikit_learn(miner, data, tmp_path, tiny_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.neural_network", None)
    options = ["--data", data, "--model", tiny_model]
    code, out, err = miner("evaluate", "paraphrase", *options)
    assert (code, out) == (1, "") and "pip install" in err
    shutil.copytree(data / "paraphrase", tmp_path / "paraphrase")
    shutil.copytree(data / "noisy", tmp_path / "noisy")
    code, out, err = miner(
        "evaluate", "all", "--data", tmp_path, *options[2:], "--against", "default"
    )
    assert code == 0 and "\nnoisy " in out
    for model in (tiny_model, "default"):
        assert f"left out: paraphrase of {model}: the classifier needs" in out


def test_labelled(miner: Run, tmp_path: Path) -> None:
    rows = [(n / 10, f"Satz {n}.", f"Sentence {n}.", "yes" if n > 4 else "no") for n in range(10)]
    scored, sheet = tmp_path / "scored.tsv", tmp_path / "sheet.tsv"
    scored.write_text("".join(f"{a}\t{b}\t{score}\n" for score, a, b, _ in rows), encoding="utf-8")
    lines = ["source\ttarget\tanswer\n", *(f"{a}\t{b}\t{said}\n" for _, a, b, said in rows)]
    sheet.write_text("".join([*lines, "not\there\tno\n"]), encoding="utf-8")
    code, out, err = miner("evaluate", "labelled", scored, sheet, "--json", tmp_path / "l.json")
    assert code == 0 and "10 of 11 labels" in err and "AUC: 1.000 (1.000-1.000)" in out
    record = json.loads((tmp_path / "l.json").read_text())
    assert 0.4 < record["best"]["threshold"] < 0.5 and record["best"]["f1"] == 1
    code, out, _ = miner("evaluate", "labelled", scored, sheet, "--score-col", 3)
    assert code == 0 and "AUC: 1.000" in out
    sheet.write_text("".join(lines[:5]), encoding="utf-8")
    code, _, err = miner("evaluate", "labelled", scored, sheet)
    assert code == 1 and "0 right and 4 wrong pairs" in err
    scored.write_text("a\tb\n", encoding="utf-8")
    code, _, err = miner("evaluate", "labelled", scored, sheet)
    assert code == 1 and "no column of scores" in err
