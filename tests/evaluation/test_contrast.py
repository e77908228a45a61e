"""miner.evaluation.contrast: made and read cases, and the share that a score decides rightly."""

import json

import numpy as np
import pytest
from support.evaluated_models import Fixed
from support.files import write

from miner.errors import CorpusError
from miner.evaluation.contrast import Case, evaluate, make_cases, read_cases, write_cases
from miner.evaluation.evaluated_model import MinerModel
from miner.text.corruptions import KINDS


def test_cases_depend_on_the_text_alone(german: list[str], english: list[str]) -> None:
    cases = make_cases(german, english, "de")
    assert {case.kind for case in cases} >= {"number", "negation", "antonym", "tense"}
    assert [case.kind for case in cases] == sorted(
        (case.kind for case in cases), key=list(KINDS).index
    )
    assert set(make_cases(german[::-1], english[::-1], "de")) == set(cases)
    assert make_cases(german * 2, english * 2, "de") == cases
    few = make_cases(german, english, "de", count=2)
    assert set(few) < set(cases)
    assert max(sum(case.kind == kind for case in few) for kind in KINDS) == 2
    for case in cases:
        assert case.translation == english[german.index(case.source)] != case.corrupted


def test_cases_written_are_read_again(tmp_path, german, english):
    cases = make_cases(german, english, "de")
    write_cases(cases, tmp_path / "cases.tsv.xz")
    assert read_cases(tmp_path / "cases.tsv.xz") == cases
    assert read_cases(tmp_path / "cases.tsv.xz", ["de"]) == cases
    with pytest.raises(CorpusError, match="has no contrast case in french; it has de"):
        read_cases(tmp_path / "cases.tsv.xz", ["french"])
    short = write(tmp_path / "short.tsv", [("number", "de", "Zwei.", "Two.")])
    with pytest.raises(CorpusError, match="line 1: 4 columns; kind, language"):
        read_cases(short)


def fixed() -> tuple[Fixed, list[Case]]:
    """Return a model whose cosine is right in 30 of 40 cases and ties in 5."""
    vectors: dict[str, tuple[float, float]] = {}
    cases = []
    for row in range(40):
        kind = "critical_id1_x" if row < 20 else "major_id2_y"
        case = Case(
            kind,
            "german" if row % 2 else "czech",
            f"s{row}",
            f"t{row}",
            f"c{row}",
        )
        vectors[case.source] = (1, 0)
        vectors[case.translation] = (0.8, 0.6)
        vectors[case.corrupted] = (0.6, 0.8) if row < 30 else ((0.8, 0.6), (1, 0))[row % 2]
        cases.append(case)
    return Fixed(vectors), cases


def test_shares_of_cases() -> None:
    model, cases = fixed()
    rare = Case("minor_id3_z", "german", "s1", "t1", "c1")
    result = evaluate(model, [*cases, rare])
    found = {(one.dataset, one.name): one for one in result.metrics}
    value = {dataset: metric.value for (dataset, _), metric in found.items()}
    assert value == {
        "critical_id1_x": 1.0,
        "major_id2_y": 0.5,
        "mean, critical": 1.0,
        "mean, major": 0.5,
        "mean, critical and major": 0.75,
        "czech, critical and major": 0.75,
        "german, critical and major": 0.75,
    }
    assert found["major_id2_y", "cosine"].items == 20
    low, high = found["major_id2_y", "cosine"].interval or (0, 0)
    assert 0.2 < low < 0.5 < high < 0.8
    assert [one.dataset for one in result.headline] == ["mean, critical and major"]
    assert result.missing == ("minor_id3_z: 1 cases, fewer than 20",)
    np.testing.assert_array_equal(
        found["mean, major", "cosine"].resamples, found["major_id2_y", "cosine"].resamples
    )
    with pytest.raises(CorpusError, match="no kind of corruption has 20 cases"):
        evaluate(model, cases[:5])


def test_shares_below_a_bound() -> None:
    vectors: dict[str, tuple[float, float]] = {}
    cases = []
    for row in range(200):
        cosine = 0.5 + row / 500
        wrong = {0: 0.501, 1: 0.4}.get(row % 4, cosine - 0.001)
        for number, value in enumerate((1.0, cosine, wrong)):
            vectors[f"{'stc'[number]}{row}"] = (value, float(np.sqrt(1 - value**2)))
        cases.append(Case("number", "german", f"s{row}", f"t{row}", f"c{row}"))
    found = {one.dataset: one.value for one in evaluate(Fixed(vectors), cases * 2).metrics}
    assert found["number"] == 0.995  # the first fault scores higher than its translation
    assert found["number, below the bound that drops 2%"] == 0.51
    assert found["number, below the bound that drops 1%"] == 0.505
    few = evaluate(Fixed(vectors), cases[:99]).metrics
    assert {one.dataset for one in few} == {"number"}


def test_a_model_that_verifies_has_more_scores(knowing_model, german, english):
    result = evaluate(MinerModel(str(knowing_model), 1), make_cases(german, english))
    assert {one.name for one in result.metrics} == {"quality", "probability", "cosine"}
    assert any(one.dataset.startswith("mean of ") for one in result.metrics)


def test_the_command(miner, tmp_path, german, english, tiny_model):
    text = write(tmp_path / "text.tsv", zip(german, english, strict=True))
    cases = tmp_path / "cases.tsv"
    code, out, err = miner("evaluate", "contrast", "--bitext", text, "--write", cases)
    assert code == 0, err
    assert "mean of" in out and "cases of" in out
    options = ["--cases", cases, "--against", tiny_model, "--json", tmp_path / "found.json"]
    code, again, err = miner("evaluate", "contrast", *options)
    assert code == 0, err
    assert again.startswith(out.split("\n\n7")[0].split("\n\nIntervals")[0])
    record = json.loads((tmp_path / "found.json").read_text())
    assert len(record["models"]) == 2 and record["differences"]
    for wrong in (["--bitext", text, "--cases", cases], [], ["--cases", cases, "--scol", "2"]):
        code, _, err = miner("evaluate", "contrast", *wrong)
        assert code == 2 and "Error" in err
