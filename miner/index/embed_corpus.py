"""Corpus to store: reading of its files, then a vector for each sentence."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import CorpusError, MismatchError
from miner.index import store
from miner.index.vectors import unit_blocks
from miner.progress import Reporter
from miner.text.corpus import Reader
from miner.text.input_files import file_sha256
from miner.text_table import count_of


@dataclass(frozen=True)
class Source:
    """One file of a corpus, as it was read.

    ``empty`` and ``undecodable`` ones of the ``records`` gave no sentence, and ``replaced`` ones
    had bytes replaced. ``own_ids`` is True if it has ids other than line numbers. Size in bytes and
    SHA-256 are None for streams, which can be read only once.
    """

    path: str
    records: int
    empty: int
    undecodable: int
    replaced: int
    own_ids: bool
    bytes: int | None
    sha256: str | None


def read_corpus(
    writer: store.TextWriter,
    paths: list[str | Path],
    number: int,
    reading: Mapping[str, Any],
    report: Reporter,
) -> list[Source]:
    """Write the sentences of ``paths`` to ``writer``. Files are numbered from ``number``.

    Raises CorpusError for a file that cannot be read, or that changes meanwhile.
    """
    sources = []
    for file, path in enumerate(paths, start=number):
        reader = Reader(path, **reading)
        before = _stamp(path)
        own_ids = False
        for block in reader:
            own_ids |= writer.append(block.sentences, block.ids, block.lines, file)
            report(f"reading {path}", reader.lines, None)
        size, digest = _digest(path)
        if _stamp(path) != before:
            raise CorpusError(f"{path}: changed while it was read; run again once it is complete")
        counts = (reader.lines, reader.empty, reader.undecodable, reader.replaced)
        sources.append(Source(str(path), *counts, own_ids, size, digest))
    return sources


def read_with_vectors(
    writer: store.TextWriter,
    corpus: str | Path,
    array: np.ndarray,
    name: str | Path,
    number: int,
    reading: Mapping[str, Any],
    report: Reporter,
) -> tuple[Source, np.ndarray]:
    """Write the sentences of a file that has the vectors ``array (records, d)``; close the writer.

    The file gets ``number``. Returns its description and the row of ``array`` of each sentence.
    Raises MismatchError for another number of lines.
    """
    before = len(writer.lines())
    [source] = read_corpus(writer, [corpus], number, reading, report)
    if len(array) != source.records:
        raise MismatchError(
            f"{name} has {count_of(len(array), 'vector')} but {corpus} has "
            f"{count_of(source.records, 'line')}; there must be one vector for "
            "every line, empty lines included"
        )
    # Vector i is of record i; a header is a line but no record.
    records = writer.lines()[before:] - 1 - Reader(corpus, **reading).head
    writer.close(array.shape[1])
    return source, records


def copy_vectors(
    directory: Path,
    array: np.ndarray,
    records: np.ndarray,
    name: str,
    report: Reporter,
    old: np.ndarray | None = None,
) -> None:
    """Fill the store in ``directory`` with the rows ``records`` of ``array``, normalised; seal it.

    ``old (m, d)`` has the vectors of the first m sentences, which come before. Raises
    ArtifactError, naming the file ``name``, for a row with NaN or infinity.
    """
    with store.VectorWriter(directory) as output:
        if old is not None:
            output.copy(old)
        done = output.rows
        for block in unit_blocks(array, records, name):
            output.append(block)
            report("copying vectors", output.rows - done, len(records))


def _stamp(path: str | Path) -> tuple[int, int] | None:
    """Return size and time of change of a file; None for a stream."""
    if str(path) == "-" or not Path(path).is_file():
        return None
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def _digest(path: str | Path) -> tuple[int | None, str | None]:
    """Return size and SHA-256 of a file; None for a stream."""
    if str(path) == "-" or not Path(path).is_file():
        return None, None
    return Path(path).stat().st_size, file_sha256(path)
