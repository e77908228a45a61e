"""miner_train.papers.paraphrase_detection: labels, thresholds, and a classifier that learns."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.evaluated_models import Recording, made_up, of_all
from support.files import write

from miner.errors import CorpusError
from miner.evaluation.labelled_text import read_labelled
from miner_train.papers import paraphrase_detection as paraphrase
from miner_train.papers.paraphrase_detection import LabelledVectors


def labelled(path: Path, language: str = "en") -> LabelledVectors:
    """Read the pairs of a file with random vectors."""
    pairs = read_labelled(path)
    model = Recording()
    vectors = model.encode(pairs.first, language), model.encode(pairs.second, language)
    return paraphrase.with_labels(pairs, vectors, path)


def vectors_of(cosine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors of pairs with the given cosines."""
    first = np.tile(np.array([1, 0], dtype=np.float32), (len(cosine), 1))
    return first, np.stack([cosine, np.sqrt(1 - cosine**2)], axis=1).astype(np.float32)


def separable(n: int, seed: int, d: int = 8) -> LabelledVectors:
    """Return pairs of near vectors, labelled good, and random pairs."""
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(2, n, d))
    good = np.arange(n) % 3 > 0
    second[good] = first[good] + 0.1 * second[good]
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (first, second)]
    return LabelledVectors(unit[0].astype(np.float32), unit[1].astype(np.float32), good)


def graded(name: str, n: int, grades: tuple[float, ...]) -> list[tuple[float, str, str]]:
    return [(grades[i % len(grades)], f"{name} a{i}", f"{name} b{i}") for i in range(n)]


def test_grades_between_are_left_out_of_both_columns(tmp_path: Path) -> None:
    rows = graded("x", 6, (4, 2.5, 1))
    found = labelled(write(tmp_path / "a.tsv", rows), "de")
    assert found.good.tolist() == [True, False, True, False]
    np.testing.assert_array_equal(found.first, made_up([rows[i][1] for i in (0, 2, 3, 5)]))
    np.testing.assert_array_equal(found.second, made_up([rows[i][2] for i in (0, 2, 3, 5)]))


@pytest.mark.parametrize("grades", [(1,), (0,), (3, 4), (1, 2), (2.5,)])
def test_pairs_of_one_kind_alone(tmp_path: Path, grades: tuple[float, ...]) -> None:
    path = write(tmp_path / "a.tsv", graded("x", 12, grades))
    with pytest.raises(
        CorpusError, match=r"a.tsv: holds \d+ paraphrases and \d+ other pairs; 1 of each"
    ):
        labelled(path)


def test_too_few_pairs_to_learn_from(tmp_path: Path) -> None:
    """The perceptron holds out a tenth for early stopping, so it needs 10 pairs per label."""
    for part, n in (("train", 12), ("test", 4)):
        write(tmp_path / "paraphrase" / f"x.{part}.tsv", graded(part, n, (1, 0)))
    with pytest.raises(CorpusError, match="x.train.tsv: .* 6 other pairs; 10 of each"):
        paraphrase.evaluate(Recording(), tmp_path)


def cut_reference(score: np.ndarray, good: np.ndarray) -> np.ndarray:
    """Try all cuts; return the pairs that the best one takes, ``(n,) bool``."""
    cuts = [np.inf, *sorted(set(score.tolist()), reverse=True)]
    right = [int(((score >= cut) == good).sum()) for cut in cuts]
    return score >= cuts[right.index(max(right))]


@given(st.integers(0, 2**32), st.integers(1, 25), st.sampled_from((1, 2, 5, 100)))
@settings(max_examples=30)
def test_the_threshold_is_the_best_of_all(seed: int, n: int, levels: int) -> None:
    generator = np.random.default_rng(seed)
    cosine = generator.integers(-levels, levels + 1, size=n) / levels
    learned = LabelledVectors(*vectors_of(cosine), generator.random(n) < 0.5)
    score = learned.similarity
    taken = cut_reference(score, learned.good)
    np.testing.assert_array_equal(paraphrase.predict_by_threshold(learned, learned), taken)
    # New pairs are taken above the midpoint of the two scores at the cut.
    others = np.linspace(-1, 1, 41)
    tested = LabelledVectors(*vectors_of(others), np.ones(41, dtype=bool))
    found = paraphrase.predict_by_threshold(learned, tested)
    assert (np.diff(found.astype(int)) >= 0).all()
    low, high = score[~taken], score[taken]
    if len(low) and len(high):
        middle = (low.max() + high.min()) / 2
        np.testing.assert_array_equal(found, tested.similarity >= middle)
    elif len(low):
        assert not found.any()


@pytest.fixture(scope="module")
def learned() -> LabelledVectors:
    return separable(1200, 1)


