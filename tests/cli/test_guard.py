"""miner.cli.guard: refuses outputs that would overwrite an input, an output or an artifact."""

import os
import shutil
from pathlib import Path

import click
import pytest
from support.cleaning import toml
from support.files import whole

from miner.cli import guard, main
from miner.index.index import Index


@pytest.fixture
def index(indexes: tuple[Index, Index], tmp_path: Path) -> Path:
    return Path(shutil.copytree(indexes[0].path, tmp_path / "index"))


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ("", {"-o": "a", "--report": "b", "--rejected": None}, ""),
        ("", {"-o": "a", "--report": "./a"}, "-o and --report are both ./a; name two places"),
        ("", {"-o": "corpus", "--report": "link"}, "-o and --report are both link"),
        ("", {"-o": "new/deep/a", "--work": "new"}, "-o new/deep/a lies inside --work new; name"),
        ("", {"-o": "there/a", "--work": "there"}, "-o there/a lies inside --work there; name"),
        ("", {"-o": "there.tsv", "--work": "there"}, ""),
        # Several options may share a place that overwrites nothing.
        ("-", {"-o": "-", "--report": "-"}, ""),
        ("/dev/null", {"-o": "/dev/null", "--report": "/dev/null"}, ""),
        ("pipe", {"-o": "pipe", "--report": "pipe"}, ""),
        ("corpus", {"-o": "pairs"}, ""),
        ("corpus", {"-o": "./corpus"}, "would replace the input corpus"),
        ("corpus", {"-o": "link"}, "would replace the input corpus"),
        ("index", {"-o": "index"}, "would replace the input"),
        ("index", {"-o": "index/sentences.txt"}, "would replace the input"),
        ("index", {"--work": "."}, "would replace the input"),
        ("index", {"-o": "pairs.tsv"}, ""),
        ("", {"-o": "index/sentences.txt"}, "lies inside an index"),
        ("", {"--report": "model/deep/report.html"}, "lies inside a model"),
        ("", {"-o": "foreign/a"}, ""),
    ],
)
def test_outputs_replace_nothing(index, model, tmp_path, monkeypatch, inputs, outputs, words):
    monkeypatch.chdir(tmp_path)
    Path("corpus").write_text("a\n")
    os.symlink("corpus", "link")
    os.mkfifo("pipe")
    os.mkdir("there")
    os.mkdir("foreign")
    Path("foreign/config.json").write_text("{")
    if not words:
        guard.check([inputs], outputs)
        return
    with pytest.raises(click.UsageError) as error:
        guard.check([inputs], outputs)
    assert words in error.value.message


def test_directories_are_replaced_only_when_asked(index: Path, model: Path, tmp_path: Path) -> None:
    guard.check_directory(str(tmp_path / "new"), "a model", overwrite=False)
    (tmp_path / "empty").mkdir()
    guard.check_directory(str(tmp_path / "empty"), "a model", overwrite=False)
    guard.check_directory(str(model), "a model", overwrite=True)
    for place, overwrite, words in (
        (model, False, "is a model already; replace it with --overwrite"),
        (index, True, "is an index, not a model"),
        (tmp_path, True, "exists and is not a model"),
        (index / "meta.json", True, "exists and is not a model"),
    ):
        with pytest.raises(click.UsageError) as error:
            guard.check_directory(str(place), "a model", overwrite)
        assert words in error.value.message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mine", "a", "b", "-o", "x.csv"), "-o x.csv: .csv is not written; known are .txt"),
        (("search", "a", "b", "-o", "x.csv.gz"), "-o x.csv.gz: .csv is not written"),
        (("filter", "a.tsv", "-o", "x.text"), "-o x.text: .text is not written"),
        (("score", "a.tsv", "-o", "x.csv"), "-o x.csv: .csv is not written"),
        (("mine", "a", "b", "-o", "x.bucc"), "give --bucc for pairs of ids, or name it .tsv"),
        (("search", "a", "b", "-o", "x.bucc.gz"), "give --bucc for pairs of ids"),
        (("mine", "a", "b", "--bucc", "-o", "x.jsonl"), "rows of tsv would be written there"),
    ],
)
def test_suffixes_of_another_format(miner, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = miner(*arguments)
    assert code == 2 and not out and said in err
    assert not list(Path().glob("[xy]*"))


@pytest.mark.parametrize(
    "line",
    [
        "search index index-en -o x.tsv --report x.tsv",
        "search index index-en -o x.tsv --checkpoint x.tsv",
        "search index index-en --decoys corpus -o corpus",
        "search index index-en -o index/sentences.txt",
        "search index index-en -o model/x.tsv",
        "mine corpus corpus-en --decoys pairs.tsv -o pairs.tsv",
        "mine corpus corpus-en --model model -o model",
        "mine corpus corpus-en --model model -o corpus",
        "mine corpus corpus-en --model model -o index/x.tsv",
        "index corpus --model model -o index",
        "index corpus --model model -o model",
        "index corpus --model model --overwrite -o model",
        "index corpus --model model -o corpus",
        "encode corpus --model model -o index/v.npy",
        "encode corpus --model model -o model/v.npy",
        "score pairs.tsv --score cosine -o pairs.tsv",
        "filter pairs.tsv -o x.tsv --rejected x.tsv",
        "filter pairs.tsv -o pairs.tsv",
        "filter pairs.tsv --rejected pairs.tsv",
        "filter pairs.tsv -o x.tsv --scores-jsonl x.tsv",
        "filter --source pairs.tsv --target pairs.tsv -o x.tsv x.tsv",
        "filter pairs.tsv -o x.tsv --work x.tsv",
        "review pairs.tsv --answers pairs.tsv",
        "review pairs.tsv --tsv pairs.tsv",
        "filter pairs.tsv -o x.tsv --report model/r.html",
        "train --bitext pairs.tsv -o model",
        "train --bitext pairs.tsv --overwrite -o index",
        "train --bitext pairs.tsv -o pairs.tsv",
        "evaluate mined scored.tsv gold.tsv --json gold.tsv",
    ],
)
def test_no_command_destroys_anything(line, index, model, indexes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(indexes[1].path, "index-en")
    for name in ("corpus", "corpus-en", "pairs.tsv", "scored.tsv", "gold.tsv"):
        Path(name).write_text("1\ta\tb\n2\tc\td\n", encoding="utf-8")
    before = whole(tmp_path)
    assert main(line.split()) == 2, capsys.readouterr().err
    assert whole(tmp_path) == before


@pytest.mark.parametrize("command", ["filter", "score"])
@pytest.mark.parametrize("output", ["good.de", "model/scores.txt"])
def test_files_of_a_configuration_are_inputs(command, output, model, tmp_path, monkeypatch, capsys):
    """Reference files and models named in a configuration count as inputs."""
    monkeypatch.chdir(tmp_path)
    tables = ({"name": "perplexity", "references": "good.de"},)
    Path("rules.toml").write_text(toml(tables, {"model": "model"}), encoding="utf-8")
    for name in ("good.de", "pairs.tsv"):
        Path(name).write_text("ein Satz\ta sentence\n", encoding="utf-8")
    before = whole(tmp_path)
    assert main([command, "pairs.tsv", "--config", "rules.toml", "-o", output]) == 2
    assert f"-o {output} would replace the input" in capsys.readouterr().err
    assert whole(tmp_path) == before
