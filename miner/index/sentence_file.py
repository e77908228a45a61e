"""Sentences of a store, by memory map: random access to the lines of ``sentences.txt``."""

import mmap
from copy import copy
from pathlib import Path

import numpy as np

from miner.errors import ArtifactError


class SentenceFile:
    """Sentences by row. ``offset (n + 1,) int64`` has the start of each line, in bytes.

    Raises :class:`~miner.errors.ArtifactError` if the length of the file contradicts the offsets.
    """

    def __init__(self, path: Path, offset: np.ndarray):
        self._path, self._offset = path, offset
        size = path.stat().st_size if path.exists() else -1
        if size != offset[-1]:
            raise ArtifactError(f"{path}: missing or cut short; build the index again")
        self.size = size
        self._map: mmap.mmap | bytes = b""
        if size:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        return len(self._offset) - 1

    def part(self, start: int, end: int) -> "SentenceFile":
        """Return a view of the rows from ``start`` up to, not including, ``end``."""
        part = copy(self)
        part._offset = self._offset[start : end + 1]
        part.size = int(part._offset[-1] - part._offset[0])
        return part

    def release(self) -> None:
        """Drop the resident pages of the file; they are read again when needed."""
        if isinstance(self._map, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def raw(self, row: int) -> bytes:
        return self._map[self._offset[row] : self._offset[row + 1]]

    def __getitem__(self, row: int) -> str:
        return self._decoded(self.raw(row))[:-1]

    def slice(self, start: int, end: int) -> list[str]:
        """Return the sentences of rows ``start`` to ``end``, exclusive."""
        return self._decoded(self._map[self._offset[start] : self._offset[end]]).split("\n")[:-1]

    def _decoded(self, text: bytes) -> str:
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError:
            raise ArtifactError(f"{self._path}: damaged; build the index again") from None
