"""miner.evaluation.tatoeba against a plain reference."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.evaluated_models import Fixed, Recording, of_all
from support.files import write
from support.sides import QUICK

from miner.errors import CorpusError
from miner.evaluation import tatoeba
from miner.scoring.margin import RATIO_FLOOR


def nearest_reference(source: np.ndarray, target: np.ndarray, margin: str, k: int) -> np.ndarray:
    """Find the best target of every source by definition, -1 for none."""
    known = source.any(axis=1), target.any(axis=1)
    cosine = source.astype(np.float64) @ target.T.astype(np.float64)
    # (rows, columns) of the k nearest in each direction; ties go to the lower row.
    near = []
    for similarity, rows, columns in ((cosine, *known), (cosine.T, *known[::-1])):
        lists = []
        for row in range(len(similarity)):
            order = sorted(np.flatnonzero(columns), key=lambda j: (-similarity[row, j], j))
            lists.append(order[:k] if rows[row] else [])
        near.append(lists)
    means = [
        [np.float32(np.mean(similarity[row, lists[row]])) if lists[row] else 0.0 for row in rows]
        for similarity, lists, rows in (
            (cosine, near[0], range(len(source))),
            (cosine.T, near[1], range(len(target))),
        )
    ]

    def score(i: int, j: int) -> float:
        if margin == "absolute":
            return cosine[i, j]
        mean = (np.float64(means[0][i]) + np.float64(means[1][j])) / 2
        return cosine[i, j] / max(mean, RATIO_FLOOR)

    return np.array(
        [min(row, key=lambda j: (-score(i, j), j)) if row else -1 for i, row in enumerate(near[0])],
        dtype=np.int64,
    )


def exact_units(generator: np.random.Generator, n: int) -> np.ndarray:
    """Return ``(n, 4) float32`` zero rows and few distinct unit rows, whose products are exact."""
    signs = generator.choice([-0.5, 0.5], size=(n, 4))
    axes = np.eye(4)[generator.integers(4, size=n)]
    kind = generator.integers(5, size=(n, 1))
    return np.where(kind == 0, 0, np.where(kind < 3, signs, axes)).astype(np.float32)


@given(st.integers(0, 2**32), st.integers(1, 14), st.integers(1, 14), st.integers(1, 20))
@settings(QUICK, max_examples=20)
def test_nearest_rows_agree_with_the_definition(seed: int, n: int, m: int, k: int) -> None:
    """Includes ties, duplicates, zero rows, and more neighbours than there are rows."""
    generator = np.random.default_rng(seed)
    source, target = exact_units(generator, n), exact_units(generator, m)
    for margin, neighbours in (("absolute", 1), ("ratio", k)):
        there, back = tatoeba.nearest_rows(source, target, margin, k)
        np.testing.assert_array_equal(there, nearest_reference(source, target, margin, neighbours))
        np.testing.assert_array_equal(back, nearest_reference(target, source, margin, neighbours))
        assert there.dtype == back.dtype == np.int64


def test_both_ways_and_the_mean(tmp_path: Path) -> None:
    rows = [("un", "one"), ("deux", "two"), ("trois", "three"), ("quatre", "four")]
    write(tmp_path / "tatoeba" / "fr-en.tsv.xz", rows)
    write(tmp_path / "tatoeba" / "de-en.tsv", [("eins", "one"), ("zwei", "two")])
    model = Fixed(
        {
            "deux": (0, 1, 0),  # "un" is unknown and finds no target
            "trois": (0.6, 0.8, 0),
            "quatre": (0, 0, 1),
            "one": (1, 0, 0),
            "two": (0, 1, 0),
            "three": (0.8, 0.6, 0),
            "four": (0, 0.8, 0.6),
            "eins": (1, 0, 0),
            "zwei": (0, 1, 0),
        }
    )
    result = tatoeba.evaluate(model, tmp_path)
    value = {(one.dataset, one.name): one.value for one in result.metrics}
    # quatre: four by .6 against 0; four: deux by .8 against .6.
    assert value["fr-en", "there by cosine"] == pytest.approx(3 / 4)
    assert value["fr-en", "back by cosine"] == pytest.approx(2 / 4)
    assert value["fr-en", "both ways by cosine"] == pytest.approx(5 / 8)
    assert value["de-en", "both ways by margin"] == 1
    assert value["mean", "both ways by cosine"] == pytest.approx((1 + 5 / 8) / 2)
    assert {one.name for one in result.headline} == {
        "both ways by cosine",
        "both ways by margin",
    }
    assert [one.dataset for one in result.headline[::2]] == ["de-en", "fr-en", "mean"]


def test_one_set_has_no_mean_and_sides_their_languages(tmp_path: Path) -> None:
    write(tmp_path / "tatoeba" / "de-en.tsv", [("eins", "one"), ("zwei", "two"), ("", "three")])
    model = Recording()
    result = tatoeba.evaluate(model, tmp_path)
    assert {one.dataset for one in result.metrics} == {"de-en"}
    assert model.asked == {"de": {"eins", "zwei"}, "en": {"one", "two"}}
    assert of_all(tatoeba.texts(tmp_path)) == {"eins", "zwei", "one", "two"}
    assert result.metrics[0].items == 2
    assert result.missing == ("de-en: 1 pairs with an empty side",)


def test_a_language_without_vectors_is_no_part_of_the_mean(tmp_path: Path) -> None:
    write(tmp_path / "tatoeba" / "de-en.tsv", [("eins", "one"), ("zwei", "two")])
    write(tmp_path / "tatoeba" / "zh-en.tsv", [("一", "one"), ("二", "two")])
    known = {"eins": (1, 0), "zwei": (0, 1), "one": (1, 0), "two": (0, 1)}
    result = tatoeba.evaluate(Fixed(known), tmp_path)
    assert {one.dataset for one in result.metrics} == {"de-en"}
    assert result.missing == ("zh-en: vectors of 2 of 4 sentences; their cosines count as 0",)


def test_sets_that_cannot_be_evaluated(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"tatoeba: no sets \(such as de-en.tsv\)"):
        tatoeba.sets(tmp_path)
    path = write(tmp_path / "tatoeba" / "de-en.tsv", [("", "")])
    with pytest.raises(CorpusError, match="de-en.tsv: holds no pair"):
        tatoeba.evaluate(Recording(), tmp_path)
    path.write_text("eins\tone\nzwei\n")
    with pytest.raises(CorpusError, match="de-en.tsv, line 2"):
        tatoeba.evaluate(Recording(), tmp_path)
