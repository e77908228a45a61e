"""Opusparcus' own files (Creutz 2018, "Open Subtitles Paraphrase Corpus for Six Languages").

A set's archive holds ``opusparcus_v1/LL/dev/LL-dev.txt`` and ``test/LL-test.txt``, annotated by
two people each, and ``train/LL-train.txt.bz2``, ranked by machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from miner.errors import CorpusError
from miner.text.lines import read_lines
from miner.text.output import StrPath


class Annotated(NamedTuple):
    """A pair of ``dev`` or ``test``. grade: the annotators' mean, 1.0 (no paraphrase) to 4.0."""

    id: str
    first: str
    second: str
    grade: float


class Ranked(NamedTuple):
    """A pair of ``train``; the best come first in their file.

    pmi: the sum of pointwise mutual information over pivot languages, by which pairs are ranked.
    alignments: how often they were aligned over these languages, which may be an expected number.
    languages: pivot languages that both share. edit_distance: in characters; small for variants
    of one wording.
    """

    id: str
    first: str
    second: str
    pmi: float
    alignments: float
    languages: float
    edit_distance: float


def read_annotated(path: StrPath) -> list[Annotated]:
    """All pairs of a ``dev`` or ``test`` file, compressed by suffix or not.

    Raises CorpusError: columns, numbers, grades outside of 1 to 4, bytes, compression.
    """
    name = str(path)
    return list(parse_annotated(name, _texts(name)))


def read_ranked(path: StrPath) -> Iterator[Ranked]:
    """Pairs of a ``train`` file (``.txt.bz2`` as it comes, or plain), best first, as a stream.

    Raises CorpusError while iterating: columns, numbers, bytes, compression.
    """
    name = str(path)
    for number, text in enumerate(_texts(name), 1):
        cells = _cells(name, number, text, 7)
        figures = [_number(name, number, cell) for cell in cells[3:]]
        yield Ranked(cells[0], cells[1], cells[2], *figures)


def parse_annotated(name: str, texts: Iterable[str]) -> Iterator[Annotated]:
    """The pairs of a file's lines; ``name`` is for messages. Raises as :func:`read_annotated`."""
    for number, text in enumerate(texts, 1):
        cells = _cells(name, number, text, 4)
        grade = _number(name, number, cells[3])
        if not 1 <= grade <= 4:
            raise CorpusError(
                f"{name}, line {number}: grade {cells[3]} is not between 1 and 4; get it again"
            )
        yield Annotated(cells[0], cells[1], cells[2], grade)


def _texts(name: str) -> Iterator[str]:
    for number, line in enumerate(read_lines(name), 1):
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise CorpusError(f"{name}, line {number}: not UTF-8; get the file again") from None


def _cells(name: str, number: int, text: str, wanted: int) -> list[str]:
    cells = text.split("\t")
    if len(cells) != wanted:
        raise CorpusError(
            f"{name}, line {number}: {len(cells)} columns, not {wanted}; annotated files have 4 "
            "and ranked ones 7: read it as the other, or get it again"
        )
    return cells


def _number(name: str, number: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise CorpusError(
            f"{name}, line {number}: {cell!r} is not a number; get it again"
        ) from None
