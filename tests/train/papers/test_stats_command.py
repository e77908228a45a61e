"""``miner stats``: its table, files and errors."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from miner_train.papers.text_statistics import SENTENCE_STATISTICS

Miner = Callable[..., tuple[int, str, str]]


@pytest.fixture
def scored(tmp_path: Path, german: list[str], english: list[str]) -> Path:
    """Write the small text as TSV: German, English, length of the English, a constant."""
    path = tmp_path / "scored.tsv"
    rows = [f"{de}\t{en}\t{len(en)}\t1\n" for de, en in zip(german, english, strict=True)]
    path.write_text("".join(rows) + "\tnur eine Seite\t1\t1\n", encoding="utf-8")
    return path


def cells(table: str) -> dict[str, list[str]]:
    """Split a printed table: the cells of each line by its label."""
    lines = [line for line in table.splitlines() if line.strip()]
    return {label: rest for label, *rest in (re.split(r"\s{2,}", line) for line in lines)}


def test_both_sides_in_one_file(miner: Miner, scored: Path, tmp_path: Path) -> None:
    code, out, err = miner("stats", scored, "--json", tmp_path / "statistics.json")
    assert code == 0 and "lines left out, empty or with an empty side: 1" in err
    record = json.loads((tmp_path / "statistics.json").read_text(encoding="utf-8"))
    table = cells(out)
    assert table[""] == ["source", "target", "target to source"]
    assert table["sentences"] == ["60", "60", "x 1.000"]
    ratio = record["target"]["types"] / record["source"]["types"]
    assert table["types (distinct tokens)"][-1] == f"x {ratio:.3f}"
    assert record["target_to_source"]["types"] == pytest.approx(ratio)
    gain = record["target"]["entropy"] - record["source"]["entropy"]
    assert table["entropy of tokens, bits"][-1] == f"{gain:+.3f}"
    assert table["repeated tokens"][-1].endswith(" points")
    assert record["spearman"] == {} and record["left_out"] == {"empty": 1, "undecodable": 0}


def test_two_files_are_the_same_text(miner, scored, german_file, english_file):
    both = miner("stats", "--source", german_file, "--target", english_file)
    assert both[0] == 0 and both[1] == miner("stats", scored)[1]


def test_rarity_in_a_file(miner, german_file, english_file, tmp_path):
    """Words of other texts are rarer than those of the table."""
    assert miner("stats", english_file, "--idf", english_file)[1] == miner("stats", english_file)[1]
    assert miner("stats", english_file, "--idf", german_file)[1] != miner("stats", english_file)[1]
    code, _, err = miner("stats", english_file, "--idf", tmp_path / "none.txt")
    assert code == 1 and "none.txt" in err


def test_scores(miner: Miner, scored: Path, tmp_path: Path) -> None:
    file = tmp_path / "statistics.json"
    code, out, _ = miner("stats", scored, "--score-col", 3, "--score-col", 4, "--json", file)
    assert code == 0 and "Spearman, column 3" in out and "Spearman, column 4" in out
    found = json.loads(file.read_text(encoding="utf-8"))["spearman"]
    assert found["3"]["target"]["characters"] == pytest.approx(1)
    assert 0 < found["3"]["source"]["characters"] < 1
    assert set(found["4"]["source"].values()) == {None}
    assert "+1.000" in out and out.splitlines()[-1].split()[-1] == "-"


def test_statistics_of_each_pair(miner: Miner, scored: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv.gz"
    assert miner("stats", scored, "--score-col", 3, "--per-pair", file)[0] == 0
    code, out, err = miner("stats", scored, "--score-col", 3, "--per-pair", "-")
    assert code == 0 and "mean IDF" in err, "the table goes to standard error"
    rows = list(csv.DictReader(out.splitlines(), delimiter="\t"))
    names = [f"{side}_{name}" for side in ("source", "target") for name in SENTENCE_STATISTICS]
    assert list(rows[0]) == ["line", "score_3", *names] and len(rows) == 60
    assert all(float(row["score_3"]) == float(row["target_characters"]) for row in rows)
    # The file that was written can be read.
    again = miner("stats", file, "--header", "--format", "tsv", "--column", "line",
                  "--score-col", "target_tokens")  # fmt: skip
    assert again[0] == 0 and "Spearman, column target_tokens" in again[1]


def test_one_text(miner: Miner, english_file: Path, scored: Path) -> None:
    code, out, err = miner("stats", english_file)
    assert code == 0 and not err and cells(out)[""] == ["text"]
    assert cells(out)["sentences"] == ["60"]
    code, out, _ = miner("stats", scored, "--column", 2, "--score-col", 3)
    assert code == 0 and cells(out)["sentences"] == ["61"]
    assert cells(out)["Spearman, column 3"] == ["text"]
    assert float(cells(out)["length, characters"][0]) > 0.9


def test_lines_that_are_not_utf8(miner: Miner, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"one two\n\xff\n\nthree\n")
    assert miner("stats", file)[0] == 1
    code, _, err = miner("stats", file, "--on-error", "skip")
    assert code == 0 and "lines left out, not UTF-8: 1" in err and "empty side: 1" in err
    assert "bytes replaced: 1" in miner("stats", file, "--on-error", "replace")[2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "give one BITEXT"),
        (["--source", "b", "--target", "c", "--score-col", "3"], "columns of BITEXT"),
        (["a.tsv", "--column", "1", "--tcol", "2"], "only text"),
        (["a.tsv", "--score-col", "2"], "columns 1, 2, 2: one is given twice"),
        (["a", "--format", "plain", "--score-col", "3"], "plain file has no columns"),
    ],
)
def test_options_that_exclude_each_other(miner: Miner, arguments: list[str], says: str) -> None:
    code, _, err = miner("stats", *arguments)
    assert code == 2 and says in err


def test_input_at_fault(miner: Miner, scored: Path, tmp_path: Path) -> None:
    scored.write_text("a\tb\tc\n", encoding="utf-8")
    code, out, err = miner("stats", scored, "--score-col", 3)
    assert code == 1 and not out and "line 1: the score 'c' is no number" in err
    for text in ("", "a\t\n"):
        scored.write_text(text, encoding="utf-8")
        code, out, err = miner("stats", scored, "--json", tmp_path / "statistics.json")
        assert code == 1 and not out and "nothing to count" in err
    assert not (tmp_path / "statistics.json").exists()
    code, _, err = miner("stats", scored, "--per-pair", scored)
    assert code == 2 and "would replace" in err
