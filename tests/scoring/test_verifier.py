"""Verifier: meaning of its features, its functions and files."""

import dataclasses
import json
import lzma
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tokens import random_lexicon

from miner.encoder.encoder import Encoder
from miner.encoder.model import load
from miner.encoder.model_files import DECOYS, LEXICON, VERIFIER
from miner.errors import ArtifactError
from miner.knn.neighbors import Neighbors
from miner.scoring.context_features import (
    CONTEXT_FEATURES,
    MAX_LEAD,
    BestLogits,
    best_logits,
    context_features,
    two_nearest,
)
from miner.scoring.logistic import Logistic, sigmoid
from miner.scoring.margin import candidates
from miner.scoring.verifier import Verifier


def test_a_lexicon_that_contradicts_itself_is_refused() -> None:
    lexicon = random_lexicon(np.random.default_rng(5), 30)
    for change in (
        {"pieces": lexicon.pieces + 30},
        {"offsets": lexicon.offsets[:-1]},
        {"frequency": np.zeros(30, np.float32)},
        {"probability": lexicon.probability + 1},
    ):
        with pytest.raises(ValueError, match="contradict"):
            dataclasses.replace(lexicon, **change)


def lists(similarity: list[list[float]], row: list[list[int]]) -> Neighbors:
    return Neighbors(np.array(similarity, np.float32), np.array(row))


def test_leads_gaps_and_ranks() -> None:
    """Two sources, two targets: (0, 0) is the best pair of both, (1, 1) has one rival."""
    forward = lists([[0.9, 0.4], [0.5, 0.3]], [[0, 1], [1, 0]])
    backward = lists([[0.9, -np.inf], [0.5, 0.4]], [[0, -1], [1, 0]])
    found = candidates(forward, backward)
    pairs = list(zip(found.source_row.tolist(), found.target_row.tolist(), strict=True))
    assert pairs == [(0, 0), (0, 1), (1, 0), (1, 1)]
    alone = np.array([3.0, -1.0, -2.0, 1.0])
    best = best_logits(found, alone, (2, 2))
    nearest = two_nearest(forward), two_nearest(backward)
    columns = context_features(found, nearest, 2, alone, best).T
    features = dict(zip(CONTEXT_FEATURES, columns, strict=True))
    assert features["alone"].tolist() == alone.tolist()
    # (0, 0): leads (0, 1) by 4 and (1, 0) by 5; (1, 1): (1, 0) by 3 and (0, 1) by 2.
    assert features["lead"].tolist() == [4.5, -3.0, -4.0, 2.5]
    assert features["lead_min"].tolist() == [4.0, -4.0, -5.0, 2.0]
    assert (features["lead_second"] == MAX_LEAD).all()  # no sentence has two rivals
    np.testing.assert_allclose(features["gap_min"], [0.5, -0.5, -0.6, 0.1], atol=1e-6)
    np.testing.assert_allclose(features["rank"], np.log([1, 2, 3, 1]), atol=1e-6)


@given(st.integers(0, 99), st.lists(st.integers(0, 40), max_size=3))
def test_the_best_logits_are_the_three_best_of_each_sentence(seed, sizes):
    """For any parts, with ties, and with sentences of one candidate or none."""
    generator = np.random.default_rng(seed)
    found, every = BestLogits(9), [[-np.inf] * 3 for _ in range(9)]
    for size in sizes:
        row, logit = generator.integers(0, 9, size), generator.integers(-5, 5, size) / 2
        found.add(row, logit)
        for place, value in zip(row.tolist(), logit.tolist(), strict=True):
            every[place].append(value)
    expected = [sorted(values, reverse=True)[:3] for values in every]
    np.testing.assert_array_equal(found.best, expected)


def test_sentences_without_tokens_have_features(verifying_model: Path) -> None:
    verifier = Verifier(Encoder.load(verifying_model))
    left, right = verifier.tokenize_text(["", "漢字", "12"]), verifier.tokenize_text(["Haus", ""])
    source, target = (grid.ravel() for grid in np.mgrid[:3, :2])
    assert np.isfinite(verifier.tokens.pair_features(left, right, source, target)).all()
    assert len(verifier.tokenize_text([])) == 0


def test_taking_and_joining_texts(verifying_model: Path, german: list[str]) -> None:
    verifier = Verifier(Encoder.load(verifying_model))
    whole = verifier.tokenize_text(german)
    joined = verifier.tokenize_text(german[:20]).join(verifier.tokenize_text(german[20:]))
    taken = whole.take(np.arange(60))
    for field in dataclasses.fields(whole):
        assert (getattr(joined, field.name) == getattr(whole, field.name)).all()
        assert (getattr(taken, field.name) == getattr(whole, field.name)).all()
    assert whole.take(np.array([3, 3])).characters.tolist() == [len(german[3])] * 2


def test_logistic_is_what_it_says() -> None:
    function = Logistic(("a", "b"), 0.5, np.array([2.0, -1.0]), np.array([1.0, 0.0]))
    features = np.array([[1, 0], [2, 3]], dtype=np.float32)
    assert function.logit(features).tolist() == [0.5, -0.5]
    assert function.parts(features).tolist() == [[0, 0], [2, -3]]
    again = Logistic.from_dict(json.loads(json.dumps(function.as_dict())), ("a", "b"))
    assert again.logit(features).tolist() == [0.5, -0.5]
    with pytest.raises(ValueError, match="other features"):
        Logistic.from_dict(function.as_dict(), ("a", "c"))
    broken = function.as_dict() | {"intercept": float("nan")}
    with pytest.raises(ValueError, match="not finite"):
        Logistic.from_dict(broken, ("a", "b"))
    assert sigmoid(np.array([-800.0, 0.0, 800.0])).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("name", [LEXICON, VERIFIER, DECOYS])
def test_an_altered_verifier_is_refused(verifying_model: Path, tmp_path: Path, name: str) -> None:
    copy = tmp_path / "model"
    shutil.copytree(verifying_model, copy)
    with open(copy / name, "ab") as file:
        file.write(b"x")
    with pytest.raises(ArtifactError, match=f"{name}: does not match"):
        load(copy)
    (copy / name).unlink()
    with pytest.raises(ArtifactError, match=f"{name}: cannot be read"):
        load(copy)


def test_decoys_that_changed_since_are_refused(verifying_model: Path, tmp_path: Path) -> None:
    model = load(shutil.copytree(verifying_model, tmp_path / "model"))
    (tmp_path / "model" / DECOYS).write_bytes(lzma.compress(b"other\n"))
    with pytest.raises(ArtifactError, match=f"{DECOYS}: does not match"):
        model.read_decoys()
