"""Collections of documents: folders of text files, and files with a document a row."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from miner.alignment.aligned import Document
from miner.documents.layout import WITH_DOCUMENTS, DocumentFormat
from miner.errors import CorpusError
from miner.index.columns import TextWriter
from miner.index.parts import part_texts
from miner.index.sources import Source
from miner.index.text_files import TextFile, text_files
from miner.tasks.task import Job, Result, hints
from miner.text.corpus import CorpusReader
from miner.text.formats import BitextFormat, file_format
from miner.text.layout import REPLACED, UNREADABLE
from miner.text.patterns import files_below
from miner.text.rows import Rows

# Text files per reading task; rows of documents parsed at a time.
FILES, ROWS = 1000, 256
# Id, URL and domain of each document, as lines of JSON.
NAMES = "documents.jsonl"
Name = tuple[str, str, str]


@dataclass(frozen=True)
class StoredDocument:
    """Document that a task has read: its rows there from ``start`` to ``end``, name and URL."""

    task: Result
    start: int
    end: int
    name: str
    url: str

    @property
    def bytes(self) -> int:
        offsets = self.task.array("offset")
        return int(offsets[self.end] - offsets[self.start])

    def read(self) -> Document:
        """Return the sentences, for an alignment."""
        texts = part_texts(self.task).slice(self.start, self.end)
        lines = self.task.array("line")[self.start : self.end] - 1
        return Document(self.name, texts, lines, self.url)


@dataclass(frozen=True)
class FileBatch:
    """Files that a task reads.

    ``ids`` name the documents of text files; None for a file with a document a row.
    """

    files: list[TextFile]
    ids: list[str] | None

    @property
    def bytes(self) -> int:
        return sum(file.stamp[0] for file in self.files)


def files_of(collection: str | Path | Sequence[str | Path]) -> list[tuple[str, str | None]]:
    """List the files of a collection: their paths and, below a folder, the paths from there."""
    files: list[tuple[str, str | None]] = []
    for name in [collection] if isinstance(collection, str | Path) else collection:
        if not os.path.isdir(name):
            files.append((str(name), None))
            continue
        inside = [str(path) for path in files_below(name)]
        if not inside:
            raise CorpusError(f"{name}: the folder has no file; name a folder of text files")
        files += [(path, os.path.relpath(path, name)) for path in inside]
    if not files:
        raise CorpusError("a collection is a folder, a file or several; none is named")
    return files


def batches(
    files: Sequence[tuple[str, str | None]], copies: Path, layout: DocumentFormat
) -> list[FileBatch]:
    """Divide the files of a collection among tasks. Streams are copied to ``copies`` first.

    Raises CorpusError for a file that cannot be read or has no documents.
    """
    file_batches = []
    rows = [path for path, inside in files if inside is None]
    for path in rows:
        kind = file_format(path, layout.format)
        if kind not in WITH_DOCUMENTS:
            raise CorpusError(
                f"{path}: {kind} has no documents; give a folder of text files, or JSONL or "
                "Parquet (--format)"
            )
    file_batches += [FileBatch([file], None) for file in text_files(rows, copies)]
    texts = [(path, inside) for path, inside in files if inside is not None]
    for start in range(0, len(texts), FILES):
        paths, ids = zip(*texts[start : start + FILES], strict=True)
        file_batches.append(FileBatch(text_files(paths, copies), list(ids)))
    return file_batches


@hints(seconds=7e-6)
def read(job: Job, batch: FileBatch, layout: DocumentFormat) -> dict[str, Any]:
    """Read the documents of some files: their sentences as a part of an index, and their names.

    ``edges (n + 1,)`` are the first rows of the documents, ``number (n,)`` line numbers within
    their document.
    """
    writer, tally = TextWriter(job.out), Counter[str]()
    edges, domains = [0], 0
    with open(job.out / NAMES, "w", encoding="utf-8") as names:
        for document in _documents(batch, layout, tally):
            if not document.texts:
                tally["empty"] += 1
                continue
            numbers = document.lines + 1
            writer.append(document.texts, list(map(str, numbers)), numbers)
            edges.append(edges[-1] + len(document.texts))
            domains += bool(document.domain)
            names.write(json.dumps([document.name, document.url, document.domain]) + "\n")
            job.report("reading documents", tally["records"], None)
    job.save(edges=np.array(edges), **writer.close_part())
    counts = {name: tally[name] for name in ("records", "empty", "undecodable", "replaced")}
    name = batch.files[0].name if batch.ids is None else os.path.dirname(batch.files[0].name)
    source = Source(name, **counts, own_ids=False, bytes=None, sha256=None)
    return {"rows": edges[-1], "source": vars(source), "domains": domains}


def _documents(batch: FileBatch, layout: DocumentFormat, tally: Counter[str]) -> Iterator[Document]:
    """Yield the documents of some files, with the empty ones; count them in ``tally``."""
    for number, file in enumerate(batch.files):
        with file.opened() as path:
            if batch.ids is not None:
                yield _of_file(path, batch.ids[number], layout.on_error, tally)
            else:
                yield from _of_rows(path, file.name, layout, tally)


def _of_file(path: str, name: str, on_error: str, tally: Counter[str]) -> Document:
    reader = CorpusReader(path, format="plain", on_error=on_error)
    blocks = list(reader)
    tally["records"] += 1
    tally["replaced"] += bool(reader.replaced or reader.undecodable)
    sentences = [sentence.strip() for block in blocks for sentence in block.sentences]
    lines = [np.empty(0, np.int64), *(block.lines - 1 for block in blocks)]
    return Document(name, sentences, np.concatenate(lines))


def _of_rows(
    path: str, name: str, layout: DocumentFormat, tally: Counter[str]
) -> Iterator[Document]:
    reading = BitextFormat(format=file_format(path, layout.format), on_error=layout.on_error)
    rows = Rows(path, None, reading, columns=layout.columns)
    rows.layout = replace(rows.layout, names=(name,))
    for first, cells in rows.cells(ROWS):
        columns, state = rows.layout.parse(first, cells, broken=layout.on_error == "skip")
        tally["undecodable"] += int(np.count_nonzero(state == UNREADABLE))
        tally["replaced"] += int(np.count_nonzero(state == REPLACED))
        for line, row in enumerate(zip(*columns, state.tolist(), strict=True), start=first):
            tally["records"] += 1
            text, identifier, url, short, domain, status = row
            if status == UNREADABLE:
                continue
            url = url or short
            if layout.by_host:
                domain = _host(url)
            parts = [part.strip() for part in text.split("\n")]
            lines = np.array([at for at, part in enumerate(parts) if part], np.int64)
            sentences = [part for part in parts if part]
            yield Document(identifier or f"{name}:{line}", sentences, lines, url, domain)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def names_of(place: Path) -> Iterator[Name]:
    """Yield id, URL and domain of each document that a task has read or joined."""
    with open(place / NAMES, encoding="utf-8") as file:
        for line in file:
            identifier, url, domain = json.loads(line)
            yield identifier, url, domain


def write_names(place: Path, names: Sequence[Name]) -> None:
    """Write id, URL and domain of each document, for :func:`names_of`."""
    with open(place / NAMES, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(name) + "\n" for name in names)
