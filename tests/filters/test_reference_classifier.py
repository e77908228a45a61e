"""The classifier filter: its side, its directory, its errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.classifiers import made

from miner.errors import ArtifactError
from miner.filters.filter_types import MODEL, Batch, Context, Scorer
from miner.filters.registry import FILTERS
from miner.scoring.classifier import Classifier

FILTER = FILTERS["classifier"]
SOURCE = ["w1 w2", "w3", "", "unheard of"]
TARGET = ["w4", "w5 w6 w7", "w8", "w9"]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    made().save(path / "reference")
    return path


def scorer(directory: Path, **settings: Any) -> Scorer:
    values = {name: setting.default for name, setting in FILTER.settings.items()}
    values |= {"model": "reference", **settings}
    return FILTER.build(values, Context(directory=directory))


def test_of_either_side(directory: Path) -> None:
    classifier = Classifier.load(directory / "reference")
    source, target = classifier.probability(SOURCE), classifier.probability(TARGET)
    assert source[2:].tolist() == [0.5, 0.5]
    batch = Batch(SOURCE, TARGET)
    for of, expected in (
        ("source", source),
        ("target", target),
        ("both", np.minimum(source, target)),
    ):
        assert (scorer(directory, of=of)(batch) == expected).all()
    assert (scorer(directory)(batch) == target).all()


def test_no_pairs(directory: Path) -> None:
    assert scorer(directory, of="both")(Batch([], [])).shape == (0,)


def test_an_absolute_path(directory: Path, tmp_path: Path) -> None:
    score = scorer(tmp_path, model=str(directory / "reference"))
    assert (score(Batch(SOURCE, TARGET)) == scorer(directory)(Batch(SOURCE, TARGET))).all()


def test_what_is_no_classifier(directory: Path, tiny_model: Path) -> None:
    with pytest.raises(ArtifactError, match="other: no such directory; make a classifier"):
        scorer(directory, model="other")
    with pytest.raises(ArtifactError, match="but no classifier"):
        scorer(directory, model=str(tiny_model))


def test_the_row_of_the_table() -> None:
    assert FILTER.stage == MODEL and FILTER.better == "higher" and FILTER.minimum is None
    assert FILTER.settings["model"].default is None, "it must be given"
    assert FILTER.reason.format(value=0.125, bound=0.5) == "good with a probability of 0.12"
