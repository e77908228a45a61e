"""``miner review`` in the terminal and on sheets."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from support.files import write

Run = Callable[..., tuple[int, str, str]]
PAIRS = [("Der Hund schläft.", "The dog is sleeping."), ("Das Haus ist alt.", "The house is old.")]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    rows = [(1 - n / 100, f"{a} {n}", f"{b} {n}") for n in range(20) for a, b in PAIRS]
    return write(tmp_path / "pairs.tsv", rows)


def typed(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{key}\n" for key in keys)))


def test_answers_are_typed(
    miner: Run, pairs: Path, knowing_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "yynu3psq")
    code, out, err = miner("review", pairs, "--model", knowing_model, "--judge", "anna")
    assert code == 0, err
    assert "y yes, n no" in err and "4 of 40 pairs judged, 1 skipped" in err
    assert "26 more answers are needed" in err
    assert "machine-translated       1  about" in err and "partly                   1  about" in err
    assert out.count("Der Hund") + out.count("Das Haus") == 8
    typed(monkeypatch, "y" * 50)
    code, _, err = miner("review", pairs, "--model", knowing_model, "--judge", "anna")
    assert code == 0 and "39 of 40 pairs judged" in err
    assert "precision (90% interval)" in err and "50 more answers would narrow" in err
    typed(monkeypatch, "n" * 40)
    code, _, err = miner("review", pairs, "--model", knowing_model, "--judge", "ben", "--again")
    assert code == 0 and "anna and ben: kappa 0.0" in err


def test_words_without_counterpart_are_marked(
    miner: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.tsv").write_text(
        "0.5\tDer kleine Hund schläft.\tThe dog is sleeping.\n", encoding="utf-8"
    )
    typed(monkeypatch, "y")
    code, out, _ = miner("review", tmp_path / "one.tsv")
    assert code == 0 and "Der [kleine] Hund" in out


def test_sheet_and_labels(miner: Run, pairs: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.tsv"
    code, _, err = miner("review", pairs, "--tsv", sheet, "--count", 35)
    assert code == 0 and "35 questions written" in err
    sheet.write_text(sheet.read_text(encoding="utf-8").replace("\t\t\n", "\tyes\t\n"))
    code, _, err = miner("review", pairs, "--labels", sheet)
    assert code == 0 and "35 new answers read" in err and "35 of 40 pairs judged" in err


def test_a_folder_that_cannot_be_written(
    miner: Run, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulated by an error, since root may write everywhere."""
    monkeypatch.setattr("miner.review.review.os.access", lambda path, mode: False)
    code, _, err = miner("review", pairs, "--tsv", tmp_path / "sheet.tsv")
    assert code == 1 and err.count("\n") == 1 and err.rstrip().endswith("elsewhere by --answers")
    options = ("--answers", tmp_path / "answers.jsonl", "--tsv")
    assert miner("review", pairs, *options, tmp_path / "sheet.tsv")[0] == 0
    code, _, err = miner("review", pairs, *options, tmp_path / "none" / "sheet.tsv")
    assert code == 1 and err.count("\n") == 1 and "none/sheet.tsv: cannot be written" in err


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "give one BITEXT"),
        (["pairs.tsv", "--tsv", "a.tsv", "--labels", "b.tsv"], "one after another"),
        (["pairs.tsv", "--tsv", "a.tsv", "--web"], "one after another"),
        (["missing.tsv"], "missing.tsv"),
        (["pairs.tsv", "--labels", "missing.tsv"], "cannot be read"),
        (["-"], "name a file"),
    ],
)
def test_faults_are_one_line(
    miner: Run, pairs: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(pairs.parent)
    code, _, err = miner("review", *arguments)
    assert code in (1, 2) and message in err and "Traceback" not in err
