"""HDF5 files whose datasets open by memory map, written so that a full disk is an error."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

import h5py
import numpy as np


def reserve(file: h5py.File, name: str, shape: tuple[int, ...], dtype: np.dtype | type) -> int:
    """Make room for a dataset in one piece, not written yet; returns where in the file it begins.

    The numbers are to be written there as to any file, once this one is closed: where a disk is
    full, HDF5 may end the process with what it still holds. 0 for a dataset of no numbers.
    """
    layout = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    layout.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    layout.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    kind = h5py.h5t.py_create(np.dtype(dtype))
    space = h5py.h5s.create_simple(shape)
    dataset = h5py.h5d.create(file.id, name.encode(), kind, space, layout)
    return int(dataset.get_offset() or 0)


@contextmanager
def errors() -> Iterator[None]:
    """Where HDF5 raises a RuntimeError for what the system refused, an OSError with its number."""
    try:
        yield
    except RuntimeError as error:
        number = re.search(r"errno = (\d+)", str(error))
        raise OSError(int(number[1]) if number else errno.EIO, str(error)) from error
