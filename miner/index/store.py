"""Sentences and their vectors on disk, row by row: an HDF5 file and a plain text file.

``embeddings.h5`` holds contiguous, uncompressed datasets, so that they open by memory map:

- ``embeddings (n, d) float16``: unit vectors; the zero row for a sentence without known pieces
- ``offset (n + 1,) int64``: where each sentence starts in ``sentences.txt``
- ``line (n,) int64`` and ``file (n,) int32``: where each sentence came from
- ``first (n,) int64``: the first row with the same text, itself where there is none before

``sentences.txt`` is UTF-8, one sentence a line; ``ids.txt`` likewise, only where the corpus has
ids of its own. Rows are appended and the store then sealed; one that is not sealed never opens.
"""

import hashlib
import mmap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

from miner.errors import ArtifactError
from miner.index import hdf5
from miner.text.output import one_line

EMBEDDINGS = "embeddings.h5"
SENTENCES = "sentences.txt"
IDS = "ids.txt"
# Rows of one write or conversion.
BLOCK = 16_384


class TextWriter:
    """Sentences to ``sentences.txt``, with what is to be known of each; vectors come later."""

    def __init__(self, directory: Path):
        self.directory = directory
        self._sentences = open(directory / SENTENCES, "wb")  # noqa: SIM115 (closed by close())
        self._id_file = open(directory / IDS, "wb")  # noqa: SIM115
        self._own_ids = False
        # HDF5 wants to know their length first. Until then they are files: in memory they would
        # be most of what a large corpus takes.
        self._offsets = _Column(directory / "offset.partial", np.int64)
        self._lines = _Column(directory / "line.partial", np.int64)
        self._files = _Column(directory / "file.partial", np.int32)
        self._hashes = _Column(directory / "hash.partial", np.uint64)
        self._offsets.append(np.zeros(1))
        self._end = 0

    def append(
        self, sentences: Sequence[str], ids: Sequence[str], lines: np.ndarray, file: int
    ) -> bool:
        """Add rows of file number ``file``; returns whether any id is not its line number."""
        # A line break inside a sentence, which JSON and Parquet allow, becomes a space.
        encoded = [one_line(sentence).encode("utf-8") + b"\n" for sentence in sentences]
        self._sentences.write(b"".join(encoded))
        self._id_file.write("".join(f"{one_line(name)}\n" for name in ids).encode("utf-8"))
        own_ids = any(map(str.__ne__, ids, map(str, lines.tolist())))
        self._own_ids |= own_ids
        n = len(encoded)
        ends = self._end + np.cumsum(np.fromiter(map(len, encoded), dtype=np.int64, count=n))
        self._end = int(ends[-1]) if n else self._end
        self._offsets.append(ends)
        self._lines.append(lines)
        self._files.append(np.full(n, file))
        digests = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in encoded)
        self._hashes.append(np.frombuffer(digests, dtype=np.uint64))
        return own_ids

    def append_store(self, old: "Store") -> None:
        """Add all rows of another store."""
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

    def lines(self) -> np.ndarray:
        """``(n,) int64``: the line, or record, of every row; until the writer is closed."""
        return self._lines.map()

    def close(self, dimension: int) -> int:
        """Write the row tables and room for vectors of this dimension; returns the rows."""
        self._sentences.close()
        self._id_file.close()
        if not self._own_ids:
            (self.directory / IDS).unlink()
        columns = (self._offsets, self._lines, self._files, self._hashes)
        offset, line, number, hashes = (column.map() for column in columns)
        tables = {"offset": offset, "line": line, "file": number}
        tables["first"] = self._first(hashes, offset)
        path = self.directory / EMBEDDINGS
        with hdf5.errors(), h5py.File(path, "w") as file:
            places = {
                name: hdf5.reserve(file, name, table.shape, table.dtype)
                for name, table in tables.items()
            }
            hdf5.reserve(file, "embeddings", (len(line), dimension), np.float16)
            file.attrs["own_ids"] = self._own_ids
            file.attrs["sealed"] = False
        with open(path, "r+b") as plain:
            for name, table in tables.items():
                plain.seek(places[name])
                plain.write(table.data)
        for column in columns:
            column.remove()
        return len(line)

    def _first(self, hashes: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """``(n,) int64``: the first row of the same text. Equal hashes are checked by text."""
        texts = Texts(self.directory / SENTENCES, offset)
        # Equal hashes side by side, in the order of the rows. From here block by block, so that
        # this and the result are all that is in memory.
        order = np.asarray(np.argsort(hashes, kind="stable"))
        found = np.empty(len(order), dtype=np.int64)
        first = before = 0
        for start in range(0, len(order), BLOCK):
            rows = order[start : start + BLOCK]
            of_row = hashes[rows]
            begins = np.append(start == 0 or of_row[0] != before, of_row[1:] != of_row[:-1])
            # Where each row's group begins; -1 is in the block before.
            place = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), -1))
            firsts = np.where(place < 0, first, rows[place])
            first, before = firsts[-1], of_row[-1]
            for i in np.flatnonzero(~begins).tolist():
                if texts.raw(rows[i]) != texts.raw(firsts[i]):
                    firsts[i] = rows[i]
            found[rows] = firsts
        return found


