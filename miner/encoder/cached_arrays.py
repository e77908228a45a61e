"""Disk cache of arrays that take long to compute, in the user's cache directory, memory-mapped.

An entry is a folder of ``.npy`` files. Its name has a hash of the inputs, so that an entry is never
out of date.
"""

import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from miner.json_files import read_json
from miner.text.durable import replace_directory

# Minimum bytes of a cached array; computing a smaller one takes no longer than reading it.
LEAST = 1 << 19
# Minimum bytes of a file that is mapped rather than read; empty arrays cannot be mapped.
_PAGE = 4096
# Days without use after which an entry is removed, when a new one is written.
STALE_DAYS = 30
# Subpackages whose code computes cached arrays.
_FOLDERS = "encoder", "kernels", "scoring"
_STAMPS = "stamps.json"


def cached_arrays(
    name: str, names: Sequence[str], key: str, make: Callable[[], Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return the arrays ``names`` that ``make`` computes, from the disk if an entry has them.

    ``key`` identifies the inputs (`key_of` for a model's files); an empty key disables the cache.
    Cached arrays are mapped: writes to them stay in this process. Entries unused for a month are
    removed. If the cache is not writable, the next process computes the arrays again. Raises the
    exceptions of ``make``.
    """
    if not key:
        return dict(make())
    digest = sha256(key.encode()).hexdigest()[:16]
    directory = folder() / f"{name}-{digest}.arrays"
    cached = _opened(directory, names)
    if cached is not None:
        return cached
    arrays = {label: np.ascontiguousarray(array) for label, array in make().items()}
    if sum(array.nbytes for array in arrays.values()) < LEAST:
        return arrays
    with suppress(OSError):
        directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        suppress(OSError),
        TemporaryDirectory(dir=directory.parent, ignore_cleanup_errors=True) as new,
    ):
        _remove_unused(directory.parent)
        for label, array in arrays.items():
            np.save(f"{new}/{label}.npy", array)
        Path(new, _STAMPS).write_text(json.dumps(_stamps(Path(new), names)), encoding="utf-8")
        replace_directory(Path(new), directory)
    return arrays


def _opened(directory: Path, names: Sequence[str]) -> dict[str, np.ndarray] | None:
    """Map the arrays of an entry; None if a file has changed or is not private.

    Copies of folders and layers of an image lose fractions of a second, and another process may
    replace the entry meanwhile. No warning is needed: the arrays are computed again.
    """
    try:
        if not is_safe(directory.parent) or read_json(directory / _STAMPS) != _stamps(
            directory, names
        ):
            raise ValueError("altered")
        with suppress(OSError):  # the folder may belong to the administrator
            os.utime(directory)  # marks it as in use
        return {name: _array(directory / f"{name}.npy") for name in names}
    except (OSError, ValueError, EOFError):
        return None


def is_safe(directory: Path) -> bool:
    """Return True for a folder of this user or the administrator that nobody else can write to.

    The C loops do not check all offsets in cached arrays.
    """
    if os.name == "nt":
        return True
    status = directory.lstat()
    return status.st_uid in (0, os.getuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _array(path: Path) -> np.ndarray:
    return np.asarray(np.load(path, "c" if path.stat().st_size > _PAGE else None))


def _stamps(directory: Path, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the size of each file, and the second of its last change.

    A checksum of 100 MB would take longer than the rest of a small job.
    """
    stats = {name: (directory / f"{name}.npy").stat() for name in names}
    return {name: [stat.st_size, int(stat.st_mtime)] for name, stat in stats.items()}


def folder() -> Path:
    """Return the folder of entries, below XDG_CACHE_HOME or the user's cache directory."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # the user has no home directory: nothing can be cached
        base = Path(os.devnull)
    return base.absolute() / "bitext-miner" / "arrays"


def digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the digest of the model file that arrays are from; empty for arrays of no file."""
    return getattr(arrays, "digest", "")


def key_of(digest: str, *more: str) -> str:
    """Return the cache key of arrays computed from model files with a digest, and from more.

    It is empty without a digest, and also covers the code that computes the arrays.
    """
    return " ".join((digest, *more, _code())) if digest else ""


@cache
def _code() -> str:
    """Return the hash of the code that computes the arrays."""
    digest = sha256()
    for directory in _FOLDERS:
        for path in sorted((Path(__file__).parent.parent / directory).glob("*.[cp]*")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _remove_unused(directory: Path) -> None:
    oldest = time.time() - STALE_DAYS * 24 * 3600
    for entry in directory.glob("*.arrays"):
        if entry.stat().st_mtime < oldest:
            shutil.rmtree(entry, ignore_errors=True)
    for entry in directory.glob("*.digest*"):  # of miner.encoder.checked_files
        if entry.stat().st_mtime < oldest:
            entry.unlink(missing_ok=True)
