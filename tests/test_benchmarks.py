"""The BUCC benchmark on files in the layout of BUCC 2018, made of the demo text."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import miner
from miner.files import open_output

ROOT = Path(__file__).parent.parent
DEMO = Path(miner.__file__).parent / "demo"


def lay_out(directory: Path, suffix: str, test_gold: bool = True) -> None:
    """``de-en.{training,test}.{de,en,gold}``: lines with an odd and an even German number."""
    gold = [line.split("\t") for line in (DEMO / "demo.gold").read_text().splitlines()]
    directory.mkdir(parents=True, exist_ok=True)
    for split, remainder in (("training", 1), ("test", 0)):
        for side in ("de", "en"):
            lines = (DEMO / f"demo.{side}").read_text(encoding="utf-8").splitlines()
            with open_output(directory / f"de-en.{split}.{side}{suffix}") as file:
                for number, line in enumerate(lines, 1):
                    file.write(f"{side}-{number:09}\t{line}\n")
        if split == "training" or test_gold:
            with open_output(directory / f"de-en.{split}.gold{suffix}") as file:
                for source, target in gold:
                    if int(source) % 2 == remainder:
                        file.write(f"de-{int(source):09}\ten-{int(target):09}\n")


def bucc(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.bucc", "--pair", "de-en", "--model", "default"]
    return subprocess.run(
        [*command, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("suffix, below", [("", "de-en"), (".xz", "")])
def test_bucc_layouts(tmp_path: Path, suffix: str, below: str) -> None:
    lay_out(tmp_path / below, suffix)
    done = bucc("--data", tmp_path, "--json", tmp_path / "result.json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads((tmp_path / "result.json").read_text())["results"]
    # Each split's gold is half of the pairs that are there to be found.
    assert 0.4 < result["test"]["f1"] <= result["test oracle"]["f1"] < 0.75
    assert result["test"]["threshold"] == result["training"]["threshold"]
    assert f"{result['test']['f1']:.4f}" in done.stdout


def test_bucc_without_test_gold_submits(tmp_path: Path) -> None:
    lay_out(tmp_path, "", test_gold=False)
    done = bucc("--data", tmp_path, "--submit", tmp_path / "mined.tsv")
    assert done.returncode == 0, done.stderr
    assert "no test gold" in done.stdout
    mined = (tmp_path / "mined.tsv").read_text().splitlines()
    assert len(mined) > 50 and all(line.startswith("de-") and "\ten-" in line for line in mined)


def test_bucc_that_is_not_there(tmp_path: Path) -> None:
    done = bucc("--data", tmp_path)
    assert done.returncode == 1
    assert "no de-en.training.de" in done.stderr and "Traceback" not in done.stderr
