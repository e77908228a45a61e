"""Sheets of questions to fill in with a spreadsheet or another program, and their answers."""

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from miner.errors import CorpusError, reason
from miner.text.answers import KINDS, RIGHT, SKIP, Answer, Answers, key_of
from miner.text.output import StrPath, one_line, open_output

# Id of a pair in a sheet. The letter keeps spreadsheets from rounding the number.
_NAME = re.compile("p[0-9a-f]{16}")
COLUMNS = ("pair", "source", "target", "answer", "kind")
# Words accepted for each answer.
WORDS = {
    **dict.fromkeys(("y", "yes", "1", "1.0", "true", "right", "good", "ok", "ja", "oui"), "yes"),
    **dict.fromkeys(("n", "no", "0", "0.0", "false", "wrong", "bad", "nein", "non"), "no"),
    **dict.fromkeys(("p", "partly", "partial", "0.5"), "partly"),
    **dict.fromkeys(("s", "skip", "?", "unsure"), SKIP),
}


def write_sheet(path: StrPath, pairs: Iterable[tuple[str, str]]) -> None:
    """Write a tab-separated sheet with a row for each pair, to be filled in. Raises ResourceError.

    Scores are omitted, so that they do not influence the judge.
    """
    with open_output(path) as file:
        file.write("\t".join(COLUMNS) + "\n")
        for source, target in pairs:
            name = f"p{key_of(source, target):016x}"
            file.write("\t".join((name, one_line(source), one_line(target), "", "")) + "\n")


def read_sheet(path: StrPath, judge: str = "", time: str = "") -> list[tuple[int, Answer]]:
    """Read the answers of a sheet, saved by any program, with the id of each pair.

    Rows without an answer are skipped. Columns are found by name, between tabs, commas or
    semicolons; source, target and answer are required. A byte-order mark, quotes and any line ends
    are allowed. A column ``judge`` overrides the argument ``judge``. Raises CorpusError with the
    line for anything else.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {reason(error)}") from None
    except UnicodeDecodeError:
        raise CorpusError(f"{path}: not UTF-8; save the sheet as 'CSV UTF-8'") from None
    head = text.partition("\n")[0]
    tab = max("\t;,", key=head.count)
    # Unless a cell begins with a quote, quotes are part of the text.
    quote = '"' if f'{tab}"' in text or text.startswith('"') else None
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=tab, quotechar=quote)
    answers = []
    try:
        names = [cell.strip().lower() for cell in next(rows, [])]
        if missing := [name for name in COLUMNS[1:4] if name not in names]:
            raise CorpusError(f"{path}: no column {missing[0]!r}; the first line must name it")
        for cells in rows:
            row = dict(zip(names, cells, strict=False))
            if row.get("answer", "").strip():
                where = f"{path}, line {rows.line_num}"
                answers.append(_answered(row, where, judge, time))
    except csv.Error as error:
        raise CorpusError(f"{path}, line {rows.line_num}: {error}; save the sheet again") from None
    return answers


def _answered(row: Mapping[str, str], where: str, judge: str, time: str) -> tuple[int, Answer]:
    word = row["answer"].strip()
    answer = WORDS.get(word.lower())
    kind = (row.get("kind") or "").strip()
    if answer is None and word.lower() in KINDS:
        answer, kind = "no", kind or word.lower()
    if answer is None:
        raise CorpusError(f"{where}: {word!r} is no answer; write yes, no, partly or skip")
    who = (row.get("judge") or "").strip() or judge
    entry = Answer(row["source"], row.get("target") or "", answer, who, time, kind)
    name = (row.get("pair") or "").strip()
    return int(name[1:], 16) if _NAME.fullmatch(name) else entry.key, entry


def read_labels(path: StrPath) -> dict[tuple[str, str], float]:
    """Read the probability that each pair is right, by its texts, from a review's answers or a
    sheet.

    Raises CorpusError for a file without any answer, or of neither kind.
    """
    file = Path(os.fspath(path))
    if not file.is_file():
        raise CorpusError(f"{path}: no such file; 'miner review' keeps answers in one")
    if file.read_bytes()[:4].removeprefix(b"\xef\xbb\xbf").startswith(b"{"):
        answers = Answers.read(file)
    else:
        answers = Answers()
        answers.add(*(answer for _, answer in read_sheet(file)))
    if not (labels := answers.labels()):
        raise CorpusError(f"{path}: has no answer; {', '.join(RIGHT)} are answers")
    return labels
