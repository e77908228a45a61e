"""Tuned bounds of a filter: rows of the grid, and the command."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.files import write
from support.trainings import synthetic

from miner.errors import CorpusError
from miner_train.config import TrainConfig
from miner_train.development import GradedPairs
from miner_train.papers import tune_bounds
from miner_train.papers.tune_bounds import tune

CONFIG = TrainConfig(
    encoder="word", dimension=16, batch=20, epochs=6, rate=0.03, heldout=0, negatives_from="either"
)


def paraphrases() -> tuple[list[str], list[str], np.ndarray]:
    """Return good pairs with high scores, and shuffled pairs with low scores."""
    source, target = synthetic(200)
    order = np.random.default_rng(1).permutation(100)
    bad = [target[row] for row in order]
    scores = np.r_[np.full(100, 0.2), np.full(100, 0.8)]
    return source, [*bad, *target[100:]], scores


def graded() -> GradedPairs:
    source, target = synthetic(200)
    first, second = source[100:160] * 2, [*target[100:160], *target[130:160], *target[100:130]]
    return GradedPairs(first, second, np.r_[np.full(60, 5.0), np.zeros(60)])


def test_good_pairs_teach_more() -> None:
    source, target, scores = paraphrases()
    said: list[str] = []
    grid = [(0.0, 0.5), (0.5, 1.0), (0.9, 1.0)]
    found = tune((source, target), scores, grid, [graded()], CONFIG, 80, said.append)
    assert [one.bounds for one in found] == grid
    assert [one.within for one in found] == [100, 100, 0]
    worse, better, none = (one.correlation for one in found)
    assert none is None and worse is not None and better is not None and better > worse + 0.3
    assert said[2] == "0.9 to 1: 0 pairs, too few pairs"
    again = tune((source, target), scores, grid[1:2], [graded()], CONFIG, 80)
    assert again[0].correlation == better
    twice = [*source[:100], *source[100:150] * 2]
    halved = tune((twice, target), scores, grid[:2], [graded()], CONFIG, 50)
    assert [one.within for one in halved] == [100, 50]  # one translation per reference
    scores[:] = np.nan
    with pytest.raises(CorpusError, match="no bounds hold 80 pairs, at most 0 do"):
        tune((source, target), scores, grid, [graded()], CONFIG, 80)


def test_a_classifier_judges_the_translation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Judge:
        def probability(self, sentences: list[str]) -> np.ndarray:
            return np.array([len(text) / 10 for text in sentences])

    monkeypatch.setattr(tune_bounds.Classifier, "load", lambda path: Judge())
    (tmp_path / "p.tsv").write_text("a reference\tabc\nanother\tabcdef\n")
    sides, scores, grid = tune_bounds.read_scored(str(tmp_path / "p.tsv"), "classifier", "judge")
    assert sides[1] == ["abc", "abcdef"] and scores.tolist() == [0.3, 0.6]
    assert grid[:2] == ((0.0, 1.0), (0.1, 1.0)) and len(grid) == 10


def test_the_command(tmp_path: Path, miner: Callable[..., tuple[int, str, str]]) -> None:
    source, target, _ = paraphrases()
    rows = zip(source[100:], target[100:], strict=True)
    table = write(tmp_path / "p.tsv", [(s, t, f"0.{len(s) % 9}") for s, t in rows])
    grades = graded()
    rows = zip(grades.score, grades.first, grades.second, strict=True)
    dev = write(tmp_path / "dev.tsv", rows)
    base = ["paraphrase", "tune", table, "--grades", dev, "--epochs", 1, "--dimension", 8]
    code, out, err = miner(*base, "--by", "length", "--pairs", 60, "--json", tmp_path / "f.json")
    assert code == 0, err
    assert "0 to 10" in out and "10 to 20" in out
    record = json.loads((tmp_path / "f.json").read_text())
    assert record["rows"][0]["within"] == 100 and record["rows"][0]["correlation"] is not None
    code, out, err = miner(*base, "--by", "cost", "--pairs", 5, "--recipe", "p18", "--types", 99)
    assert code == 0 and "0 to inf" in out, err
    code, _, err = miner(*base, "--by", "bleu", "--pairs", 5000)
    assert code == 1 and "no bounds hold 5,000 pairs, at most 100 do" in err
    for by, option in (("perplexity", "--references"), ("classifier", "--classifier")):
        code, _, err = miner(*base, "--by", by)
        assert code == 2 and f"{option} belongs to --by {by}" in err
