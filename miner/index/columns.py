"""Store of an index: sentences in a text file; their vectors and origins in an HDF5 file.

``embeddings.h5`` holds contiguous, uncompressed datasets, so that they open by memory map:

- ``embeddings (n, d) float16``: unit vectors; a zero row for a sentence without a known unit
- ``offset (n + 1,) int64``: start of each sentence in ``sentences.txt``, in bytes
- ``line (n,) int64`` and ``file (n,) int32``: origin of each sentence
- ``first (n,) int64``: first row with the same plain form (:func:`miner.text.words.plain_form`),
  often the row itself

``sentences.txt`` is UTF-8, one sentence a line. ``ids.txt`` has the same form, and exists only if
the corpus has ids. Rows are appended, and the store is then sealed; a store that was never sealed
does not open.
"""

import hashlib
import math
import mmap
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import GrowingArray
from miner.errors import ArtifactError, ResourceError, reason
from miner.index import hdf5
from miner.index.duplicates import first_rows
from miner.index.sentence_file import SentenceFile
from miner.machine import release_pages
from miner.text.output import one_line
from miner.text.words import plain_form

EMBEDDINGS = "embeddings.h5"
SENTENCES = "sentences.txt"
IDS = "ids.txt"
# Maximum number of rows: a search holds positions as int32.
MOST = np.iinfo(np.int32).max
# Rows per write or conversion.
BLOCK = 16_384
# Row tables of a part of a corpus: line, offset in `sentences.txt`, and hash of each row.
PART = ("line", "offset", "hash")


class TextWriter:
    """Writer of the sentences and of the row tables of an index, or of a part of its corpus.

    An index is closed by :meth:`close`, and :class:`VectorWriter` follows it; a part by
    :meth:`close_part`, for :meth:`append_part`.
    """

    def __init__(self, directory: Path):
        self.directory = directory
        self._sentences = open(directory / SENTENCES, "wb")  # noqa: SIM115 (closed by close())
        self._id_file = open(directory / IDS, "wb")  # noqa: SIM115
        self._own_ids = False
        # HDF5 needs their length in advance. Until then they are files: in memory they would take
        # most of the memory that a large corpus needs.
        self._offsets = GrowingArray(np.int64, directory)
        self._lines = GrowingArray(np.int64, directory)
        self._files = GrowingArray(np.int32, directory)
        self._hashes = GrowingArray(np.uint64, directory)
        self._offsets.append(np.zeros(1))
        self._end = self._rows = 0

    def append(
        self, sentences: Sequence[str], ids: Sequence[str], lines: np.ndarray, file: int = 0
    ) -> bool:
        """Append rows of file number ``file``. Returns True if an id is not its line number."""
        # JSON and Parquet allow line breaks inside a sentence. They become spaces.
        encoded = [one_line(sentence).encode("utf-8") + b"\n" for sentence in sentences]
        self._sentences.write(b"".join(encoded))
        self._id_file.write("".join(f"{one_line(name)}\n" for name in ids).encode("utf-8"))
        own_ids = any(map(str.__ne__, ids, map(str, lines.tolist())))
        self._own_ids |= own_ids
        n = len(encoded)
        self._rows += n
        check_rows(self._rows)
        ends = self._end + np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=n))
        self._end = int(ends[-1]) if n else self._end
        self._offsets.append(ends)
        self._lines.append(lines)
        self._files.append(np.full(n, file))
        self._hashes.append(_hashes(sentences))
        return own_ids

    def append_store(self, old: "Store") -> None:
        for start in range(0, len(old), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(old)))
            texts, ids = old.texts.slice(start, start + len(rows)), old.ids(rows)
            for file in np.unique(old.file[rows]).tolist():
                chosen = np.flatnonzero(old.file[rows] == file)
                self.append(
                    [texts[row] for row in chosen],
                    [ids[row] for row in chosen],
                    old.line[rows[chosen]],
                    file,
                )

    def append_part(
        self, part: Path, tables: Sequence[np.ndarray], number: int, own_ids: bool
    ) -> None:
        """Append a part and its row tables of :meth:`close_part`, as rows of file ``number``."""
        with open(part / SENTENCES, "rb") as file:
            shutil.copyfileobj(file, self._sentences)
        with open(part / IDS, "rb") as file:
            shutil.copyfileobj(file, self._id_file)
        lines, offsets, hashes = tables
        ends = offsets[1:]
        self._own_ids |= own_ids
        for start in range(0, len(lines), BLOCK):
            rows = slice(start, start + BLOCK)
            self._offsets.append(self._end + ends[rows])
            self._lines.append(lines[rows])
            self._files.append(np.full(len(lines[rows]), number))
            self._hashes.append(hashes[rows])
        self._end += int(ends[-1]) if len(ends) else 0
        self._rows += len(lines)
        check_rows(self._rows)

    def lines(self) -> np.ndarray:
        """Return the line of each row written so far, ``(n,) int64``."""
        return self._lines.array()

    def close_part(self) -> dict[str, np.ndarray]:
        """Close the files of a part of a corpus; return its row tables, by the names of PART."""
        self._sentences.close()
        self._id_file.close()
        columns = (self._lines, self._offsets, self._hashes)
        return {name: column.array() for name, column in zip(PART, columns, strict=True)}

    def close(self, dimension: int, first: np.ndarray | None = None) -> int:
        """Write the row tables and reserve space for the vectors. Returns the number of rows.

        ``first (n,) int64``: first row with the same plain form, if already known.
        """
        self._sentences.close()
        self._id_file.close()
        if not self._own_ids:
            (self.directory / IDS).unlink()
        columns = (self._offsets, self._lines, self._files, self._hashes)
        offset, line, number, hashes = (np.asarray(column.array()) for column in columns)
        tables = {"offset": offset, "line": line, "file": number}
        if first is None:
            first = first_rows(hashes, SentenceFile(self.directory / SENTENCES, offset).__getitem__)
        tables["first"] = first
        path = self.directory / EMBEDDINGS
        with hdf5.errors(), hdf5.open_file(path, "w") as file:
            places = {
                name: hdf5.reserve(file, name, table.shape, table.dtype)
                for name, table in tables.items()
            }
            hdf5.reserve(file, "embeddings", (len(line), dimension), np.float16)
            file.attrs["own_ids"] = self._own_ids
            file.attrs["plain_forms"] = True
            file.attrs["sealed"] = False
        with open(path, "r+b") as plain:
            for name, table in tables.items():
                plain.seek(places[name])
                plain.write(table.data)
        return len(line)


