"""Filters by external data: costs, good sentences, a classifier."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.classifiers import made

from miner.errors import ArtifactError, CorpusError, MinerError
from miner.filters.external_scores import spread
from miner.filters.filter_types import Batch, Context, Scorer
from miner.filters.registry import FILTERS
from miner.option_values import SIDES
from miner.scoring.classifier import Classifier
from miner.scoring.trigram_lm import Trigrams
from miner.text.words import tokens

GOOD = ["The cat sat on the mat.", "The dog sat on the cat.", "A dog saw the cat on a mat!"]
SOURCE = ["w1 w2", "w3", "", "unheard of"]
TARGET = ["w4", "w5 w6 w7", "w8", "w9"]


def scorer(name: str, directory: Path, **settings: Any) -> Scorer:
    given = {key: setting.default for key, setting in FILTERS[name].settings.items()}
    return FILTERS[name].build(given | settings, Context(directory=directory))


def cost(rows: list[tuple[str, str, str]]) -> list[float]:
    source, target, column = (list(side) for side in zip(*rows, strict=True))
    score = scorer("cost", Path(), column="3")
    return np.asarray(score(Batch(source, target, {"3": column}))).tolist()


def test_a_blank_row_has_the_worst_cost() -> None:
    rows = [("a", "b", "0.5"), ("", "", ""), ("", "", " -1 "), ("a", "", "inf")]
    assert cost(rows) == [0.5, np.inf, -1, np.inf] and FILTERS["cost"].better == "lower"


@pytest.mark.parametrize("row", [("a", "", ""), ("", "b", ""), ("a", "b", "x"), ("", "", "nan")])
def test_what_is_no_cost_is_told(row: tuple[str, str, str]) -> None:
    with pytest.raises(CorpusError, match="column 3: .* is not a cost"):
        cost([("a", "b", "1"), row])


@pytest.fixture
def references(tmp_path: Path) -> Path:
    path = tmp_path / "good.en"
    path.write_text("\n\n".join(GOOD) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("count", [1, 3])
def test_perplexities_are_the_models(references: Path, tmp_path: Path, count: int) -> None:
    """The model reads the configured number of references, spread over the file, on either side."""
    sentences = ["the CAT sat.", "Le chat."]
    model = Trigrams.train([tokens(text) for text in GOOD[-count:]], "it")
    expected = model.perplexity([tokens(text) for text in sentences]).tolist()
    batches = Batch(sentences, ["", "x"]), Batch(["", "x"], sentences)
    for side, batch in zip(SIDES, batches, strict=True):
        score = scorer("perplexity", tmp_path, references="good.en", sentences=count, of=side)
        assert score(batch).tolist() == expected


def test_a_side_without_tokens_is_as_bad_as_unknown_words(references: Path) -> None:
    score = scorer("perplexity", Path(), references=str(references))
    texts = ["", " \t\u00a0", "q " * 200, GOOD[0]]
    empty, blank, unknown, good = score(Batch([""] * 4, texts)).tolist()
    assert empty == blank == pytest.approx(unknown, rel=0.05)
    assert np.isfinite(empty) and empty > 3 * good
    assert score(Batch([], [])).shape == (0,)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 99, 100, 40_000])
def test_a_sample_is_spread_evenly(tmp_path: Path, most: int) -> None:
    path = tmp_path / "numbers"
    path.write_text("".join(f"{i}\n\n" for i in range(100)), encoding="utf-8")
    kept = [int(text) for text in spread(path, most)]
    assert len(kept) == min(most, 100)
    steps = np.diff([-1, *kept])
    assert steps.max() - steps.min() <= 1 and kept[-1] == 99


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere", "cannot be read"),
        ("blank", "no words"),
        ("latin", "UTF-8"),
        ("pipe", "must be a file"),
        (".", "must be a file"),
    ],
)
def test_bad_references(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "blank").write_bytes(b" \n\n")
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MinerError) as caught:
        scorer("perplexity", tmp_path, references=name)
    assert says in str(caught.value) and str(caught.value).startswith(str(tmp_path / name))
    with pytest.raises(CorpusError, match="must be a file"):
        scorer("perplexity", Path(), references="-")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models")
    made().save(path / "reference")
    return path


def test_a_classifier_of_either_side(directory: Path) -> None:
    classifier = Classifier.load(directory / "reference")
    source, target = classifier.probability(SOURCE), classifier.probability(TARGET)
    assert source[2:].tolist() == [0.5, 0.5]
    for settings, expected in (
        ({}, target),
        ({"of": "source"}, source),
        ({"of": "both"}, np.minimum(source, target)),
    ):
        score = scorer("classifier", directory, model="reference", **settings)
        assert (score(Batch(SOURCE, TARGET)) == expected).all()
        assert score(Batch([], [])).shape == (0,)


def test_what_is_no_classifier(directory: Path, tiny_model: Path) -> None:
    with pytest.raises(ArtifactError, match="other: no such directory; make a classifier"):
        scorer("classifier", directory, model="other")
    with pytest.raises(ArtifactError, match="but no classifier"):
        scorer("classifier", directory, model=str(tiny_model))
