"""Figures of the model that ships beside those of the papers."""

import json
import sys
from typing import ClassVar

import pytest

from benchmarks import pages
from benchmarks.models import paper_figures
from miner import MinerError


def test_grades(tmp_path, monkeypatch, capsys):
    (tmp_path / "paraphrase").mkdir()
    pairs = [f"1\tthe house {n}\tthe house {n}" for n in range(5)]
    pairs += [f"0\tthe house {n}\tgreen trees grow" for n in range(7)]
    for part in ("train", "test"):
        (tmp_path / "paraphrase" / f"msrpc.{part}.tsv").write_text("\n".join(pairs) + "\n")
    result = tmp_path / "papers.json"
    options = ["--data", tmp_path, "--json", result, "--only", "grades"]
    monkeypatch.setattr(sys, "argv", ["papers", *map(str, options)])
    paper_figures.main()
    record = json.loads(result.read_text())
    lines = pages.sections(record, paper_figures.LINES)
    assert lines[2].startswith("| test set | grade |")
    assert lines[4].startswith("| msrpc | 0 | 7 | ") and lines[4].endswith("| – | – |")
    assert lines[5].startswith("| msrpc | 1 | 5 | 1.000 | 0.000 | ")
    assert lines[7].endswith(" CPU seconds") and lines[4] in capsys.readouterr().out


def test_models_of_the_recipe_are_found(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MinerError, match="no model"):
        paper_figures.measure_p19("default", tmp_path)
    for seed in (2, 1):
        (tmp_path / "models" / f"p19-{seed}").mkdir(parents=True)

    class Made:
        training: ClassVar = {"config": {"seed": 7}, "pairs": 1000}

    part = {"precision": 0.5, "recall": 0.25, "f1": 0.333}
    monkeypatch.setattr(paper_figures, "load", lambda path: Made)
    monkeypatch.setattr(
        paper_figures.bucc_protocol,
        "measure",
        lambda model, *_: {"model": model, "training": part, "test": part},
    )
    results = paper_figures.measure_p19("default", tmp_path)
    assert [row["model"] for row in results["rows"]] == ["models/p19-1", "models/p19-2"]
    lines = paper_figures.p19_lines(results)
    assert lines[-1] == "| 7 | 1,000 | 0.333 | 0.500 | 0.250 | 0.333 |"