class VectorWriter:
    """Writer of the vectors, in the order of the rows, after :meth:`TextWriter.close`.

    A context manager: it seals the store if the block ends without an exception. ``rows`` counts
    the vectors written.
    """

    def __init__(self, directory: Path):
        self._path = directory / EMBEDDINGS
        with hdf5.open_file(self._path, "r") as file:
            self._total = len(file["embeddings"])
            start = file["embeddings"].id.get_offset() or 0  # none without rows
        self._file = open(self._path, "r+b")  # noqa: SIM115 (closed by __exit__)
        self._file.seek(start)
        self.rows = 0

    def __enter__(self) -> "VectorWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.seal()
        finally:
            with suppress(OSError):  # a full disk: the store is abandoned
                self._file.close()

    def append(self, vectors: np.ndarray) -> None:
        """Append rows ``(b, d)``, finite, of unit length or zero."""
        self._file.write(np.ascontiguousarray(vectors, dtype=np.float16).data)
        self.rows += len(vectors)

    def copy(self, vectors: np.ndarray) -> None:
        """Append the vectors of an older store."""
        for start in range(0, len(vectors), BLOCK):
            self.append(vectors[start : start + BLOCK])

    def seal(self) -> None:
        """Mark the store as complete. Raises ValueError while rows are missing."""
        if self.rows != self._total:
            raise ValueError(f"{self.rows} vectors for {self._total} sentences")
        self._file.close()
        with hdf5.errors(), hdf5.open_file(self._path, "r+") as file:
            file.attrs["sealed"] = True


