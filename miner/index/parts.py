"""Parts of an index: the files of a corpus, read one by one, and joined to the index of all."""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from miner.index.embed_corpus import Source
from miner.index.sentence_file import Texts
from miner.index.store import BLOCK, IDS, SENTENCES, TextWriter, VectorWriter, check_rows
from miner.index.stored import DIGEST, FILES, META, StoredIndex, digest, write_meta
from miner.text.artifacts import atomic_directory
from miner.text.words import LONGEST

# Files of a part of a corpus: the line, the offset in `sentences.txt` and the hash of each row; and
# one that is there if a row has an id other than its line number.
PART, OWN_IDS = ("line", "offset", "hash"), "own_ids"


class PartWriter(TextWriter):
    """Writer of the sentences of a part, or of an index that joins parts."""

    def append_part(self, part: Path, number: int) -> None:
        """Append a part, written by :meth:`close_part`, as the rows of file ``number``."""
        with open(part / SENTENCES, "rb") as file:
            shutil.copyfileobj(file, self._sentences)
        with open(part / IDS, "rb") as file:
            shutil.copyfileobj(file, self._id_file)
        lines, offsets, hashes = (np.load(part / f"{name}.npy", mmap_mode="r") for name in PART)
        ends = offsets[1:]
        self._own_ids |= (part / OWN_IDS).exists()
        for start in range(0, len(lines), BLOCK):
            rows = slice(start, start + BLOCK)
            self._offsets.append(self._end + ends[rows])
            self._lines.append(lines[rows])
            self._files.append(np.full(len(lines[rows]), number))
            self._hashes.append(hashes[rows])
        self._end += int(ends[-1]) if len(ends) else 0
        self._rows += len(lines)
        check_rows(self._rows)

    def close_part(self) -> int:
        """Write the row tables of a part of a corpus, for :meth:`append_part`; return its rows."""
        self._sentences.close()
        self._id_file.close()
        if self._own_ids:
            (self.directory / OWN_IDS).touch()
        columns = (self._lines, self._offsets, self._hashes)
        for name, column in zip(PART, columns, strict=True):
            np.save(self.directory / f"{name}.npy", column.array())
        return self._rows


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

    ``parts`` are directories of :meth:`PartWriter.close_part`, one for each file; ``vectors`` are
    blocks ``(b, d)`` of all their rows in order. The rows of the index ``before`` come first.
    ``first (n,) int64`` is the first row with the same plain form, where it is known. Returns all
    files.
    """
    writer = PartWriter(directory)
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
