"""Catalogue of public data sets, from `catalog.toml`: addresses, sizes, checksums, licences.

A size or checksum stands there only where a source states it; None is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.config_fields import read_toml

# Name of the only part of a set that is not split by language.
ALL = "all"
# Data sets of each year of STS, and the tracks of 2017.
STS_NAMES = {
    2012: ("MSRpar", "MSRvid", "SMTeuroparl", "OnWN", "SMTnews"),
    2013: ("FNWN", "headlines", "OnWN"),
    2014: ("deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news"),
    2015: ("answers-forums", "answers-students", "belief", "headlines", "images"),
    2016: ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
STS_TRACKS = (
    *("track1.ar-ar", "track2.ar-en", "track3.es-es", "track4a.es-en", "track4b.es-en"),
    *("track5.en-en", "track6.tr-en"),
)


@dataclass(frozen=True)
class File:
    """File to download.

    address: http or https. size: bytes, or None. sha256: hexadecimal, or None. saved_as: its name
    under ``downloads``; by default the last part of the address.
    """

    address: str
    size: int | None = None
    sha256: str | None = None
    saved_as: str = ""

    @property
    def name(self) -> str:
        return self.saved_as or self.address.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Dataset:
    """Data set.

    parts: files by language pair or language (or `ALL`). licence: as stated by the source, or
    "unknown". large: parts are so large that the user must choose. note: a warning or explanation
    for the user.
    """

    name: str
    content: str
    home: str
    parts: Mapping[str, tuple[File, ...]]
    licence: str = "unknown"
    note: str = ""
    large: bool = False

    @property
    def whole(self) -> bool:
        """True if the set is not split by language."""
        return list(self.parts) == [ALL]

    @property
    def files(self) -> list[File]:
        return [file for files in self.parts.values() for file in files]


def _dataset(
    name: str,
    checksums: Mapping[str, str],
    *,
    files: list[str],
    parts: str = ALL,
    named: str = "{}",
    **facts: Any,
) -> Dataset:
    """Return the data set of a table of the catalogue."""
    files_of = {}
    for part in parts.split():
        code, _, short = part.partition(":")
        files_of[named.format(short or code)] = tuple(
            _file(file.format(part=code), checksums) for file in files
        )
    return Dataset(name=name, parts=dict(sorted(files_of.items())), **facts)


def _file(line: str, checksums: Mapping[str, str]) -> File:
    """Return the file of an address, and perhaps the name of its download after it."""
    address, _, saved_as = line.partition(" ")
    size, _, sha256 = checksums.get(address.rsplit("/", 1)[1], "").partition(" ")
    return File(address, int(size) if size else None, sha256 or None, saved_as)


_TABLES = read_toml(Path(__file__).with_suffix(".toml"))
_CHECKSUMS = _TABLES.pop("checksums")
CATALOG = {name: _dataset(name, _CHECKSUMS, **table) for name, table in _TABLES.items()}
