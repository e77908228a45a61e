"""Converters of paraphrase sets: MSRPC, PIT-2015, Opusparcus, to ``label⇥sentence⇥sentence``.

Opusparcus (Creutz 2018, "Open Subtitles Paraphrase Corpus for Six Languages") has an archive for
each language, with ``LL-dev.txt`` and ``LL-test.txt``, annotated by two people each, and
``LL-train.txt.bz2``, millions of pairs that no one has judged, the likeliest paraphrases first.
They become ``pmi⇥sentence⇥sentence`` in the same order, for ``miner train --keep`` (S18).

PIT-2015 (Xu, Callison-Burch and Dolan 2015, SemEval-2015 task 1) has pairs of tweets. The grade is
the number of five judges who see a paraphrase, in ``test.data`` an expert's, 0 to 5. It becomes a
set of similarity, as P17 uses it, and one of labels without the grades that are called debatable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from miner.datasets.archive import bz2_lines, lines, members
from miner.datasets.converted_files import (
    PartWriter,
    Row,
    both_sides,
    require_members,
    table_rows,
)
from miner.errors import CorpusError

# Columns of PIT-2015: topic and its name, two sentences, votes "(3, 2)" or a grade, and their tags.
PIT_COLUMNS = 7
DEBATABLE = "of a debatable grade"
# Columns of an annotated file: id, two sentences, the annotators' mean grade (1.0 to 4.0).
OPUSPARCUS_COLUMNS = 4
# Columns of the ranked training pairs: id, two sentences, sum of pointwise mutual information over
# pivot languages, expected back-translations, number of pivot languages, edit distance.
RANKED_COLUMNS = 7


def _msrpc(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read label, two ids and two sentences, under a header."""
    for path, split in zip(files, ("train", "test"), strict=True):
        with members(path) as entries:
            table = table_rows(str(path), lines(next(entries)[1]), 5)
            next(table, None)
            writer.rows(f"paraphrase/msrpc.{split}.tsv", _msrpc_rows(path, table))


def _msrpc_rows(path: Path, table: Iterable[tuple[int, list[str]]]) -> Iterator[Row]:
    for number, cells in table:
        if cells[0] not in ("0", "1"):
            raise CorpusError(f"{path}, line {number}: label {cells[0]!r} is not 0 or 1")
        yield cells[0], cells[3].strip(), cells[4].strip()


def _pit(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Read ``train.data``, ``dev.data`` and ``test.data``, each for two outputs."""
    (path,) = files
    found = set()
    for folder, rows_of in (("sts", _pit_rows), ("paraphrase", _pit_labels)):
        with members(path) as entries:
            for name, file in entries:
                match = re.fullmatch(r"(train|dev|test)\.data", PurePosixPath(name).name)
                if match:
                    found.add(match[1])
                    rows = rows_of(f"{path}, {name}", match[1], lines(file))
                    writer.rows(f"{folder}/pit-2015.{match[1]}.tsv", rows)
    require_members(path, {"train", "dev", "test"}, found)


def _pit_rows(where: str, part: str, texts: Iterable[str]) -> Iterator[Row]:
    """Yield grade and both sentences of each line."""
    for number, cells in table_rows(where, texts, PIT_COLUMNS):
        cell = cells[4].strip()
        match = re.fullmatch(r"([0-5])" if part == "test" else r"\(([0-5]), ?[0-5]\)", cell)
        if match is None:
            raise CorpusError(f"{where}, line {number}: {cell!r} is no grade; download it again")
        yield match[1], cells[2].strip(), cells[3].strip()


def _pit_labels(where: str, part: str, texts: Iterable[str]) -> Iterator[Row | str]:
    debatable = "3" if part == "test" else "2"
    for grade, first, second in _pit_rows(where, part, texts):
        label = "1" if grade > debatable else "0"
        yield DEBATABLE if grade == debatable else (label, first, second)


def _opusparcus(writer: PartWriter, language: str, files: Sequence[Path]) -> None:
    (path,) = files
    found = set()
    with members(path) as entries:
        for name, file in entries:
            match = re.fullmatch(rf"{language}-(dev|test)\.txt", PurePosixPath(name).name)
            if match:
                found.add(match[1])
                rows = _opusparcus_rows(f"{path}, {name}", lines(file))
                writer.rows(f"paraphrase/opusparcus.{language}.{match[1]}.tsv", rows)
            elif PurePosixPath(name).name in (f"{language}-train.txt.bz2", f"{language}-train.txt"):
                where = f"{path}, {name}"
                plain = bz2_lines(path, file) if name.endswith(".bz2") else file
                writer.rows(
                    f"train/paraphrases/opusparcus.{language}.tsv.gz",
                    _ranked_rows(where, lines(plain)),
                )
    require_members(path, {"dev", "test"}, found)


def _opusparcus_rows(where: str, texts: Iterable[str]) -> Iterator[Row]:
    """Yield grade and both sentences of each line of an annotated file."""
    for number, text in enumerate(texts, 1):
        cells = text.split("\t")
        if len(cells) != OPUSPARCUS_COLUMNS:
            raise CorpusError(
                f"{where}, line {number}: {len(cells)} columns, not {OPUSPARCUS_COLUMNS}; it is "
                "not the official layout"
            )
        _, first, second, cell = cells
        try:
            grade = float(cell)
        except ValueError:
            raise CorpusError(
                f"{where}, line {number}: {cell!r} is not a number; download it again"
            ) from None
        if not 1 <= grade <= 4:
            raise CorpusError(
                f"{where}, line {number}: grade {cell} is not between 1 and 4; download it again"
            )
        yield str(grade), first, second


def _ranked_rows(where: str, texts: Iterable[str]) -> Iterator[Row | str]:
    """Yield pointwise mutual information and both sentences of each line of ranked pairs."""
    for number, cells in table_rows(where, texts, RANKED_COLUMNS):
        _, first, second, cell = cells[:4]
        try:
            float(cell)
        except ValueError:
            raise CorpusError(
                f"{where}, line {number}: {cell!r} is not a number; download it again"
            ) from None
        pair = both_sides((first, second))
        yield pair if isinstance(pair, str) else (cell, *pair)


CONVERTERS = {"msrpc": _msrpc, "pit-2015": _pit, "opusparcus": _opusparcus}
