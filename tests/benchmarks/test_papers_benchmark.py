"""Figures of the model that ships beside those of the papers."""

import json
import sys

from benchmarks import pages
from benchmarks.models import paper_figures


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
