"""Parts of an index: the files of a corpus, read one by one, and joined to the index of all."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import MismatchError
from miner.index.sentence_file import Texts
from miner.index.sources import Source, read_corpus
from miner.index.store import BLOCK, SENTENCES, TextWriter, VectorWriter
from miner.index.stored import DIGEST, FILES, META, StoredIndex, digest, write_meta
from miner.index.vectors import unit_blocks
from miner.progress import Reporter
from miner.text.artifacts import atomic_directory
from miner.text.corpus import Reader
from miner.text.words import LONGEST
from miner.text_table import count_of


def part_texts(part: Path) -> Texts:
    """Open the sentences of a part of a corpus."""
    return Texts(part / SENTENCES, np.load(part / "offset.npy", mmap_mode="r"))


def part_hashes(part: Path) -> np.ndarray:
    """Map the hash of the plain form of each row of a part of a corpus, ``(n,) uint64``."""
    return np.load(part / "hash.npy", mmap_mode="r")


def part_lines(part: Path, start: int = 0, end: int | None = None) -> np.ndarray:
    """Return the line numbers of rows of a part of a corpus, by default all: int64, from 1."""
    return np.load(part / "line.npy", mmap_mode="r")[start:end].astype(np.int64)


def long_lines(part: Path) -> tuple[int, int, int]:
    """Return the number of texts beyond ``LONGEST``, and line and characters of the longest."""
    texts, offsets = part_texts(part), np.load(part / "offset.npy", mmap_mode="r")
    found = [(0, 0)]
    for start in range(0, len(texts), BLOCK):
        sizes = np.diff(offsets[start : start + BLOCK + 1])  # in bytes
        rows = start + np.flatnonzero(sizes > LONGEST)
        found += [(size, row) for row in rows.tolist() if (size := len(texts[row])) > LONGEST]
    size, row = max(found)
    line = int(np.load(part / "line.npy", mmap_mode="r")[row]) if size else 0
    return len(found) - 1, line, size


def copy_index(index: StoredIndex, path: str | Path, names: Sequence[object]) -> None:
    """Copy an index to ``path``, with these names of its files.

    Raises ArtifactError for a place that is not an index, and ResourceError.
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
    parts: Sequence[tuple[Path, Source]],
    vectors: Iterable[np.ndarray],
    dimension: int,
    first: np.ndarray | None = None,
    before: StoredIndex | None = None,
) -> list[Source]:
    """Write the sealed store of a text whose files were read one by one into ``directory``.

    ``parts`` are directories of :meth:`TextWriter.close_part`, one for each file; ``vectors`` are
    blocks ``(b, d)`` of all their rows in order. The rows of the index ``before`` come first.
    ``first (n,) int64`` is the first row with the same plain form, where it is known. Returns all
    files.
    """
    writer = TextWriter(directory)
    sources = []
    if before is not None:
        writer.append_store(before.store)
        sources += before.sources
    for part, source in parts:
        writer.append_part(part, len(sources))
        sources.append(source)
    writer.close(dimension, first)
    with VectorWriter(directory) as output:
        if before is not None:
            output.copy(before.store.vectors)
        for block in vectors:
            output.append(block)
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
    """Write the sealed store of a file that has the vectors ``array (records, d)``, normalised.

    The rows of the index ``before`` come first. Returns all files. Raises MismatchError for another
    number of lines, and ArtifactError, naming the file ``name``, for a row with NaN or infinity.
    """
    part = directory / "part"
    part.mkdir()
    writer = TextWriter(part)
    source = read_corpus(writer, corpus, reading, report)
    if len(array) != source.records:
        raise MismatchError(
            f"{name} has {count_of(len(array), 'vector')} but {corpus} has "
            f"{count_of(source.records, 'line')}; there must be one vector for "
            "every line, empty lines included"
        )
    writer.close_part()
    # Vector i is of record i; a header is a line but no record.
    records = part_lines(part) - 1 - Reader(corpus, **reading).head

    def vectors() -> Iterator[np.ndarray]:
        done = 0
        for block in unit_blocks(array, records, str(name)):
            yield block
            done += len(block)
            report("copying vectors", done, len(records))

    sources = join_parts(directory, [(part, source)], vectors(), array.shape[1], before=before)
    shutil.rmtree(part)
    return sources
