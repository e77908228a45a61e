"""miner.evaluation.noisy: AUC and average precision of scores on labelled pairs."""

from pathlib import Path

import pytest
from support.evaluated_models import Recording, of_all
from support.files import write

from miner.errors import CorpusError
from miner.evaluation import noisy
from miner.evaluation.evaluated_model import MinerModel


def rows_of(german: list[str], english: list[str]) -> list[tuple[str, str, int]]:
    """Return translations with label 1, and mismatched pairs with label 0."""
    good = [(s, t, 1) for s, t in zip(german, english, strict=True)]
    wrong = zip(german, english[7:] + english[:7], strict=True)
    return [*good, *((s, t, 0) for s, t in wrong)]


@pytest.fixture
def data(tmp_path: Path, german: list[str], english: list[str]) -> Path:
    rows = rows_of(german, english)
    write(tmp_path / "noisy" / "de-en.web-labelled.tsv.xz", rows)
    write(tmp_path / "noisy" / "de-en.positional.tsv", rows)  # not labelled
    return tmp_path


def test_a_model_without_quality_says_why(data: Path, tiny_model: Path) -> None:
    result = noisy.evaluate(MinerModel(str(tiny_model)), data)
    assert {one.name.split()[-1] for one in result.metrics} == {"cosine", "margin"}
    (line,) = result.missing
    assert str(tiny_model) in line and "verif" in line


def test_vectors_from_elsewhere_have_no_quality(data: Path) -> None:
    write(data / "noisy" / "fr-en.x-labelled.tsv", [("a", "b", 1), ("c", "d", 0.0), ("", "b", 0)])
    model = Recording()
    result = noisy.evaluate(model, data)
    assert result.missing == ()
    assert {one.dataset for one in result.metrics} == {"de-en.web", "fr-en.x"}
    assert set().union(*model.asked.values()) == of_all(noisy.texts(data))
    assert model.asked["fr"] == {"a", "c", ""}


@pytest.mark.parametrize(
    "labels, said",
    [
        ((1, 1), ": all labels are 1; both kinds are needed"),
        ((0, 0), ": all labels are 0; both kinds are needed"),
        ((1, 2), ", line 2: the label is 2, not 0 or 1"),
        ((0, 0.5), ", line 2: the label is 0.5, not 0 or 1"),
        ((1, 0, -1), ", line 3: the label is -1, not 0 or 1"),
    ],
)
def test_other_labels(tmp_path: Path, labels: tuple[float, ...], said: str) -> None:
    rows = [("a", "b", label) for label in labels]
    write(tmp_path / "noisy" / "de-en.x-labelled.tsv", rows)
    with pytest.raises(CorpusError, match=f"x-labelled.tsv{said}"):
        noisy.evaluate(Recording(), tmp_path)


def test_no_sets_and_odd_names(data: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="noisy: no sets"):
        noisy.sets(tmp_path / "elsewhere")
    write(tmp_path / "noisy" / "web-labelled.tsv", [("a", "b", 1)])
    with pytest.raises(CorpusError, match="web-labelled.tsv: names no two languages"):
        noisy.evaluate(Recording(), data)
    write(tmp_path / "noisy" / "web-labelled.tsv", [])
