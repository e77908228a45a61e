"""Parts of data sets: choose, download, convert, and record them in SOURCES.json."""

import json
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.datasets.catalog import ALL, CATALOG, Dataset, File
from miner.datasets.convert import convert
from miner.datasets.converted_files import Converted
from miner.datasets.download import fetch
from miner.errors import ArtifactError, DownloadError, writing
from miner.json_files import read_json
from miner.progress import Reporter, silent
from miner.text.output import StrPath, open_output

DOWNLOADS, RECORD = "downloads", "SOURCES.json"

Record = dict[str, Any]
# Function that opens the progress display of a file's download, by file name.
Showing = Callable[[str], AbstractContextManager[Reporter]]


@dataclass(frozen=True)
class Got:
    """Part of a set on disk.

    files: address, bytes, sha256 and verified (checksum known) of each download
    converted: rows written and left out
    new: False if the part was there already
    """

    files: list[Record]
    converted: Converted
    new: bool


def choose(names: Sequence[str], pairs: Sequence[str] = ()) -> list[tuple[Dataset, str]]:
    """Return the parts ``pairs`` of the sets ``names``, or all parts if ``pairs`` is empty.

    A set without parts is returned whole. Raises DownloadError for unknown names and pairs, and for
    a large set without a pair.
    """
    chosen = []
    for name in dict.fromkeys(names):
        dataset = find(name)
        parts = list(dataset.parts)
        if dataset.whole:
            chosen.append((dataset, ALL))
            continue
        known = ", ".join(parts)
        if dataset.large and not pairs:
            raise DownloadError(f"{name}: is large; choose with --pair from {known}")
        if unknown := [pair for pair in pairs if pair not in parts]:
            raise DownloadError(f"{name}: no pair {unknown[0]}; there are {known}")
        chosen += [(dataset, part) for part in dict.fromkeys(pairs or parts)]
    return chosen


def find(name: str) -> Dataset:
    """Return the set of that name. Raises DownloadError."""
    if name not in CATALOG:
        raise DownloadError(f"{name}: no such data set; there are {', '.join(CATALOG)}")
    return CATALOG[name]


def get(
    dataset: Dataset,
    part: str,
    into: StrPath,
    *,
    mirror: str | None = None,
    showing: Showing = lambda name: nullcontext(silent),
    report: Reporter = silent,
) -> Got:
    """Download and convert a part of ``dataset`` below ``into``, unless it is there already.

    Downloads go to ``into/downloads`` and may be deleted afterwards; ``into/SOURCES.json`` records
    the source of every file. mirror: replaces scheme and host of every address. showing and
    report: progress of downloads and of conversion.

    Raises DownloadError, CorpusError (a download without the official layout), ArtifactError
    (SOURCES.json) and ResourceError.
    """
    into = Path(into)
    files = dataset.parts[part]
    record = read_record(into)
    before = record.get(dataset.name, {}).get("parts", {}).get(part)
    if before and _is_there(into, files, before):
        return Got(before["files"], Converted(before["written"], before["left_out"]), new=False)
    downloads = into / DOWNLOADS
    with writing(downloads):
        downloads.mkdir(parents=True, exist_ok=True)
    fetched = []
    for file in files:
        path, address = downloads / file.name, mirrored(file.address, mirror)
        with showing(file.name) as shown:
            sha256 = fetch(address, path, size=file.size, sha256=file.sha256, report=shown)
        source = {"address": file.address, "bytes": path.stat().st_size, "sha256": sha256}
        fetched.append({**source, "verified": file.sha256 is not None})
    paths = [downloads / file.name for file in files]
    converted = convert(dataset.name, part, paths, into, report)
    # Read again, because another process may have added to it.
    record = read_record(into)
    entry = record.setdefault(dataset.name, {"parts": {}})
    entry |= {"home": dataset.home, "licence": dataset.licence}
    entry["parts"][part] = {
        "files": fetched,
        "written": converted.written,
        "left_out": converted.left_out,
    }
    with open_output(into / RECORD) as out:
        json.dump(record, out, indent=2, sort_keys=True, ensure_ascii=False)
        out.write("\n")
    return Got(fetched, converted, new=True)


def mirrored(address: str, mirror: str | None) -> str:
    """Replace scheme and host of ``address`` by ``mirror``. Raises DownloadError."""
    if mirror is None:
        return address
    if not mirror.startswith(("http://", "https://")):
        raise DownloadError(f"{mirror}: not an address; --from begins with https:// or http://")
    return mirror.rstrip("/") + urllib.parse.urlsplit(address).path


def read_record(into: Path) -> Record:
    """Read SOURCES.json; empty if it is not there. Raises ArtifactError."""
    path = into / RECORD
    try:
        sources = read_json(path)
        for entry in sources.values():
            for part in entry["parts"].values():
                _ = part["files"], part["written"], part["left_out"]
        return dict(sources)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        raise ArtifactError(
            f"{path}: cannot be read as a record of downloads; move it away and repeat the command"
        ) from error


def _is_there(into: Path, files: Sequence[File], before: Mapping[str, Any]) -> bool:
    """Return True if the part comes from the files now in the catalogue, and is still on disk."""
    made_of = {source["address"]: source["sha256"] for source in before["files"]}
    same = made_of.keys() == {file.address for file in files} and all(
        file.sha256 in (None, made_of[file.address]) for file in files
    )
    return same and all((into / path).is_file() for path in before["written"])
