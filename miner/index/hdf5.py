"""HDF5 files whose datasets open by memory map, written so that a full disk raises an error."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from miner.errors import ArtifactError, reason
from miner.text.output import StrPath

if TYPE_CHECKING:
    import h5py


def open_file(path: StrPath, mode: str) -> h5py.File:
    """Open a file by h5py, which takes long to import and which few commands need."""
    import h5py

    return h5py.File(path, mode)


def reserve(file: h5py.File, name: str, shape: tuple[int, ...], dtype: np.dtype | type) -> int:
    """Reserve a contiguous dataset without writing it. Returns its offset in the file, in bytes.

    The numbers are to be written there with plain file operations, after the HDF5 file is closed:
    HDF5 may abort the process if the disk is full. The offset of an empty dataset is 0.
    """
    import h5py

    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    layout.set_obj_track_times(False)  # otherwise equal vectors give other bytes a second later
    kind = h5py.h5t.py_create(np.dtype(dtype))
    space = h5py.h5s.create_simple(shape)
    dataset = h5py.h5d.create(file.id, name.encode(), kind, space, layout)
    return int(dataset.get_offset() or 0)


@contextmanager
def errors() -> Iterator[None]:
    """Convert the RuntimeError that HDF5 raises for a system error to OSError, with its errno."""
    try:
        yield
    except RuntimeError as error:
        number = re.search(r"errno = (\d+)", str(error))
        raise OSError(int(number[1]) if number else errno.EIO, str(error)) from error


@contextmanager
def opened(path: StrPath) -> Iterator[h5py.File]:
    """Open an untrusted file for reading.

    Raises :class:`~miner.errors.ArtifactError` for any fault that HDF5 finds, also later in the
    body: h5py raises errors of many types for damaged files.
    """
    try:
        with open_file(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise ArtifactError(f"{path}: cannot be read as HDF5 ({reason(error)})") from None
