"""Conversion of downloaded sets into the layout that is evaluated: one record a line, in TSV.

Converts aligned text and SentEval; :mod:`miner.datasets.convert_labelled` converts labelled pairs.
These sources have no quoting, whatever their suffix. Rows that a set's protocol skips, for example
pairs without a gold score, are skipped and counted.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path, PurePosixPath

from miner.datasets import convert_labelled
from miner.datasets.converted_files import (
    Convert,
    Converted,
    PartWriter,
    both_sides,
    first_member,
    line_pairs,
    wanted_members,
)
from miner.errors import CorpusError
from miner.progress import Reporter, silent
from miner.text.output import all_or_none

# SentEval's folder for each file of the archive of small sets (Wang and Manning 2012).
SMALL = {
    "rt-polarity.pos": "MR",
    "rt-polarity.neg": "MR",
    "custrev.pos": "CR",
    "custrev.neg": "CR",
    "subj.subjective": "SUBJ",
    "subj.objective": "SUBJ",
    "mpqa.pos": "MPQA",
    "mpqa.neg": "MPQA",
}
# Destination of each download of SentEval's sets (Conneau and Kiela 2018).
SENTEVAL = {
    "sst": [
        f"SST/{kind}/sentiment-{part}"
        for kind in ("binary", "fine")
        for part in ("train", "dev", "test")
    ],
    "trec": ["TREC/train_5500.label", "TREC/TREC_10.label"],
    "sick-e": [f"SICK/SICK_{part}.txt" for part in ("train", "trial", "test_annotated")],
}


def _bucc(writer: PartWriter, pair: str, files: Sequence[Path]) -> None:
    """Copy ``id⇥sentence`` and gold ``source id⇥target id`` files unchanged."""
    for path, split in zip(files, ("sample", "training", "test"), strict=True):
        # The gold of test is not known to be published; it is copied if it is there.
        ends = (*pair.split("-"), "gold")
        needed = {f"{pair}.{split}.{end}" for end in ends if (split, end) != ("test", "gold")}
        names = rf"({pair}\.{split}\.(?:{'|'.join(ends)}))"
        for name, where, file in wanted_members(path, names, needed):
            writer.copy(f"bucc2018/{pair}/{name}", _lines_with_tabs(where, file))


def _lines_with_tabs(where: str, file: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(file, 1):
        if b"\t" not in line and line.strip():
            raise CorpusError(f"{where}, line {number}: no tab; it is not BUCC's format")
        yield line if line.endswith(b"\n") else line + b"\n"


def _tatoeba(writer: PartWriter, pair: str, files: Sequence[Path]) -> None:
    with ExitStack() as stack:
        sides = [first_member(stack, [path]) for path in files]
        rows = line_pairs(f"{files[0]} and {files[1].name}", *sides)
        writer.rows(f"tatoeba/{pair}.tsv", map(both_sides, rows))


def _small(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    names = f"({'|'.join(map(re.escape, SMALL))})"
    for name, _, lines in wanted_members(files[0], names, set(SMALL)):
        place = f"senteval/{SMALL[name]}/{name}"
        if place not in writer.done.written:
            writer.copy(place, lines)


def _senteval(places: Sequence[str], writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    """Copy each download, or the only matching member of its archive, to its destination."""
    for path, place in zip(files, places, strict=True):
        name = PurePosixPath(place).name if path.suffix == ".zip" else path.name
        for _, _, lines in wanted_members(path, f"({re.escape(name)})", {name}):
            writer.copy(f"senteval/{place}", lines)


CONVERTERS: Mapping[str, Convert] = {
    "bucc2018": _bucc,
    "tatoeba": _tatoeba,
    **convert_labelled.CONVERTERS,
    "senteval-small": _small,
    **{name: partial(_senteval, places) for name, places in SENTEVAL.items()},
}


def convert(
    name: str, part: str, files: Sequence[Path], into: Path, report: Reporter = silent
) -> Converted:
    """Convert ``files``, the downloads of a part of the set ``name``, to files below ``into``.

    The files of a part are written together or not at all. Raises CorpusError (a damaged archive,
    an unexpected layout, sides that do not match) and ResourceError.
    """
    with all_or_none() as waiting:
        writer = PartWriter(into, waiting, report)
        CONVERTERS[name](writer, part, files)
    return writer.done