def test_features() -> None:
    pairs = separable(5, 3)
    both = paraphrase.concatenated(pairs)
    assert both.shape == (10, 16)
    np.testing.assert_array_equal(both[:5], np.hstack([pairs.first, pairs.second]))
    np.testing.assert_array_equal(both[5:], np.hstack([pairs.second, pairs.first]))
    swapped = LabelledVectors(pairs.second, pairs.first, pairs.good)
    np.testing.assert_array_equal(
        paraphrase.differences_and_products(pairs), paraphrase.differences_and_products(swapped)
    )
    apart = np.abs(pairs.first - pairs.second)
    expected = np.hstack([apart, pairs.first * pairs.second])
    np.testing.assert_array_equal(paraphrase.differences_and_products(pairs), expected)


@pytest.mark.parametrize("features", [paraphrase.concatenated, paraphrase.differences_and_products])
def test_the_classifier_learns_and_is_the_same_in_two_runs(learned, features):
    tested = separable(300, 2)
    found = paraphrase.predict_by_classifier(learned, tested, features, 0)
    assert found.shape == (300,) and (found == tested.good).mean() > 0.85
    assert (found == paraphrase.predict_by_classifier(learned, tested, features, 0)).all()
    swapped = LabelledVectors(tested.second, tested.first, tested.good)
    assert (paraphrase.predict_by_classifier(learned, swapped, features, 0) == found).all()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("paraphrase")
    for part, n in (("train", 60), ("val", 40), ("test", 30)):
        rows = graded(f"msrpc {part}", n, (1, 0, 1))
        write(place / "paraphrase" / f"msrpc.{part}.tsv.xz", rows)
    for part in ("dev", "test"):
        rows = graded(f"opusparcus {part}", 42, (1, 1.5, 2, 2.5, 3, 3.5, 4))
        write(place / "paraphrase" / f"opusparcus.de.{part}.tsv", rows)
    write(place / "paraphrase" / "alone.test.tsv", graded("alone", 10, (1, 0)))
    return place


def test_metrics_of_both_sets(data: Path) -> None:
    model = Recording()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # users should not see library warnings
        result = paraphrase.evaluate(model, data)
    assert set().union(*model.asked.values()) == of_all(paraphrase.texts(data))
    assert set(model.asked) == {"en", "de"}
    value = {(one.dataset, one.name): one.value for one in result.metrics}
    ways = ("majority", "cosine", *paraphrase.CLASSIFIERS)
    assert set(value) == {
        (name, f"{metric} by {by}")
        for name in ("msrpc", "opusparcus.de")
        for metric in ("accuracy", "f1")
        for by in ways
    }
    # Two of three are paraphrases; in Opusparcus three of six, without the middle grades.
    assert value["msrpc", "accuracy by majority"] == pytest.approx(2 / 3)
    assert value["msrpc", "f1 by majority"] == pytest.approx(2 * 20 / (30 + 20))
    assert value["opusparcus.de", "accuracy by majority"] == pytest.approx(1 / 2)
    assert [one.name for one in result.headline] == [f"accuracy by {by}" for by in ways] * 2

    name = "msrpc"
    learned, tested = (labelled(path) for path in paraphrase.sets(data)[name])
    found = paraphrase.predict_by_threshold(learned, tested)
    assert value[name, "accuracy by cosine"] == pytest.approx((found == tested.good).mean())
    right = 2 * (found & tested.good).sum() / (found.sum() + tested.good.sum())
    assert value[name, "f1 by cosine"] == pytest.approx(right)
    again = {(one.dataset, one.name): one for one in paraphrase.evaluate(model, data).metrics}
    for one in result.metrics:
        assert one.value == again[one.dataset, one.name].value
        np.testing.assert_array_equal(one.resamples, again[one.dataset, one.name].resamples)

    rows = result.more["mean similarity by grade"]["opusparcus.de"]
    assert [row["grade"] for row in rows] == [1, 1.5, 2, 2.5, 3, 3.5, 4]
    assert result.notes[0].startswith("test set") and len(result.notes) == 2 * (1 + 2 + 7)


def test_means_by_grade() -> None:
    score, similarity = np.array([4.0, 4.0, 1.0]), np.array([1.0, 0.6, 0.0])
    low, high = paraphrase.by_grade(score, similarity)
    assert (low["grade"], low["pairs"], low["mean"], low["deviation"]) == (1, 1, 0, 0)
    assert (high["pairs"], high["mean"]) == (2, pytest.approx(0.8))
    assert high["deviation"] == pytest.approx(0.2)
    assert low["histogram"] == [1] + [0] * 9 and high["histogram"][6] == high["histogram"][9] == 1
    assert low["t"] is None and high["p"] is None  # one pair has no deviation


def test_the_t_test_between_grades_by_hand() -> None:
    score = np.repeat([1.0, 2.0, 3.0], [3, 2, 2])
    rows = paraphrase.by_grade(score, np.array([-0.1, 0.0, 0.1, 0.5, 0.7, 0.5, 0.7]))
    # Difference of means, divided by the root of the summed variances over counts.
    assert rows[1]["t"] == pytest.approx(0.6 / (0.01 / 3 + 0.02 / 2) ** 0.5)
    assert 0 < rows[1]["p"] < 0.1 and rows[2]["t"] == 0 and rows[2]["p"] == 1
    assert rows[0]["histogram"][0] == 2 and rows[0]["histogram"][1] == 1