class _Column:
    """Numbers that a file holds while they come in."""

    def __init__(self, path: Path, dtype: type):
        self._path, self._dtype = path, dtype
        self._file = open(path, "wb")  # noqa: SIM115 (closed by remove())

    def append(self, values: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).data)

    def map(self) -> np.ndarray:
        """All numbers so far, by memory map."""
        self._file.flush()
        if not self._path.stat().st_size:
            return np.empty(0, dtype=self._dtype)
        return np.asarray(np.memmap(self._path, dtype=self._dtype, mode="r"))

    def remove(self) -> None:
        self._file.close()
        self._path.unlink()


class VectorWriter:
    """Vectors into the room that :meth:`TextWriter.close` made, in the order of the rows."""

    def __init__(self, directory: Path):
        self._path = directory / EMBEDDINGS
        with h5py.File(self._path, "r") as file:
            self._rows = len(file["embeddings"])
            start = file["embeddings"].id.get_offset() or 0  # none for no rows
        self._file = open(self._path, "r+b")  # noqa: SIM115 (closed by close())
        self._file.seek(start)
        self._next = 0

    def append(self, vectors: np.ndarray) -> None:
        """The next rows: ``(b, d)``, finite, of unit length or zero."""
        self._file.write(np.ascontiguousarray(vectors, dtype=np.float16).data)
        self._next += len(vectors)

    def seal(self) -> None:
        """Declare the store complete; refuses (ValueError) while rows are missing."""
        if self._next != self._rows:
            raise ValueError(f"{self._next} vectors for {self._rows} sentences")
        self._file.close()
        with hdf5.errors(), h5py.File(self._path, "r+") as file:
            file.attrs["sealed"] = True

    def close(self) -> None:
        """Close the file, sealed or not; what cannot be written any more is given up."""
        with suppress(OSError):
            self._file.close()


