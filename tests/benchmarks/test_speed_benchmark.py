"""Speed benchmark: rows from measurements, and a small run."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.fake_gpus import simulate
from support.files import write
from support.near_copies import near_lines

from benchmarks import pages, report
from benchmarks.speed import gpu_search, limits, process, small_jobs, speed_tables

ROOT = Path(__file__).parents[2]


def test_failed_and_missing_jobs() -> None:
    failed = process.run(process.Job("x", "speed_text:read", {"path": "/nowhere", "count": 1}), 1)
    assert "FileNotFoundError" in failed["failed"]
    assert "no_such_module" in process.run(process.Job("x", "no_such_module:job"), 1)["missing"]


def test_sections_are_merged(tmp_path: Path) -> None:
    path = tmp_path / "speed.json"
    for value in (1, 2):
        report.merge(path, "speed", "limits", {"threads": value, "copy, GB/s": 9}, ())
        report.merge(path, "speed", f"other {value}", {}, ["pytest"])
    sections = json.loads(path.read_text())["sections"]
    assert list(sections) == ["limits", "other 1", "other 2"]
    assert "pytest" in sections["other 1"]["versions"]
    lines = pages.sections(json.loads(path.read_text()), speed_tables.SECTIONS)
    assert "2 threads: copy, GB/s 9." in lines[0]


def test_whole_commands_and_their_table(tmp_path: Path) -> None:
    rows = tmp_path / "rows.tsv"
    rows.write_text("eins\tone\n" * 9, encoding="utf-8")
    found = small_jobs.job(ROOT, ["score", str(rows), "--score", "length"], 1, tmp_path)
    assert len((tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines()) == 9
    assert 0 < found["cpu seconds"] < 60 and 10 < found["peak MiB"] < 400
    with pytest.raises(SystemExit, match="nowhere: cannot be read"):
        small_jobs.job(ROOT, ["score", "nowhere"], 1, tmp_path)
    measured = {"cpu seconds": [1.5, 2.0, 4.0], "seconds": 3, "peak MiB": 9}
    measured_rows = [{"name": "score", "before": measured, "now": measured}]
    results = {"threads": 1, "rows": measured_rows, "commit": {"before": "abc", "now": "def"}}
    assert speed_tables.jobs(results)[-1].startswith("| score | 2.00; 1.5 to 4.0 | 2.00;")


@pytest.mark.parametrize(("system", "gpus"), [("ours, faiss", [0]), (gpu_search.TORCH, [])])
def test_searches_on_gpus_are_measured(monkeypatch, tmp_path: Path, system, gpus) -> None:
    """On a simulated GPU, and on the CPU by torch."""
    simulate(monkeypatch)
    monkeypatch.setattr(limits, "RUNS", 1)
    vectors = np.random.default_rng(1).normal(size=(2, 60, 8))
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    for name, side in zip(("source", "target"), vectors.astype(np.float16), strict=True):
        np.save(tmp_path / f"{name}.npy", side)
    row = gpu_search.measure_in_child(system, gpus, 1, str(tmp_path))
    assert row["seconds"] > 0 and row["recall"] > 0.9 and row["device MiB"] == 0
    row |= {"name": system, "a side": 60, "dimension": 8, "pairs/s": 3600 / row["seconds"]}
    results = {"device": "cuda", "bf16 peak, TFLOP/s": 0.0, "rows": [row]}
    assert system in speed_tables.gpus({"results": results})[-3]


@pytest.mark.slow
def test_it_runs(tmp_path: Path) -> None:
    rows = list(zip(near_lines("de"), near_lines("en"), strict=False))
    for pair in ("fr-en", "de-en"):
        write(tmp_path / "train" / pair / "near.tsv", rows)
    command = [sys.executable, "-m", "benchmarks", "speed", "--quick", "--only", "mine", "filter"]
    done = subprocess.run(
        [*command, "--data", str(tmp_path), "--json", str(tmp_path / "speed.json")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    sections = json.loads((tmp_path / "speed.json").read_text())["sections"]
    ours, probable, theirs = sections["mine"]["results"]["rows"]
    assert ours["pairs"] > 20 and probable["pairs"] > 20
    # If sentence-transformers is installed, both systems keep about the same number of pairs.
    assert theirs.get("missing") or abs(theirs["pairs"] - ours["pairs"]) < 0.1 * ours["pairs"]
    assert "ours, by margin" in done.stdout
    every, rules, *peers = sections["filter"]["results"]["rows"]
    assert 0 < every["kept"] <= rules["kept"] and "quality" not in rules["shares"]
    assert {one["missing"] for one in peers} == {"no --peers"}
