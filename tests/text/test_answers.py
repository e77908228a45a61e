"""Answers: a growing file, disagreeing judges, and spreadsheets."""

from pathlib import Path

import pytest

from miner.errors import CorpusError
from miner.text.answers import Answer, Answers, kappa, key_of
from miner.text.sheet import read_labels, read_sheet, write_sheet

PAIR = ("Ein Hund.", 'A "good" dog; really.')


def given(answer: str, judge: str = "anna", source: str = PAIR[0]) -> Answer:
    return Answer(source, PAIR[1], answer, judge)


def test_answers_are_kept_and_the_last_of_a_judge_counts(tmp_path: Path) -> None:
    answers = Answers.read(tmp_path / "a.jsonl")
    answers.add(given("yes"), given("no", "ben"))
    answers.add(given("no"))
    read = Answers.read(tmp_path / "a.jsonl")
    key = key_of(*PAIR)
    assert read.given == answers.given
    assert read.right(key) == answers.right(key) == 0
    answers.add(given("undo"))
    assert answers.right(key) == Answers.read(tmp_path / "a.jsonl").right(key) == 0.5
    answers.add(given("undo"), given("undo", "ben"))
    assert answers.right(key) is None and not answers.labels()


@pytest.mark.parametrize("tail", [b'{"source": "torn', b"\xff", b'{"source": "a"}'])
def test_a_torn_last_line_is_dropped_and_the_next_answer_is_whole(
    tmp_path: Path, tail: bytes
) -> None:
    path = tmp_path / "a.jsonl"
    Answers.read(path).add(given("yes"))
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    answers = Answers.read(path)
    answers.mend()
    answers.add(given("no", "ben"))
    assert [one.answer for one in Answers.read(path).given] == ["yes", "no"]
    path.write_bytes(whole.rstrip(b"\n"))  # only the last line's end is missing
    answers = Answers.read(path)
    answers.mend()
    answers.add(given("no", "ben"))
    assert [one.answer for one in Answers.read(path).given] == ["yes", "no"]


@pytest.mark.parametrize("blank", [b"\n", b"  \r\n\n", b"\xef\xbb\xbf"])
def test_the_last_answer_stays_in_a_file_with_blank_lines(tmp_path: Path, blank: bytes) -> None:
    path = tmp_path / "a.jsonl"
    Answers.read(path).add(given("yes"))
    path.write_bytes(blank + path.read_bytes().rstrip(b"\n"))
    answers = Answers.read(path)
    answers.mend()
    answers.add(given("no", "ben"))
    assert [one.answer for one in Answers.read(path).given] == ["yes", "no"]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    Answers.read(path).add(given("yes"))
    path.write_bytes(b'{"answer": "yes"}\n' + path.read_bytes())
    with pytest.raises(CorpusError, match="line 1: no answer"):
        Answers.read(path)


def test_agreement_and_kinds() -> None:
    answers = Answers()
    for number in range(6):
        answers.add(given("yes", "anna", f"s{number}"), given("yes", "ben", f"s{number}"))
    assert answers.agreement() == [("anna", "ben", 6, 1.0)]
    answers.add(given("partly", "ben", "s0"), Answer("s1", PAIR[1], "no", "ben", kind="other name"))
    keys = [key_of(f"s{number}", PAIR[1]) for number in range(6)]
    assert [answers.kinds(key) for key in keys[:3]] == [{"partly"}, {"other name"}, set()]
    # By hand: 4 of 6 agree; chance agreement is 1 * 4/6.
    assert answers.agreement()[0][3] == pytest.approx(0)
    assert kappa([(1, 1), (0, 0), (1, 0), (0, 1)]) == 0
    assert kappa([(1, 1)] * 3 + [(0, 0)]) == 1


def test_sheet_goes_out_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "sheet.tsv"
    write_sheet(path, [PAIR, ("b", "c")])
    head, first, second = path.read_text(encoding="utf-8").splitlines()
    path.write_text(f"{head}\n{first[:-2]}\tYes\t\n{second}\n", encoding="utf-8")
    ((key, answer),) = read_sheet(path, "anna")
    assert key == key_of(*PAIR) and answer == given("yes")
    assert read_labels(path) == {PAIR: 1.0}


@pytest.mark.parametrize("tab", [",", ";", "\t"])
def test_sheet_of_a_spreadsheet(tmp_path: Path, tab: str) -> None:
    """With a byte-order mark, quotes, other line ends and columns, and a changed text."""
    path = tmp_path / "sheet.csv"
    name = f"p{key_of(*PAIR):016x}"
    rows = [
        ["answer", "Source", "target", "pair", "kind", "judge"],
        ["P", "changed", '"A ""good"" dog; really."', name, "", "ben"],
        ["other number", "b", '"c, d; e"', "", "", ""],
        ["", "x", "y", "", "", ""],
    ]
    path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{tab.join(row)}\r\n" for row in rows).encode())
    first, second = read_sheet(path, "anna")
    assert first[0] == key_of(*PAIR) and first[1].judge == "ben" and first[1].answer == "partly"
    assert second[1] == Answer("b", "c, d; e", "no", "anna", kind="other number")


@pytest.mark.parametrize(
    "content, message",
    [
        (b"source\ttarget\na\tb\n", "no column 'answer'"),
        (b"source\ttarget\tanswer\na\tb\tmaybe\n", "line 2: 'maybe' is no answer"),
        ("source\ttarget\tanswer\nä\tb\ty\n".encode("latin-1"), "not UTF-8"),
        (b"", "no column 'source'"),
        (b"source\ttarget\tanswer\n", "has no answer"),
        (b'{"source": "a", "target": "b", "answer": "skip"}\n', "has no answer"),
    ],
)
def test_faulty_labels_are_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "labels").write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        read_labels(tmp_path / "labels")