class Store:
    """Sealed store, opened by memory map. Attributes are the datasets of the module docstring.

    ``own_ids`` is True if the corpus has ids; otherwise line numbers are the ids. Raises
    :class:`~miner.errors.ArtifactError` for an incomplete store.
    """

    def __init__(self, directory: Path):
        path = directory / EMBEDDINGS
        try:
            with hdf5.open_file(path, "r") as file:
                if not (file.attrs["sealed"] and file.attrs["plain_forms"]):
                    raise ArtifactError(f"{path}: was never finished; build the index again")
                self.vectors = _mapped(path, file["embeddings"])
                self.offset = _mapped(path, file["offset"])
                self.line = _mapped(path, file["line"])
                self.file = _mapped(path, file["file"])
                self.first = _mapped(path, file["first"])
                self.own_ids = bool(file.attrs["own_ids"])
        except (OSError, KeyError, ValueError, TypeError, RuntimeError, OverflowError) as error:
            raise ArtifactError(
                f"{path}: not a complete embeddings file ({reason(error)}); build the index again"
            ) from None
        n = len(self.vectors)
        if self.vectors.ndim != 2 or not (
            len(self.line) == len(self.file) == len(self.first) == len(self.offset) - 1 == n
        ):
            raise ArtifactError(f"{path}: its tables differ in length; build the index again")
        check_rows(n)
        self.texts = SentenceFile(directory / SENTENCES, self.offset)
        self._ids: list[str] | None = None
        self._id_path = directory / IDS
        # Mapped now: the path may hold another index when the ids are read.
        self._id_text = _file_map(self._id_path) if self.own_ids else b""

    def __len__(self) -> int:
        return len(self.vectors)

    def ids(self, rows: np.ndarray) -> list[str]:
        """Return the ids of ``rows``: ids of the corpus, or line numbers as text."""
        if not self.own_ids:
            return [str(line) for line in self.line[rows].tolist()]
        if self._ids is None:
            try:
                self._ids = self._id_text[:].decode("utf-8").split("\n")[:-1]
            except ValueError as error:
                raise ArtifactError(f"{self._id_path}: cannot be read ({error})") from None
            if len(self._ids) != len(self):
                raise ArtifactError(f"{self._id_path}: cut short; build the index again")
        return [self._ids[row] for row in rows.tolist()]

    def distinct(self) -> np.ndarray:
        """Return the rows that can be neighbours, ``(m,) int64`` ascending.

        For each plain form, the first row whose vector is not zero.
        """
        known = np.zeros(len(self), dtype=bool)
        for start in range(0, len(self), BLOCK):
            # Bits without the sign, many times as fast as comparing float16.
            bits = self.vectors[start : start + BLOCK].view(np.uint16) & 0x7FFF
            known[start : start + BLOCK] = bits.any(axis=1)
            release_pages(self.vectors)
        rows = np.flatnonzero(known)
        _, positions = np.unique(self.first[rows], return_index=True)
        return np.sort(rows[positions])


def _hashes(sentences: Sequence[str]) -> np.ndarray:
    """Hash the plain form of each sentence, ``(n,) uint64``."""
    forms = (plain_form(one_line(sentence)).encode("utf-8") for sentence in sentences)
    digests = b"".join(hashlib.blake2b(form, digest_size=8).digest() for form in forms)
    return np.frombuffer(digests, dtype=np.uint64)


def check_rows(rows: int) -> None:
    if rows > MOST:
        raise ResourceError(f"an index holds at most {MOST:,} sentences; split the corpus")


def _file_map(path: Path) -> mmap.mmap | bytes:
    """Map a whole file into memory. Raises ArtifactError if it is missing or unreadable."""
    try:
        with open(path, "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return b""  # an empty file cannot be mapped
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise ArtifactError(f"{path}: missing; build the index again") from None
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read ({error})") from None


def _mapped(path: Path, dataset: Any) -> np.ndarray:
    """Map a dataset. Raises ValueError, before mapping, if the file is too short for it."""
    import h5py

    if not isinstance(dataset, h5py.Dataset):
        raise ValueError(f"{dataset.name} is no dataset")
    if dataset.size == 0:
        return np.empty(dataset.shape, dtype=dataset.dtype)
    offset = dataset.id.get_offset()
    # Not dataset.size, which may overflow.
    size = math.prod(dataset.shape) * dataset.dtype.itemsize
    if offset is None or offset + size > path.stat().st_size:
        raise ValueError(f"dataset {dataset.name} is cut short or not contiguous")
    return np.memmap(path, dtype=dataset.dtype, mode="r", offset=offset, shape=dataset.shape)