class Store:
    """A sealed store, opened by memory map; attributes as the datasets in this module's head."""

    def __init__(self, directory: Path):
        path = directory / EMBEDDINGS
        try:
            with h5py.File(path, "r") as file:
                if not file.attrs.get("sealed", False):
                    raise ArtifactError(f"{path}: was never finished; build the index again")
                self.vectors = _mapped(path, file["embeddings"])
                self.offset = _mapped(path, file["offset"])
                self.line = _mapped(path, file["line"])
                self.file = _mapped(path, file["file"])
                self.first = _mapped(path, file["first"])
                # Whether the corpus has ids of its own; else its line numbers serve.
                self.own_ids = bool(file.attrs["own_ids"])
        except (OSError, KeyError, ValueError) as error:
            reason = str(error).split("\n")[0]
            raise ArtifactError(
                f"{path}: not a complete embeddings file ({reason}); build the index again"
            ) from None
        n = len(self.vectors)
        if self.vectors.ndim != 2 or not (
            len(self.line) == len(self.file) == len(self.first) == len(self.offset) - 1 == n
        ):
            raise ArtifactError(f"{path}: its tables differ in length; build the index again")
        self.texts = Texts(directory / SENTENCES, self.offset)
        self._ids: list[str] | None = None
        self._id_path = directory / IDS
        if self.own_ids and not self._id_path.exists():
            raise ArtifactError(f"{self._id_path}: missing; build the index again")

    def __len__(self) -> int:
        return len(self.vectors)

    def ids(self, rows: np.ndarray) -> list[str]:
        """The ids of ``rows``: the corpus's own, else the line numbers as text."""
        if not self.own_ids:
            return [str(line) for line in self.line[rows].tolist()]
        if self._ids is None:
            try:
                self._ids = self._id_path.read_text(encoding="utf-8").split("\n")[:-1]
            except (OSError, ValueError) as error:
                raise ArtifactError(f"{self._id_path}: cannot be read ({error})") from None
            if len(self._ids) != len(self):
                raise ArtifactError(f"{self._id_path}: cut short; build the index again")
        return [self._ids[row] for row in rows.tolist()]

    def distinct(self) -> np.ndarray:
        """``(m,) int64`` ascending: rows that can be neighbours, each text once, no zero rows."""
        keep = self.first == np.arange(len(self))
        for start in range(0, len(self), BLOCK):
            # Bits but the sign's: many times as fast as asking float16.
            bits = self.vectors[start : start + BLOCK].view(np.uint16) & 0x7FFF
            keep[start : start + BLOCK] &= bits.any(axis=1)
        return np.flatnonzero(keep)


class Texts:
    """Random access to the lines of ``sentences.txt``."""

    def __init__(self, path: Path, offset: np.ndarray):
        self._path, self._offset = path, offset
        size = path.stat().st_size if path.exists() else -1
        if size != offset[-1]:
            raise ArtifactError(f"{path}: missing or cut short; build the index again")
        self._map: mmap.mmap | bytes = b""
        if size:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._offset) - 1

    def raw(self, row: int) -> bytes:
        return self._map[self._offset[row] : self._offset[row + 1]]

    def __getitem__(self, row: int) -> str:
        """The sentence of a row."""
        return self._decoded(self.raw(row))[:-1]

    def slice(self, start: int, end: int) -> list[str]:
        """The sentences of rows ``start`` to ``end``, exclusive."""
        return self._decoded(self._map[self._offset[start] : self._offset[end]]).split("\n")[:-1]

    def _decoded(self, text: bytes) -> str:
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError:
            raise ArtifactError(f"{self._path}: damaged; build the index again") from None


def unsealed_texts(directory: Path) -> Texts:
    """The sentences of a store whose vectors are still to come."""
    with h5py.File(directory / EMBEDDINGS, "r") as file:
        return Texts(directory / SENTENCES, file["offset"][()])


def _mapped(path: Path, dataset: h5py.Dataset) -> np.ndarray:
    """A dataset by memory map; the size is checked against the file before anything is mapped."""
    if not isinstance(dataset, h5py.Dataset):
        raise ValueError(f"{dataset.name} is no dataset")
    if dataset.size == 0:
        return np.empty(dataset.shape, dtype=dataset.dtype)
    offset = dataset.id.get_offset()
    if offset is None or offset + dataset.size * dataset.dtype.itemsize > path.stat().st_size:
        raise ValueError(f"dataset {dataset.name} is cut short or not contiguous")
    return np.memmap(path, dtype=dataset.dtype, mode="r", offset=offset, shape=dataset.shape)
