"""Every command and program that the README shows runs as printed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.subjects import write_every

import miner
from miner.cli import main
from miner.evaluation.gold import read_gold
from miner.text.output import open_output

pytest.importorskip("torch", reason="the README trains a model")

ROOT = Path(__file__).parent.parent
DEMO = Path(miner.__file__).parent / "demo"


def blocks(language: str) -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that the README names, made of the demo text."""
    directory = tmp_path_factory.mktemp("readme")
    shutil.copytree(DEMO, directory / "miner" / "demo")
    german = (DEMO / "demo.de").read_text(encoding="utf-8").splitlines()
    english = (DEMO / "demo.en").read_text(encoding="utf-8").splitlines()
    for name, lines in (("de", german), ("en", english)):
        for suffix in ("", ".zst", ".gz"):
            with open_output(directory / f"news.{name}{suffix}") as file:
                file.writelines(f"{line}\n" for line in lines)
    more = "Eine Zeile mehr.\n"
    (directory / "more.de").write_text(more, encoding="utf-8")
    gold = sorted(read_gold(DEMO / "demo.gold"))
    for name, lines, side in (("de", german, 0), ("en", english, 1)):
        chosen = [lines[int(pair[side]) - 1] for pair in gold]
        (directory / f"train.{name}").write_text("\n".join(chosen) + "\n", encoding="utf-8")
        vectors = np.random.default_rng(1).normal(size=(len(lines), 8)).astype(np.float32)
        np.save(directory / f"news.{name}.npy", vectors)
    rows = "".join(
        f"{german[int(one) - 1]}\t{english[int(other) - 1]}\t{score}\n"
        for score, (one, other) in enumerate(gold)
    )
    with open_output(directory / "web.de-en.tsv.gz") as file:
        file.write(rows)
    for name in ("de", "en"):
        shutil.copy(directory / f"train.{name}", directory / f"web.{name}")
    (directory / "filters.toml").write_text(blocks("toml")[0], encoding="utf-8")
    labelled = "".join(f"1\t{row}" for row in rows.splitlines(keepends=True))
    (directory / "labelled.tsv").write_text(labelled, encoding="utf-8")
    for name in ("train", "paraphrases", "ranked", "scored"):
        (directory / f"{name}.tsv").write_text(rows, encoding="utf-8")
    chosen = [
        [lines[int(one[side]) - 1] for one in gold] for side, lines in ((0, german), (1, english))
    ]
    write_every(directory / "data", chosen[0], chosen[1])
    (directory / "tests.txt").write_text("\n".join(chosen[1][:5]) + "\n", encoding="utf-8")
    (directory / "scores.tsv").write_text("de\t70.1\nfr\t70.5\nru\t64.2\n", encoding="utf-8")
    table = "language\tgrammar\nde\t0.42\nfr\t0.46\nru\t0.5\n"
    (directory / "distances.tsv").write_text(table, encoding="utf-8")
    return directory


def commands() -> list[str]:
    lines = [line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line]


def test_there_are_examples() -> None:
    assert sum(line.startswith("miner ") for line in commands()) >= 9
    assert len(blocks("python")) == 1


def test_commands_run(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    for line in commands():
        if line.startswith("miner "):
            assert main(shlex.split(line)[1:]) == 0, (line, capsys.readouterr().err)
        else:
            subprocess.run(line, shell=True, check=True, stdout=subprocess.DEVNULL)
    assert (place / "pairs.tsv.gz").exists() and (place / "models" / "de-en").is_dir()


def test_program_runs(place: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = blocks("python")[0]
    subprocess.run([sys.executable, "-c", program], cwd=place, env=environment, check=True)
    assert (place / "mined.tsv.gz").exists()


@pytest.mark.parametrize("page", ["README.md", "benchmarks/README.md", "benchmarks/RESULTS.md"])
def test_linked_files_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    linked = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert linked
    for name in linked:
        assert ((ROOT / page).parent / name).exists(), name


def test_tables_are_those_of_the_results() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "pages", "--check"], cwd=ROOT)
    assert done.returncode == 0
