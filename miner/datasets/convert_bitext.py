"""Converters of bitext for training: Europarl and News Commentary, to ``source⇥target``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from miner.datasets.archive import TAR, lines, members
from miner.datasets.converted_files import (
    Convert,
    PartWriter,
    both_sides,
    line_pairs,
    missing_members,
)


def _bitext(name: str, writer: PartWriter, pair: str, files: Sequence[Path]) -> None:
    """Read a tar of two aligned files, or a table whose file name tells the order of columns."""
    (path,) = files
    foreign, english = pair.split("-")
    output = f"train/{pair}/{name}.tsv.gz"
    if path.name.endswith(TAR):
        # Each side has a reader of its own, since a tar can only be read from front to back.
        with members(path) as one, members(path) as other:
            sides = [
                _member(path, entries, f".{pair}.{code}")
                for entries, code in ((one, foreign), (other, english))
            ]
            writer.rows(output, map(both_sides, line_pairs(str(path), *sides)))
        return
    english_first = f".{english}-{foreign}." in path.name
    with members(path) as entries:
        table = (text.split("\t") for text in lines(next(entries)[1]))
        pairs = ((cells + [""])[:2] for cells in table)  # further columns name the source
        writer.rows(output, (both_sides(pair[::-1] if english_first else pair) for pair in pairs))


def _member(path: Path, entries: Iterator[tuple[str, Iterable[bytes]]], end: str) -> Iterator[str]:
    """Return the lines of the member whose name ends in ``end``."""
    for name, file in entries:
        if name.endswith(end):
            return lines(file)
    raise missing_members(path, [f"a file that ends in {end}"])


CONVERTERS: dict[str, Convert] = {
    name: partial(_bitext, name) for name in ("europarl", "news-commentary")
}
