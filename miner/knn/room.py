"""Room for large arrays: memory up to a bound, temporary files beyond it."""

import math
import os
import tempfile
from typing import Any

import numpy as np

from miner.text.output import resource_error


class Room:
    """Memory of ``left`` bytes, from which arrays are taken; the others are temporary files.

    A file has no name, and goes with its array.
    """

    def __init__(self, left: int):
        self.left = left

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array that is not initialised. Raises ResourceError if the disk is full."""
        size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
        if size <= self.left or not size:
            self.left -= size
            return np.empty(shape, dtype)
        try:
            with tempfile.TemporaryFile(prefix="miner-") as file:
                file.truncate(size)
                if hasattr(os, "posix_fallocate"):  # else a full disk kills the process later
                    os.posix_fallocate(file.fileno(), 0, size)
                mapped = np.memmap(file, dtype, "r+", shape=shape)
        except OSError as error:
            raise resource_error(error, tempfile.gettempdir()) from error
        return mapped

    def free(self, *arrays: np.ndarray) -> None:
        """Count the memory of ``arrays``, which are used no more, as free again."""
        self.left += sum(array.nbytes for array in arrays if not isinstance(array, np.memmap))
