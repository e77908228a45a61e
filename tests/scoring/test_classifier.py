"""miner.scoring.classifier agrees with its definition for any batch; damaged files are refused."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.classifiers import DIMENSION, STATES, WORDS, layer, made

from miner.encoder.model import Model
from miner.encoder.model_files import CLASSIFIER, CONFIG
from miner.errors import ArtifactError
from miner.scoring.classifier import Classifier


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def reference(model: Model, sentence: Sequence[int]) -> float:
    """Compute P(good) of a sentence from its word numbers, by the paper's formulas."""
    tokens = model.parts[0].table()[list(sentence)].astype(np.float64)
    if not len(tokens):
        return 0.5
    vector = tokens.mean(axis=0)
    if network := model.parts[0].network:
        h, c, states = np.zeros(STATES), np.zeros(STATES), []
        for x in tokens:
            gates = network["ways.0.by_input.weight"] @ x + network["ways.0.by_input.bias"]
            i, f, g, o = np.split(gates + network["ways.0.by_state.weight"] @ h, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            states.append(h)
        vector = np.mean(states, axis=0)
    logits = model.classifier["weight"] @ vector + model.classifier["bias"]
    bad, good = np.exp(logits - logits.max())
    return float(good / (bad + good))


def text(sentence: Sequence[int]) -> str:
    return " ".join(WORDS[number] for number in sentence)


def refused(model: Model) -> str:
    with pytest.raises(ArtifactError) as caught:
        Classifier(model)
    return str(caught.value)


@pytest.fixture(scope="module", params=["word", "lstm"])
def classifier(request: pytest.FixtureRequest) -> Classifier:
    return Classifier(made(request.param), threads=2)


@given(
    sentences=st.lists(st.lists(st.integers(0, len(WORDS) - 1), max_size=9), max_size=7),
    data=st.data(),
)
def test_the_definition_whatever_the_batch(classifier, sentences, data):
    texts = [text(sentence) for sentence in sentences]
    found = classifier.probability(texts)
    assert found.shape == (len(texts),) and found.dtype == np.float32
    expected = [reference(classifier.encoder.model, sentence) for sentence in sentences]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    order = data.draw(st.permutations(range(len(texts))))
    again = classifier.probability([texts[row] for row in order])
    assert (again == found[np.array(order, dtype=int)]).all()
    for row, one in enumerate(texts):
        assert classifier.probability([one])[0] == found[row]


def test_without_a_known_word(classifier: Classifier) -> None:
    """Its probability is one half; the bias would reflect the training text."""
    found = classifier.probability(["", "   ", "unheard of", "w1"])
    assert (found[:3] == 0.5).all() and found[3] != 0.5


def test_extremes_are_probabilities() -> None:
    sharp = {name: array * np.float32(1e6) for name, array in layer(DIMENSION).items()}
    found = Classifier(made(classifier=sharp)).probability(WORDS)
    assert np.isfinite(found).all() and set(found.tolist()) == {0.0, 1.0}


def test_an_average_needs_no_torch(tmp_path: Path) -> None:
    made().save(tmp_path / "c")
    script = (
        "import sys\nfrom miner.scoring.classifier import Classifier\n"
        f"Classifier.load({str(tmp_path / 'c')!r}).probability(['w1 w2'])\n"
        "assert 'torch' not in sys.modules"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr


def test_parts_that_do_not_fit() -> None:
    good = layer(DIMENSION)
    for wrong in (
        {"weight": good["weight"]},
        {**good, "weight": good["weight"][:, 1:]},
        {**good, "weight": good["weight"][:1]},
        {**good, "bias": good["bias"][:1]},
    ):
        assert "does not fit vectors of 12 numbers" in refused(made(classifier=wrong))
    for value in (np.nan, np.inf):
        bias = np.array([0, value], np.float32)
        assert "is not finite" in refused(made(classifier={**good, "bias": bias}))


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ([1], "'classification' is no table"),
        ({"other": "0"}, "lists an unknown file 'other'"),
        ({CLASSIFIER: "0"}, "does not match the fingerprint"),
        (None, "not a classifier"),  # a pickle with a correct digest
    ],
)
def test_damaged_on_disk(tmp_path: Path, listed: object, message: str) -> None:
    path = tmp_path / "c"
    made().save(path)
    np.savez(path / CLASSIFIER, weight=np.array([{}], dtype=object), bias=np.zeros(2))
    config = json.loads((path / CONFIG).read_text())
    right = {CLASSIFIER: hashlib.sha256((path / CLASSIFIER).read_bytes()).hexdigest()}
    config["classification"] = right if listed is None else listed
    (path / CONFIG).write_text(json.dumps(config))
    with pytest.raises(ArtifactError, match=message):
        Classifier.load(path)
