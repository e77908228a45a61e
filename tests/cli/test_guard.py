"""miner.cli.guard: outputs that would destroy an input, another output or an artifact."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click
import pytest

from miner.cli import guard
from miner.index.index import Index


@pytest.fixture
def index(indexes: tuple[Index, Index], tmp_path: Path) -> Path:
    return Path(shutil.copytree(indexes[0].path, tmp_path / "index"))


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def refused(inputs: list[str], outputs: dict[str, str | None]) -> str:
    with pytest.raises(click.UsageError) as error:
        guard.check(inputs, outputs)
    return error.value.message


def test_artifacts_are_known_by_their_description(index: Path, model: Path, tmp_path: Path) -> None:
    assert guard.artifact(index) == "an index"
    assert guard.artifact(model) == "a model"
    assert guard.artifact(tmp_path) is None and guard.artifact(tmp_path / "none") is None
    (model / "config.json").write_text('{"format": "of somebody else"}')
    assert guard.artifact(model) is None
    (model / "config.json").write_text("{")
    assert guard.artifact(model) is None


def test_two_outputs_are_two_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there").write_text("")
    os.symlink("there", "link")
    guard.check([], {"-o": "a", "--report": "b", "--rejected": None})
    for one, other in (("a", "a"), ("a", "./a"), ("there", "link"), (str(tmp_path / "a"), "a")):
        message = refused([], {"-o": one, "--report": other})
        assert "-o and --report are both" in message and "name two places" in message


def test_what_replaces_nothing_may_be_shared(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    guard.check(["-"], {"-o": "-", "--report": "-"})
    guard.check(["/dev/null"], {"-o": "/dev/null", "--report": "/dev/null"})
    guard.check([str(pipe)], {"-o": str(pipe), "--report": str(pipe)})


def test_an_output_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus").write_text("a\n")
    os.symlink("corpus", "link")
    guard.check(["corpus", "-"], {"-o": "pairs"})
    for output in ("corpus", "./corpus", "link"):
        assert "would replace the input corpus" in refused(["corpus"], {"-o": output})


def test_nothing_is_written_into_an_artifact(index: Path, model: Path, tmp_path: Path) -> None:
    inside = index / "sentences.txt"
    assert "would replace the input" in refused([str(index)], {"-o": str(inside)})
    assert "lies inside an index" in refused([], {"-o": str(inside)})
    assert "lies inside a model" in refused([], {"--report": str(model / "deep" / "report.html")})
    assert "would replace the input" in refused([str(index)], {"-o": str(index)})
    assert "would replace the input" in refused([str(index)], {"--work": str(tmp_path)})
    guard.check([str(index)], {"-o": str(tmp_path / "pairs.tsv")})


def test_directories_are_replaced_only_when_asked(index: Path, model: Path, tmp_path: Path) -> None:
    guard.check_directory("-o", str(tmp_path / "new"), "a model", overwrite=False)
    (tmp_path / "empty").mkdir()
    guard.check_directory("-o", str(tmp_path / "empty"), "a model", overwrite=False)
    guard.check_directory("-o", str(model), "a model", overwrite=True)
    for place, overwrite, words in (
        (model, False, "is a model already; replace it with --overwrite"),
        (index, True, "is an index, not a model"),
        (tmp_path, True, "exists and is not a model"),
        (index / "meta.json", True, "exists and is not a model"),
    ):
        with pytest.raises(click.UsageError) as error:
            guard.check_directory("-o", str(place), "a model", overwrite)
        assert words in error.value.message


@pytest.mark.parametrize("suffix", [".csv", ".tmx", ".xlsx", ".csv.gz", ".text"])
@pytest.mark.parametrize(
    "command", [("mine", "a", "b"), ("search", "a", "b"), ("filter", "a.tsv"), ("score", "a.tsv")]
)
def test_suffixes_that_are_not_written(miner, command: tuple[str, ...], suffix: str) -> None:
    code, out, said = miner(*command, "-o", f"out{suffix}")
    assert code == 2 and not out
    assert f"-o out{suffix}: {suffix.removesuffix('.gz')} is not written; known are .txt" in said
