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
    lines = paper_figures.tables(record, pages.conditions)
    assert lines[2].startswith("| test set | grade |")
    assert lines[4].startswith("| msrpc | 0 | 7 | ") and lines[4].endswith("| – | – |")
    assert lines[5].startswith("| msrpc | 1 | 5 | 1.000 | 0.000 | ")
    assert lines[7].endswith(" CPU seconds") and lines[4] in capsys.readouterr().out


def test_tables_have_published_rows() -> None:
    figures = [
        {"set": "MRPC", "metric": name, "value": 0.7, "interval": [0.6, 0.8], "items": 9}
        for name in ("accuracy", "f1")
    ]
    lines = paper_figures.senteval_lines({"figures": figures})
    ours, theirs = (next(line for line in lines if start in line) for start in ("ships", "Infer"))
    assert ours.count("–") == 10 and "| 70.0 (60.0–80.0) |" in ours  # nine gaps, one interval
    assert theirs.endswith("| 76.2 | 75.6 |") and lines[-1].endswith("70.0 (60.0–80.0).")
    test = {"precision": 0.5, "recall": 0.25, "f1": 1 / 3}
    row = {"pair": "de-en", "settings": {"margin": "absolute"}, "test": test}
    lines = paper_figures.cosine_lines({"rows": [row]})
    assert lines[-1] == "| bucc-style de-en | plain cosine | 0.500 | 0.250 | 0.333 |"
    rows = [{"batch": size, "seconds": 3.04} for size in (128, 128_000)]
    (said,) = paper_figures.speed_lines({"rows": rows})
    assert said.endswith("on one thread: 3.0 in batches of 128, 3.0 in batches of 128,000.")
