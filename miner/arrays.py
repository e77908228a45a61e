"""Arrays in files: memory-mapped, temporary, or appended in blocks.

A full disk raises ResourceError for a temporary file. In a directory of the caller it raises
OSError, which the caller converts to a ResourceError with the user's name of the directory.
"""

from __future__ import annotations

import math
import os
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from miner.errors import ArtifactError, reason, writing

if TYPE_CHECKING:
    from typing_extensions import Self

Shape = int | tuple[int, ...]
# Maximum bytes that an archive of arrays may unpack to.
LARGEST = 1 << 30


def open_npy(path: Path, mode: Literal["r", "c"] = "r") -> np.ndarray:
    """Map the array of a file into memory: read-only, or with ``c`` for writes of this process.

    Raises :class:`~miner.errors.ArtifactError` unless it is a ``.npy`` file of numbers, as long as
    its header says.
    """
    try:
        with warnings.catch_warnings():  # sizes that overflow, or headers of odd Python
            warnings.simplefilter("ignore")
            # Unlike np.load, this accepts only .npy and never a pickle.
            return np.lib.format.open_memmap(path, mode=mode)
    except Exception as error:  # numpy evaluates the header, so a damaged one raises anything
        raise ArtifactError(f"{path}: cannot be read as an array ({reason(error)})") from None


def open_npz(file: str | Path | IO[bytes]) -> Any:
    """Open an archive of arrays without pickles. Raises ValueError if it unpacks to more than
    ``LARGEST`` bytes, and nearly any exception for another kind of file.
    """
    archive = np.load(file, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile) or archive.zip is None:
        raise ValueError("no archive")
    members: Sequence[zipfile.ZipInfo] = archive.zip.infolist()
    if sum(member.file_size for member in members) > LARGEST:
        raise ValueError(f"it unpacks to more than {LARGEST >> 20} MB")
    return archive


def within_range(rows: np.ndarray) -> np.ndarray:
    """Return rows ``(n, d) float32``, scaled down if float32 cannot hold their length.

    Scaling by powers of two keeps their direction.
    """
    if rows.dtype.itemsize < 8 or not rows.size:
        return rows.astype(np.float32, copy=False)
    _, exponent = np.frexp(np.abs(rows).max(axis=1))
    extreme = np.abs(exponent) > 60
    if extreme.any():
        rows = np.ldexp(rows, np.where(extreme, -exponent, 0)[:, None])
    return rows.astype(np.float32)


def distinct(values: np.ndarray) -> np.ndarray:
    """Return the distinct numbers of ``values (n,)``, ascending.

    Replaces np.unique, which imports numpy's masked arrays and so delays small commands.
    """
    ordered = np.sort(values)
    return ordered[np.concatenate([np.ones(min(len(ordered), 1), bool), np.diff(ordered) != 0])]


def temporary_array(shape: Shape, dtype: Any, directory: Path | None = None) -> np.ndarray:
    """Return an array of zeros in an unnamed file, which disappears with the array."""
    size = _size(shape, dtype)
    if not size:
        return np.empty(shape, dtype)
    with _temporary(directory), tempfile.TemporaryFile(prefix="miner-", dir=directory) as file:
        file.truncate(size)
        # Allocate the space now: a write to a mapped page without space kills the process.
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, dtype, "r+", shape=shape)


class Columns:
    """Base of dataclasses whose fields are arrays of the same length: rows of several columns."""

    def __len__(self) -> int:
        """Number of rows."""
        return len(next(iter(vars(self).values())))

    def take(self, keep: Any) -> Self:
        """Return the rows of a slice, at these positions, or where a mask is true."""
        return type(self)(*(column[keep] for column in vars(self).values()))

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Concatenate the rows of the parts. There must be one part or more."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))


class GrowingArray:
    """One-dimensional array that grows in blocks, in memory or in an unnamed file."""

    def __init__(self, dtype: Any, directory: Path | None = None, *, on_disk: bool = True):
        self._dtype, self._directory = np.dtype(dtype), directory
        self._blocks: list[np.ndarray] = [np.empty(0, dtype)]
        self._file = None
        if on_disk:
            with _temporary(directory):
                self._file = tempfile.TemporaryFile(prefix="miner-", dir=directory)  # noqa: SIM115

    def append(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, dtype=self._dtype)
        if self._file is None:
            self._blocks.append(values)
        else:
            with _temporary(self._directory):
                self._file.write(values.data)

    def array(self) -> np.ndarray:
        """Return all values so far, read-only; values in a file are memory-mapped."""
        if self._file is None or not self._file.tell():
            return np.concatenate(self._blocks)
        with _temporary(self._directory):
            self._file.flush()
        return np.memmap(self._file, self._dtype, "r")


class Room:
    """Budget of ``left`` bytes of memory for arrays; arrays beyond it are temporary files."""

    def __init__(self, left: int):
        self.left = left

    def empty(self, shape: Shape, dtype: Any) -> np.ndarray:
        """Return an array that is not initialised. Raises ResourceError if the disk is full."""
        size = _size(shape, dtype)
        if size > self.left:
            return temporary_array(shape, dtype)
        self.left -= size
        return np.empty(shape, dtype)

    def free(self, *arrays: np.ndarray) -> None:
        """Return the memory of ``arrays``, which are no longer used, to the budget."""
        self.left += sum(array.nbytes for array in arrays if not isinstance(array, np.memmap))


def _size(shape: Shape, dtype: Any) -> int:
    return math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize


def _temporary(directory: Path | None) -> AbstractContextManager[None]:
    """Convert an OSError to a ResourceError if the file is in the system's temporary directory."""
    return writing(tempfile.gettempdir()) if directory is None else nullcontext()
