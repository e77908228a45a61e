"""Files of vectors: reads files of other programs (LASER, LaBSE, …), writes ``miner encode``'s."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from miner.arrays import open_npy, within_range
from miner.errors import ArtifactError, reason
from miner.index import hdf5
from miner.machine import free_memory
from miner.text.output import atomic_file

BLOCK = 16_384
# Largest dimension of a vector: a header that claims more is damaged.
LARGEST = 1 << 16
HDF5 = (".h5", ".hdf5")
# Suffixes that encode_corpus can write.
SUFFIXES = (".npy", *HDF5)

# Maximum bytes that deflate can make of one byte: a larger ratio means a wrong header.
MOST_INFLATED = 1100


def open_vectors(path: str | Path, dimension: int | None = None) -> np.ndarray:
    """Open a file of vectors: ``(n, d)`` float16, float32 or float64, by memory map if possible.

    Formats are ``.npy``; ``.h5`` or ``.hdf5`` with one two-dimensional dataset (or one named
    ``embeddings``). Any other file is raw little-endian float32, or float16 if the suffix is
    ``.f16`` or ``.fp16``, and needs ``dimension``. Raises :class:`~miner.errors.ArtifactError`.
    """
    path = Path(path)
    try:
        if path.suffix == ".npy":
            array = open_npy(path)
        elif path.suffix in HDF5:
            array = _hdf5(path)
        else:
            array = _raw(path, dimension)
    except (OSError, ValueError, OverflowError) as error:
        raise ArtifactError(f"{path}: cannot be read as vectors ({reason(error)})") from None
    _check_matrix(path, array.shape, array.dtype)
    if dimension is not None and array.shape[1] != dimension:
        raise ArtifactError(f"{path}: has dimension {array.shape[1]}, --dim says {dimension}")
    return array


def unit_blocks(array: np.ndarray, rows: np.ndarray, name: str) -> Iterator[np.ndarray]:
    """Normalise the ``rows`` of ``array``; yield ``(b, d) float32`` blocks. Zero rows stay zero.

    A row of length 1, within the rounding of its type or of float32, is not changed. Raises
    :class:`~miner.errors.ArtifactError`, naming the file ``name``, at the first row with NaN or
    infinity.
    """
    rounding = 2 * max(np.finfo(array.dtype).eps, np.finfo(np.float32).eps)
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        block = np.asarray(array[part])
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            bad = int(part[np.argmin(finite)])
            raise ArtifactError(
                f"{name}: vector {bad + 1} of {len(array)} holds NaN or infinity; encode it again"
            )
        block = within_range(block)
        norm = np.linalg.norm(block.astype(np.float64), axis=1, keepdims=True)
        norm[np.abs(norm - 1) <= rounding] = 1
        yield np.divide(block, norm, out=np.zeros_like(block), where=norm > 0, casting="unsafe")


@dataclass
class Encoded:
    """Counts of an encoded corpus, which has a vector for each of its ``records``.

    The vector is zero for ``empty`` and ``undecodable`` records, and for ``unknown`` records, whose
    units the model does not know. Bytes were replaced in ``replaced`` records.
    """

    records: int = 0
    empty: int = 0
    undecodable: int = 0
    replaced: int = 0
    unknown: int = 0


def write_vectors(
    path: Path, blocks: Iterable[np.ndarray], dimension: int, dtype: np.dtype, rows: int
) -> None:
    """Write blocks ``(b, d)`` of vectors, ``rows`` in all, to a ``.npy`` or HDF5 file."""
    with atomic_file(path) as partial:
        if path.suffix == ".npy":
            header = {"descr": dtype.str, "fortran_order": False, "shape": (rows, dimension)}
            with open(partial, "wb") as file:
                np.lib.format.write_array_header_1_0(file, header)
                start = file.tell()
        else:
            with hdf5.errors(), hdf5.open_file(partial, "w") as file:
                start = hdf5.reserve(file, "embeddings", (rows, dimension), dtype)
        with open(partial, "r+b") as plain:
            plain.seek(start)
            for block in blocks:
                plain.write(block.data)


def _raw(path: Path, dimension: int | None) -> np.ndarray:
    if dimension is None:
        raise ArtifactError(f"{path}: headerless vectors need --dim")
    dtype = np.dtype("<f2" if path.suffix in (".f16", ".fp16") else "<f4")
    size = path.stat().st_size
    if size % (dimension * dtype.itemsize):
        raise ArtifactError(
            f"{path}: {size} bytes are no whole number of vectors of {dimension} x {dtype.name}"
        )
    if size == 0:
        return np.empty((0, dimension), dtype)
    return np.memmap(path, dtype=dtype, mode="r").reshape(-1, dimension)


def _hdf5(path: Path) -> np.ndarray:
    with hdf5.opened(path) as file:
        matrices = [name for name in file if getattr(file[name], "ndim", 0) == 2]
        name = "embeddings" if "embeddings" in matrices else matrices[0] if matrices else None
        if name is None or (len(matrices) > 1 and name != "embeddings"):
            raise ArtifactError(f"{path}: needs one matrix, or one named 'embeddings'")
        dataset = file[name]
        _check_matrix(path, dataset.shape, dataset.dtype)
        # Not dataset.nbytes, which may overflow.
        size, stored = (
            math.prod(dataset.shape) * dataset.dtype.itemsize,
            dataset.id.get_storage_size(),
        )
        offset = dataset.id.get_offset()
        if offset is not None:
            if offset + size > path.stat().st_size:
                raise ArtifactError(f"{path}: cut short; copy or encode it again")
            return np.memmap(path, dataset.dtype, mode="r", offset=offset, shape=dataset.shape)
        if dataset.is_virtual or dataset.external:
            raise ArtifactError(f"{path}: dataset {name!r} refers to other files; copy it whole")
        if size and not stored:
            raise ArtifactError(f"{path}: dataset {name!r} was never written")
        if size > MOST_INFLATED * max(stored, 1):
            raise ArtifactError(
                f"{path}: dataset {name!r} claims {size:,} bytes and stores {stored:,}; copy or "
                "encode it again"
            )
        available = free_memory()
        if size > available:
            raise ArtifactError(
                f"{path}: dataset {name!r} takes {size:,} bytes of memory, and {available:,} "
                "are free; write it without compression, or as .npy"
            )
        return dataset[()]  # chunked, perhaps compressed: cannot be mapped


def _check_matrix(path: Path, shape: tuple[int, ...], dtype: Any) -> None:
    """Refuse, before memory is taken, an array that is not a matrix of floats."""
    if len(shape) != 2 or dtype not in (np.float16, np.float32, np.float64):
        raise ArtifactError(f"{path}: holds {dtype} of shape {shape}, not a matrix of floats")
    if not 0 < shape[1] <= LARGEST:
        raise ArtifactError(f"{path}: has dimension {shape[1]}, not one from 1 to {LARGEST:,}")
