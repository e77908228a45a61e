"""miner score: one output line per input line, for any input."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.raw_lines import hard, lines_of, put
from support.texts import feed

from miner.cleaning.config_file import scores_config
from miner.cleaning.pipeline import score_text, text_run
from miner.encoder.encoder import Encoder
from miner.filters.filter_types import Context
from miner.scoring import second_opinion
from miner.scoring.quality import Quality
from miner.scoring.verifier import Verifier
from miner.tasks.run import RunOptions
from miner.tasks.workers import Workers
from miner.text.formats import BitextFormat


@pytest.fixture
def bitext(tmp_path: Path, german: list[str], english: list[str]) -> Path:
    """Write pairs and mismatched pairs, each with an id and a note."""
    pairs = list(zip(german * 2, english + english[3:] + english[:3], strict=True))
    lines = [f"{i}\t{s}\t{t}\tnote {i}" for i, (s, t) in enumerate(pairs)]
    return put(tmp_path / "bitext.tsv", "".join(f"{line}\n" for line in lines).encode())


@pytest.fixture
def expected(knowing_model: Path, german: list[str], english: list[str]) -> np.ndarray:
    quality = Quality(Verifier(Encoder.load(knowing_model, 1)))
    return quality.score(german * 2, english + english[3:] + english[:3])


@pytest.fixture
def score(miner, knowing_model: Path):
    """Run the command with the small model; return the lines of its standard output."""

    def run(*arguments: object, threads: int = 1) -> list[str]:
        code, out, err = miner(
            "score", *arguments, "--model", knowing_model, "--threads", threads
        )  # fmt: skip
        assert (code, err) == (0, "")
        return out.split("\n")[:-1]

    return run


COLUMNS = ("--scol", 2, "--tcol", 3)


def test_the_score_comes_last(score, bitext: Path, expected: np.ndarray) -> None:
    lines = bitext.read_text(encoding="utf-8").split("\n")[:-1]
    found = [line.rpartition("\t") for line in score(bitext, *COLUMNS)]
    assert [line for line, _, _ in found] == lines
    np.testing.assert_allclose([float(value) for _, _, value in found], expected, rtol=1e-5)
    only = score(bitext, *COLUMNS, "--score-only")
    assert only == [value for _, _, value in found]


def test_a_header_names_columns(score, bitext: Path) -> None:
    plain = score(bitext, *COLUMNS)
    named = put(bitext.with_name("named.tsv"), b"id\tde\ten\tnote\r\n" + bitext.read_bytes())
    by_name = ("--header", "--scol", "de", "--tcol", "en")
    found = score(named, *by_name, "--score", "quality", "--score", "length")
    assert found[0] == "id\tde\ten\tnote\tquality\tlength"
    assert [line.rpartition("\t")[0] for line in found[1:]] == plain
    assert score(named, *by_name, "--score-only") == [line.rpartition("\t")[2] for line in plain]
    assert score(put(bitext.with_name("e.tsv"), b""), *by_name) == []


def test_standard_input_and_pipes(score, miner, german_file, english_file, tmp_path, monkeypatch):
    pairs = score("--source", german_file, "--target", english_file)
    rows = "".join(line.rpartition("\t")[0] + "\n" for line in pairs)
    feed(monkeypatch, rows.encode())
    assert score("-") == pairs
    feed(monkeypatch, english_file.read_bytes())
    assert score("--source", german_file, "--target", "-") == pairs
    # Two pipes, like a shell's <(…), are two inputs.
    pipes = [tmp_path / "one", tmp_path / "two"]
    for pipe, path in zip(pipes, (german_file, english_file), strict=True):
        os.mkfifo(pipe)
        threading.Thread(target=pipe.write_bytes, args=[path.read_bytes()], daemon=True).start()
    assert score("--source", pipes[0], "--target", pipes[1]) == pairs
    feed(monkeypatch, b"a\tb\nonly\n")
    code, out, err = miner("score", "-", "--score", "length", "--threads", 1)
    assert (code, out) == (1, "") and err.startswith(
        "miner: error: standard input, line 2: column 2 is asked for"
    )


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hard)
def test_a_line_for_each_line(tmp_path: Path, data: bytes) -> None:
    path = put(tmp_path / "whatever.tsv", data)
    config = scores_config(["length", "length_ratio"], Context())
    options = RunOptions(workers=Workers(shard_lines=3))
    for on_error in ("skip", "replace"):
        reading = BitextFormat(on_error=on_error)
        try:
            for name in ("out", "only"):
                with text_run("scoring", [[str(path)]], reading, options) as (run, bitexts):
                    role = "only" if name == "only" else "scored"
                    outputs = [{role: str(tmp_path / name)}]
                    score_text(run, bitexts, config, outputs)
        except Exception as error:
            assert on_error == "replace" and "column 2" in str(error)
            continue
        found = (tmp_path / "out").read_bytes().split(b"\n")[:-1]
        expected = lines_of(data)
        if on_error == "replace":
            expected = [line.decode("utf-8", "replace").encode() for line in expected]
        assert [line.rsplit(b"\t", 2)[0] for line in found] == expected
        only = (tmp_path / "only").read_bytes().split(b"\n")[:-1]
        assert only == [b"\t".join(line.rsplit(b"\t", 2)[1:]) for line in found]


def test_one_column_is_not_both_sides(miner, tmp_path: Path) -> None:
    path = put(tmp_path / "a.tsv", b"gut\tgood\n")
    code, _, err = miner("score", path, "--scol", "2", "--tcol", "2")
    assert code != 0 and "--scol and --tcol are both 2" in err


@pytest.mark.parametrize("on_error", ["fail", "replace", "skip"])
def test_bytes_that_are_not_utf_8(miner, tmp_path: Path, on_error: str) -> None:
    path = put(tmp_path / "a.tsv", b"gut\tgood\ngr\xfcn\tgreen\n\nja\tyes\n")
    output = tmp_path / "out.tsv"
    code, _, err = miner("score", path, "--score", "length", "--on-error", on_error,
                         "--threads", 1, "-o", output)  # fmt: skip
    if on_error == "fail":
        assert code == 1 and not output.exists() and f"{path}, line 2, byte offset 2" in err
        assert err.count("\n") == 1
        return
    green = b"gr\xfcn\tgreen\t0" if on_error == "skip" else "gr\ufffdn\tgreen\t1".encode()
    lines = output.read_bytes().split(b"\n")
    assert (code, lines) == (0, [b"gut\tgood\t1", green, b"\t0", b"ja\tyes\t1", b""])
    unreadable = "unreadable rows, scored as empty ones: 1\n"
    assert err == (unreadable if on_error == "skip" else "rows with bytes replaced: 1\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give one BITEXT"),
        (("a.tsv", "-o", "out.de", "out.en"), "-o takes one file"),
        (("--source", "a", "--target", "b", "-o", "o.de", "o.en"), "-o takes one file"),
        (("--source", "-", "--target", "-"), "only one of SOURCE and TARGET"),
        (("a.tsv", "--score", "duplicates"), "there is no score 'duplicates'; there are: "),
        (("a.tsv", "--score", "qality"), "there is no score 'qality'"),
        (
            ("a.tsv", "--score", "perplexity"),
            "perplexity needs settings; give them in a",
        ),
        (("a.tsv", "--source-lang", "d3"), "'d3' is no language code"),
        (("a.tsv", "--format", "bucc"), "'bucc' is not one of"),
        (("a.tsv", "--threads", "0"), "--threads"),
    ],
)
def test_usage(miner, tmp_path: Path, monkeypatch, arguments, words) -> None:
    monkeypatch.chdir(tmp_path)
    put(Path("a.tsv"), b"a\tb\n")
    code, out, err = miner("score", *arguments)
    assert (code, out) == (2, "") and words in err and "Traceback" not in err
    assert os.listdir() == ["a.tsv"] and Path("a.tsv").read_bytes() == b"a\tb\n"


def test_scores_by_a_configuration(miner, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("a b c\td e\t1.5\n\t\t0\n", encoding="utf-8")
    config = tmp_path / "filters.toml"
    tables = ("name = 'cost'\ncolumn = 3", "name = 'length'\nmaximum = 1", "name = 'duplicates'")
    config.write_text("".join(f"[[filter]]\n{table}\n" for table in tables), encoding="utf-8")
    code, out, _ = miner("score", pairs, "--config", config, "--score-only")
    assert code == 0 and out == "1.5\t3\n0\t0\n"
    code, _, err = miner("score", pairs, "--config", config, "--score", "length")
    assert code == 2 and "either --score or --config" in err


def test_a_second_opinion(miner, bitext, knowing_model, tmp_path, monkeypatch):
    monkeypatch.setattr(second_opinion, "BAND", (0.001, 0.9999))
    options = (*COLUMNS, "--model", knowing_model, "--score-only")
    alone = miner("score", bitext, *options)[1]
    code, found, err = miner("score", bitext, *options, "--second", knowing_model)
    assert code == 0 and found != alone and len(found) > 100
    assert "second opinion: " in err and " sentences read (" in err
    shards = ("--backend", "serial", "--shard-lines", 11, "--work", tmp_path / "work")
    assert miner("score", bitext, *options, "--second", knowing_model, *shards)[1] == found
    code, out, err = miner("score", bitext, *options, "--second", f"hf:{tmp_path}/gone")
    assert code == 1 and out == "" and len(err.strip().splitlines()) == 1 and "gone" in err
    code, _, err = miner("score", bitext, *options, "--score", "length", "--second", knowing_model)
    assert code == 1 and "add quality" in err
    code, _, err = miner("score", bitext, *options, "--runtime", "onnx")
    assert code == 2 and "give --second" in err
