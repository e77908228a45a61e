"""Converters of sets for mining and retrieval: BUCC 2018 and Tatoeba."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from miner.datasets.archive import lines, members
from miner.datasets.converted_files import PartWriter, both_sides, line_pairs, require_members
from miner.errors import CorpusError


def _bucc(writer: PartWriter, pair: str, files: Sequence[Path]) -> None:
    """Copy ``id⇥sentence`` and gold ``source id⇥target id`` files unchanged."""
    foreign, english = pair.split("-")
    for path, split in zip(files, ("sample", "training", "test"), strict=True):
        wanted = {f"{pair}.{split}.{side}" for side in (foreign, english)}
        # No gold of test is known to be published; it is copied if it ever is.
        gold = f"{pair}.{split}.gold"
        found = set()
        with members(path) as entries:
            for name, file in entries:
                base = PurePosixPath(name).name
                if base in wanted | {gold}:
                    found.add(base)
                    where = f"{path}, {name}"
                    writer.copy(f"bucc2018/{pair}/{base}", _lines_with_tabs(where, file))
        require_members(path, wanted if split == "test" else wanted | {gold}, found)


def _lines_with_tabs(where: str, file: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(file, 1):
        if b"\t" not in line and line.strip():
            raise CorpusError(f"{where}, line {number}: no tab; it is not BUCC's format")
        yield line if line.endswith(b"\n") else line + b"\n"


def _tatoeba(writer: PartWriter, pair: str, files: Sequence[Path]) -> None:
    with members(files[0]) as foreign, members(files[1]) as english:
        sides = [lines(next(side)[1]) for side in (foreign, english)]
        rows = line_pairs(f"{files[0]} and {files[1].name}", *sides)
        writer.rows(f"tatoeba/{pair}.tsv", map(both_sides, rows))


CONVERTERS = {"bucc2018": _bucc, "tatoeba": _tatoeba}
