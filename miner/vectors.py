"""Vectors from elsewhere (LASER, LaBSE, …): ``.npy``, HDF5 and headerless raw files."""

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np

from miner.errors import ArtifactError

BLOCK = 16_384


def open_vectors(path: str | Path, dimension: int | None = None) -> np.ndarray:
    """``(n, d)`` float16, float32 or float64, by memory map where the format allows.

    ``.npy``; ``.h5`` or ``.hdf5`` with one two-dimensional dataset (or one named ``embeddings``);
    anything else is raw little-endian float32, or float16 where the suffix is ``.f16`` or
    ``.fp16``, and needs ``dimension``. Raises :class:`~miner.errors.ArtifactError`.
    """
    path = Path(path)
    try:
        if path.suffix == ".npy":
            # Unlike np.load, this takes .npy alone and never a pickle.
            array: np.ndarray = np.lib.format.open_memmap(path, mode="r")
        elif path.suffix in (".h5", ".hdf5"):
            array = _hdf5(path)
        else:
            array = _raw(path, dimension)
    except (OSError, ValueError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error).split("\n")[0]
        raise ArtifactError(f"{path}: cannot be read as vectors ({reason})") from None
    if array.ndim != 2 or array.dtype not in (np.float16, np.float32, np.float64):
        raise ArtifactError(
            f"{path}: holds {array.dtype} of shape {array.shape}, not a matrix of floats"
        )
    if dimension is not None and array.shape[1] != dimension:
        raise ArtifactError(f"{path}: has dimension {array.shape[1]}, --dim says {dimension}")
    return array


def unit_blocks(array: np.ndarray, rows: np.ndarray, name: str) -> Iterator[np.ndarray]:
    """The ``rows`` of ``array``, normalised: ``(b, d) float32`` blocks, zero rows kept zero.

    Raises :class:`~miner.errors.ArtifactError` at the first row with NaN or infinity.
    """
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        block = np.asarray(array[part], dtype=np.float32)
        finite = np.isfinite(block).all(axis=1)
        if not finite.all():
            bad = int(part[np.argmin(finite)])
            raise ArtifactError(
                f"{name}: vector {bad + 1} of {len(array)} holds NaN or infinity; encode it again"
            )
        norm = np.linalg.norm(block.astype(np.float64), axis=1, keepdims=True)
        yield np.divide(block, norm, out=np.zeros_like(block), where=norm > 0, casting="unsafe")


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
    with h5py.File(path, "r") as file:
        matrices = [name for name in file if getattr(file[name], "ndim", 0) == 2]
        name = "embeddings" if "embeddings" in matrices else matrices[0] if matrices else None
        if name is None or (len(matrices) > 1 and name != "embeddings"):
            raise ArtifactError(f"{path}: needs one matrix, or one named 'embeddings'")
        dataset = file[name]
        offset = dataset.id.get_offset()
        if offset is not None:
            size = offset + dataset.size * dataset.dtype.itemsize
            if size > path.stat().st_size:
                raise ArtifactError(f"{path}: cut short; copy or encode it again")
            return np.memmap(path, dataset.dtype, mode="r", offset=offset, shape=dataset.shape)
        if dataset.size and not dataset.id.get_storage_size():
            raise ArtifactError(f"{path}: dataset {name!r} was never written")
        return dataset[()]  # chunked, perhaps compressed: there is nothing to map
