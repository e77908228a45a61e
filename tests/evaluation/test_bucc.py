"""miner.evaluation.bucc and mining_sets: the BUCC protocol, and mteb's retrieval task."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from support.evaluated_models import Fixed, Recording, write_hidden
from support.files import write
from support.sides import QUICK

from miner.errors import CorpusError
from miner.evaluation import bucc, mining_sets
from miner.evaluation.evaluated_model import MinerModel
from miner.evaluation.metrics import best_threshold, evaluate

GOLD = {"training": [(i, i) for i in range(0, 60, 2)], "test": [(i, i) for i in range(1, 60, 2)]}


def lay_out(
    directory: Path,
    german: list[str],
    english: list[str],
    pair: str = "de-en",
    splits: tuple[str, ...] = ("training", "test"),
    golds: tuple[str, ...] = ("training", "test"),
    suffix: str = "",
) -> Path:
    """Write the small text as both splits, with half of its pairs as gold."""
    for split in splits:
        gold = GOLD[split] if split in golds else None
        write_hidden(directory, pair, split, (german, english), gold, suffix)
    return directory


@pytest.fixture(scope="module")
def data(german: list[str], english: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hidden")
    lay_out(place / "bucc2018" / "de-en", german, english)
    return place


@pytest.fixture(scope="module")
def verifying_model(verifying_model: Path) -> MinerModel:
    return MinerModel(str(verifying_model), threads=2)


def empty_sets(data: Path, *paths: str) -> Path:
    for path in paths:
        write(data / path, [("a", "b")])
    return data


def test_sets_behind_links_to_folders(tmp_path: Path) -> None:
    empty_sets(tmp_path / "other", "de-en/de-en.training.gold")
    (tmp_path / "data/bucc2018").mkdir(parents=True)
    (tmp_path / "data/bucc2018/de-en").symlink_to(tmp_path / "other/de-en")
    assert [one.name for one in mining_sets.sets(tmp_path / "data")] == ["bucc2018 de-en"]


def test_all_sets_are_found_and_one_file_once(tmp_path: Path) -> None:
    names = "bucc2018/fr-en/fr-en", "bucc2018/de-en/de-en", "bucc-style/de-en"
    data = empty_sets(tmp_path, *(f"{one}.training.gold" for one in names))
    empty_sets(data, "bucc2018/de-en/de-en.training.gold.xz", "other/zh-en.training.gold")
    empty_sets(data, "bucc2018/de-en/de-en.training.gold.md5")
    found = [task.name for task in mining_sets.sets(data)]
    assert found == ["bucc-style de-en", "bucc2018 de-en", "bucc2018 fr-en"]


def test_two_sets_of_one_name(tmp_path: Path) -> None:
    data = empty_sets(tmp_path, *(f"bucc/{one}/de-en.training.gold" for one in "ab"))
    with pytest.raises(CorpusError, match=r"bucc/b/de-en.training.gold: .*bucc/a"):
        mining_sets.sets(data)


def test_no_sets(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r": no sets \(such as bucc2018/de-en/de-en.training"):
        bucc.evaluate(Recording(), tmp_path)
    empty_sets(tmp_path, "bucc/german.training.gold")
    with pytest.raises(CorpusError, match="german.training.gold: names no two languages"):
        mining_sets.sets(tmp_path)


@pytest.mark.parametrize("gone", ["training.de", "training.en", "test.en"])
def test_a_file_that_is_not_there(tmp_path, german, english, gone):
    place = lay_out(tmp_path / "bucc", german, english)
    (place / f"de-en.{gone}").unlink()
    with pytest.raises(CorpusError, match=rf"bucc: no de-en.{gone}, plain or compressed"):
        bucc.evaluate(Recording(), tmp_path)


def test_a_gold_without_pairs(tmp_path: Path, german: list[str], english: list[str]) -> None:
    place = lay_out(tmp_path / "bucc", german, english)
    (place / "de-en.test.gold").write_text("")
    with pytest.raises(CorpusError, match="test.gold: holds no pair; there is nothing to evaluate"):
        bucc.evaluate(Recording(), tmp_path)


def test_an_empty_corpus(tmp_path: Path, tiny_model: Path, english: list[str]) -> None:
    lay_out(tmp_path / "bucc", [], english)
    with pytest.raises(CorpusError, match="no id of de-en.test.gold is in the corpora"):
        bucc.evaluate(MinerModel(str(tiny_model)), tmp_path)
    with pytest.raises(CorpusError, match="de-en.training.de: is empty"):
        bucc.evaluate(Recording(), tmp_path)


def test_the_threshold_is_tuned_on_training_and_applied_to_test(data, verifying_model):
    (task,) = mining_sets.sets(data)
    results = bucc.mine_set(verifying_model, task, ("probability", "margin"))
    for result, rank in zip(results, ("probability", "margin"), strict=True):
        assert result.rank == rank
        gold = {split: task.gold(split) for split in GOLD}
        mined = {split: one.pairs for split, one in result.mined.items()}
        tuned = best_threshold(mined["training"], gold["training"])
        assert result.tuned == tuned and result.threshold == tuned.threshold
        assert result.test == evaluate(mined["test"], gold["test"], tuned.threshold)
        assert result.oracle == best_threshold(mined["test"], gold["test"])
        assert 0.3 < result.test.f1 <= result.oracle.f1
        record = result.as_dict()
        assert record["test"]["threshold"] == record["training"]["threshold"]
        assert set(record["seconds"]) == {"training", "test"}
        calibrated = {one.own_threshold is not None for one in result.mined.values()}
        assert len(calibrated) == 1, "both splits have scores of one scale"
        assert calibrated == {result.own is not None} and (rank == "probability" or not result.own)


@pytest.mark.parametrize("text", [True, False])
def test_without_test_gold_training_is_reported_and_said_so(
    tmp_path: Path, german: list[str], english: list[str], tiny_model: Path, text: bool
) -> None:
    splits = ("training", "test") if text else ("training",)
    lay_out(tmp_path / "bucc", german, english, splits=splits, golds=("training",), suffix=".xz")
    found = bucc.evaluate(MinerModel(str(tiny_model)), tmp_path)
    (mined,) = found.more["mining"]
    assert "test" not in mined and set(mined["seconds"]) == {"training"}
    metric = found.metrics[0]
    assert (metric.dataset, metric.name) == (
        "bucc de-en, training, tuned on itself",
        "f1 by margin",
    )
    assert metric.value == pytest.approx(mined["training"]["f1"])
    assert found.missing == (
        "bucc de-en: no text or gold of the test split; F1 is measured on training, on whose "
        "gold the threshold was tuned",
    )


def test_nothing_mined_keeps_nothing(tmp_path: Path, german: list[str], english: list[str]) -> None:
    """If all vectors are zero, metrics are 0 and the record is valid JSON."""
    lay_out(tmp_path / "bucc", german, english)
    found = bucc.evaluate(Fixed({"": (0.0, 0.0)}), tmp_path)
    assert {one.value for one in found.metrics} == {0.0}
    (mined,) = found.more["mining"]
    assert mined["training"]["threshold"] is None and mined["test"]["threshold"] is None
    json.dumps(found.as_dict(), allow_nan=False)
    (task,) = mining_sets.sets(tmp_path)
    (result,) = bucc.mine_set(Fixed({"": (0.0, 0.0)}), task, ("margin",))
    assert result.threshold == math.inf


@given(st.integers(0, 2**32))
@settings(QUICK, max_examples=15)
def test_its_f1_agrees_with_scikit_learn(tmp_path_factory, seed):
    """With several targets of a source, and several sources of a target."""
    generator = np.random.default_rng(seed)
    # Few kinds of vectors, so that sources share their nearest; the first is the zero vector.
    kinds = np.vstack([np.zeros(6), np.eye(6)])
    vectors = {f"{side}{i}": kinds[generator.integers(7)] for side in "st" for i in range(9)}
    gold = {tuple(pair) for pair in generator.integers(9, size=(12, 2)).tolist()}
    place = tmp_path_factory.mktemp("bucc")
    sides = [[f"{side}{i}" for i in range(9)] for side in "st"]
    write_hidden(place, "de-en", "training", sides, gold)
    f1, accuracy = bucc.top_one(Fixed(vectors), mining_sets.MiningSet("x", place, "de-en"))

    targets = sorted({target for _, target in gold})
    found, label = [], []
    for source, target in sorted(gold):
        cosine = [vectors[f"s{source}"] @ vectors[f"t{one}"] for one in targets]
        known = [one for one, _ in zip(targets, cosine, strict=True) if vectors[f"t{one}"].any()]
        best = max(known, key=lambda one: cosine[targets.index(one)], default=-1)
        found.append(best if vectors[f"s{source}"].any() else -1)
        label.append(target)

    def weighted(items: np.ndarray) -> float:
        chosen = np.array(label)[items], np.array(found)[items]
        return f1_score(*chosen, average="weighted", zero_division=0)

    assert f1.value == pytest.approx(weighted(np.arange(len(label))))
    assert accuracy.value == pytest.approx(np.mean(np.equal(label, found)))
    assert f1.interval is None and accuracy.interval is not None
