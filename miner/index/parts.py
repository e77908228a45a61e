"""Parts of an index: files of a corpus, read one by one, then joined."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import MismatchError
from miner.index.columns import BLOCK, PART, SENTENCES, TextWriter, VectorWriter
from miner.index.directory import DIGEST, FILES, META, StoredIndex, digest, write_meta
from miner.index.sentence_file import SentenceFile
from miner.index.sources import Source, read_corpus
from miner.index.vectors import unit_blocks
from miner.progress import Reporter
from miner.tasks.task import Result
from miner.text.artifacts import atomic_directory
from miner.text.corpus import CorpusReader
from miner.text.words import LONGEST
from miner.text_table import count_of


def part_texts(part: Result) -> SentenceFile:
    """Open the sentences of a part of a corpus, which a task has read."""
    return SentenceFile(part.path / SENTENCES, part.array("offset"))


def long_lines(texts: SentenceFile, offsets: np.ndarray, lines: np.ndarray) -> tuple[int, int, int]:
    """Return the number of texts beyond ``LONGEST``, and line and characters of the longest."""
    long_rows = [(0, 0)]
    for start in range(0, len(texts), BLOCK):
        sizes = np.diff(offsets[start : start + BLOCK + 1])  # in bytes
        rows = start + np.flatnonzero(sizes > LONGEST)
        long_rows += [(size, row) for row in rows.tolist() if (size := len(texts[row])) > LONGEST]
    size, row = max(long_rows)
    return len(long_rows) - 1, int(lines[row]) if size else 0, size


def copy_index(index: StoredIndex, path: str | Path, names: Sequence[object]) -> None:
    """Copy an index to ``path``, with these names of its files.

    Raises ArtifactError for a path that is not an index, and ResourceError.
    """
    meta = dict(index.meta)
    with atomic_directory(path, marker=META) as directory:
        for name in meta[FILES]:
            try:  # work directories are often on the same file system, where a name suffices
                os.link(index.path / name, directory / name)
            except OSError:
                shutil.copyfile(index.path / name, directory / name)
        meta["sources"] = [vars(source) for source in index.with_names(names).sources]
        meta[DIGEST] = digest(meta)
        write_meta(directory, meta)


def join_parts(
    directory: Path,
    parts: Sequence[tuple[Result, Source]],
    vectors: Iterable[np.ndarray],
    dimension: int,
    first: np.ndarray | None = None,
    before: StoredIndex | None = None,
) -> list[Source]:
    """Write the sealed store of a text whose files were read one by one into ``directory``.

    ``parts`` are results of :func:`miner.index.stages.read`, one for each file; ``vectors`` are
    blocks ``(b, d)`` of all their rows in order. The rows of the index ``before`` come first.
    ``first (n,) int64`` is the first row with the same plain form, if known. Returns all files.
    """
    writer = TextWriter(directory)
    sources = []
    if before is not None:
        writer.append_store(before.store)
        sources += before.sources
    for part, source in parts:
        tables = [part.array(name) for name in PART]
        writer.append_part(part.path, tables, len(sources), source.own_ids)
        sources.append(source)
    _seal(writer, vectors, dimension, first, before)
    return sources


def join_vectors(
    directory: Path,
    corpus: str | Path,
    array: np.ndarray,
    name: str | Path,
    reading: Mapping[str, Any],
    report: Reporter,
    before: StoredIndex | None = None,
) -> list[Source]:
    """Write the sealed store of a file with vectors ``array (records, d)``, normalised.

    The rows of the index ``before`` come first. Returns all files. Raises MismatchError for another
    number of lines, and ArtifactError, naming the file ``name``, for a row with NaN or infinity.
    """
    writer = TextWriter(directory)
    sources: list[Source] = []
    if before is not None:
        writer.append_store(before.store)
        sources += before.sources
    old = len(writer.lines())
    source = read_corpus(writer, corpus, reading, report, len(sources))
    if len(array) != source.records:
        raise MismatchError(
            f"{name} has {count_of(len(array), 'vector')} but {corpus} has "
            f"{count_of(source.records, 'line')}; there must be one vector for "
            "every line, empty lines included"
        )
    # Vector i is of record i; a header is a line but no record.
    records = writer.lines()[old:] - 1 - CorpusReader(corpus, **reading).head

    def vectors() -> Iterator[np.ndarray]:
        done = 0
        for block in unit_blocks(array, records, str(name)):
            yield block
            done += len(block)
            report("copying vectors", done, len(records))

    _seal(writer, vectors(), array.shape[1], None, before)
    return [*sources, source]


def _seal(
    writer: TextWriter,
    vectors: Iterable[np.ndarray],
    dimension: int,
    first: np.ndarray | None,
    before: StoredIndex | None,
) -> None:
    """Write the row tables and the vectors of all rows, and seal the store."""
    writer.close(dimension, first)
    with VectorWriter(writer.directory) as output:
        if before is not None:
            output.copy(before.store.vectors)
        for block in vectors:
            output.append(block)
