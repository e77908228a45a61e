"""Arrays of ``.npy`` files by memory map, from anybody: no pickle is read, no header is trusted."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from miner.errors import ArtifactError


def open_npy(path: Path) -> np.ndarray:
    """Open the array of a file read-only.

    Raises :class:`~miner.errors.ArtifactError` for anything that is no ``.npy`` file of numbers as
    long as its header says.
    """
    try:
        with (
            warnings.catch_warnings()
        ):  # of sizes that overflow, and of headers that are odd Python
            warnings.simplefilter("ignore")
            # Unlike np.load, this takes .npy alone and never a pickle.
            return np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # numpy evaluates the header, so a damaged one raises anything
        reason = getattr(error, "strerror", None) or str(error).split("\n")[0]
        raise ArtifactError(f"{path}: cannot be read as an array ({reason})") from None


def create_npy(path: Path, dtype: Any, shape: tuple[int, ...]) -> np.memmap:
    """Make the file of an array, and map it for writing. Raises OSError if the disk is full.

    Its space is taken at once: a write to a mapped page for which there is none kills the process.
    """
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    if hasattr(os, "posix_fallocate"):
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, os.path.getsize(path))
    return array
