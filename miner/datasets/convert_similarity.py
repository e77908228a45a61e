"""Converters of similarity sets: STS 2012 to 2017, the STS Benchmark and SICK-R.

Their common layout is ``score⇥sentence⇥sentence``, the score as its source writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path, PurePosixPath

from miner.datasets.archive import lines, members
from miner.datasets.catalog import STS_NAMES, STS_TRACKS
from miner.datasets.converted_files import (
    NO_GOLD,
    Convert,
    PartWriter,
    Row,
    line_pairs,
    missing_members,
    require_members,
    table_rows,
)
from miner.errors import CorpusError

SICK_SPLITS = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}
SICK_COLUMNS = ("sentence_A", "sentence_B", "relatedness_score", "SemEval_set")


def _sts(
    prefix: str, names: Sequence[str], writer: PartWriter, part: str, files: Sequence[Path]
) -> None:
    """Join the pairs in ``STS.input.NAME.txt`` (2016: ``STS2016.``) and ``STS.gs.NAME.txt``."""
    for name in names:
        # Each side has a reader of its own, so that neither is held in memory.
        with ExitStack() as stack:
            sides = [_sts_lines(stack, files, side, name) for side in ("input", "gs")]
            where = f"{files[0]}, {name}"
            rows = _sts_rows(where, line_pairs(where, *sides))
            writer.rows(f"sts/{prefix}.{name}.tsv", rows)


def _sts_lines(stack: ExitStack, files: Sequence[Path], side: str, name: str) -> Iterator[str]:
    """Return the lines of one side of the set ``name``, open as long as ``stack`` is."""
    wanted = re.compile(rf"STS(\d{{4}})?\.{side}\.(surprise\.)?{re.escape(name)}\.txt")
    for path in files:
        for member, file in stack.enter_context(members(path)):
            if wanted.fullmatch(PurePosixPath(member).name):
                return lines(file)
    raise missing_members(files[0], [f"{side} of {name}"])


def _sts_rows(where: str, pairs: Iterable[tuple[str, str]]) -> Iterator[Row | str]:
    for number, (pair, score) in enumerate(pairs, 1):
        cells = pair.split("\t")  # pairs of 2016 also name the sources of the sentences
        if len(cells) < 2:
            raise CorpusError(f"{where}, line {number}: no tab between two sentences")
        yield _scored_row(where, number, score, cells[0], cells[1], 0, 5)


def _stsb(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read genre, file, year, number, score, two sentences, and at times their sources."""
    (path,) = files
    found = set()
    with members(path) as entries:
        for name, file in entries:
            match = re.fullmatch(r"sts-(train|dev|test)\.csv", PurePosixPath(name).name)
            if match:
                found.add(match[1])
                where = f"{path}, {name}"
                rows = (
                    _scored_row(where, number, cells[4], cells[5], cells[6], 0, 5)
                    for number, cells in table_rows(where, lines(file), 7)
                )
                writer.rows(f"sts/stsb.en.{match[1]}.tsv", rows)
    require_members(path, {"train", "dev", "test"}, found)


def _sick(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read one table, whose last column names the split, once for each split."""
    (path,) = files
    for split, name in SICK_SPLITS.items():
        output = f"sts/sick-r.{name}.tsv"
        with members(path) as entries:
            for member, file in entries:
                if PurePosixPath(member).name == "SICK.txt":
                    writer.rows(output, _sick_rows(f"{path}, {member}", lines(file), split))
        if not writer.done.written.get(output):
            raise missing_members(path, [split])


def _sick_rows(where: str, texts: Iterable[str], wanted: str) -> Iterator[Row | str]:
    table = table_rows(where, texts, len(SICK_COLUMNS))
    _, head = next(table, (1, []))
    if not set(SICK_COLUMNS) <= set(head):
        raise CorpusError(f"{where}, line 1: names no column {' or '.join(SICK_COLUMNS)}")
    first, second, score, split = (head.index(column) for column in SICK_COLUMNS)
    for number, cells in table:
        if len(cells) != len(head) or cells[split] not in SICK_SPLITS:
            raise CorpusError(f"{where}, line {number}: not a row of TRAIN, TRIAL or TEST")
        if cells[split] == wanted:
            yield _scored_row(where, number, cells[score], cells[first], cells[second], 1, 5)


def _scored_row(
    where: str, number: int, score: str, first: str, second: str, low: float, high: float
) -> Row | str:
    """Return score and sentences, or `NO_GOLD` for a blank score.

    Raises CorpusError for a score that is not from ``low`` to ``high``.
    """
    score = score.strip()
    if not score:
        return NO_GOLD
    try:
        known = low <= float(score) <= high
    except ValueError:
        known = False
    if not known:
        raise CorpusError(f"{where}, line {number}: score {score!r} is not from {low} to {high}")
    return score, first.strip(), second.strip()


CONVERTERS: dict[str, Convert] = {
    **{f"sts{year}": partial(_sts, str(year), names) for year, names in STS_NAMES.items()},
    "sts2017": partial(_sts, "2017", STS_TRACKS),
    "stsb": _stsb,
    "sick-r": _sick,
}
