"""Converters of SentEval's sets (Conneau and Kiela 2018): copies, in SentEval's own folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from miner.datasets.archive import members
from miner.datasets.converted_files import PartWriter, require_members

# Folder of each file of the archive of small sets (Wang and Manning 2012).
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
SPLIT = ("train", "dev", "test")


def _small(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    (path,) = files
    found = set()
    with members(path) as entries:
        for name, lines in entries:
            file = PurePosixPath(name).name
            if file in SMALL and file not in found:
                found.add(file)
                writer.copy(f"senteval/{SMALL[file]}/{file}", lines)
    require_members(path, set(SMALL), found)


def _copied(places: Sequence[str], writer: PartWriter, files: Sequence[Path]) -> None:
    """Copy each download, or the only member of its archive, to its place."""
    for path, place in zip(files, places, strict=True):
        wanted = PurePosixPath(place).name
        found = set()
        with members(path) as entries:
            for name, lines in entries:
                if path.suffix != ".zip" or PurePosixPath(name).name == wanted:
                    found.add(wanted)
                    writer.copy(f"senteval/{place}", lines)
        require_members(path, {wanted}, found)


def _sentiment(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    kinds = ("binary", "fine")
    _copied([f"SST/{kind}/sentiment-{one}" for kind in kinds for one in SPLIT], writer, files)


def _questions(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    _copied(["TREC/train_5500.label", "TREC/TREC_10.label"], writer, files)


def _sick(writer: PartWriter, part: str, files: Sequence[Path]) -> None:
    names = "SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"
    _copied([f"SICK/{name}" for name in names], writer, files)


CONVERTERS = {
    "senteval-small": _small,
    "sst": _sentiment,
    "trec": _questions,
    "sick-e": _sick,
}
