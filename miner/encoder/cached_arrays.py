"""Arrays that take long to compute: kept in the user's cache directory, mapped into memory.

An entry is a folder of ``.npy`` files. Its name has a hash of what the arrays are computed from,
so that it is right or absent.
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

# Smaller arrays, in bytes, are computed again: that takes no longer than the disk.
LEAST = 1 << 19
# Smaller files, in bytes, are read and not mapped; empty arrays cannot be mapped.
_PAGE = 4096
# Entries unused for so long are removed when a new one is made.
STALE_DAYS = 30
# Folders whose code computes such arrays, below the package.
_FOLDERS = "encoder", "kernels", "scoring"
_STAMPS = "stamps.json"


def cached_arrays(
    name: str, names: Sequence[str], key: str, make: Callable[[], Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Return the arrays ``names`` that ``make`` computes, from the disk if an entry has them.

    ``key`` identifies what they are computed from (of a model's files: `key_of`); with an empty
    one, nothing is kept. Kept arrays are mapped: writes to them stay in this process. Entries that
    nobody used for a month are removed. Where nothing can be written, the next process computes the
    arrays again. Raises what ``make`` raises.
    """
    if not key:
        return dict(make())
    digest = sha256(key.encode()).hexdigest()[:16]
    place = folder() / f"{name}-{digest}.arrays"
    found = _opened(place, names)
    if found is not None:
        return found
    made = {one: np.ascontiguousarray(array) for one, array in make().items()}
    if sum(array.nbytes for array in made.values()) < LEAST:
        return made
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(OSError), TemporaryDirectory(dir=place.parent, ignore_cleanup_errors=True) as new:
        _remove_unused(place.parent)
        for one, array in made.items():
            np.save(f"{new}/{one}.npy", array)
        Path(new, _STAMPS).write_text(json.dumps(_stamps(Path(new), names)), encoding="utf-8")
        replace_directory(Path(new), place)
    return made


def _opened(place: Path, names: Sequence[str]) -> dict[str, np.ndarray] | None:
    """Map the arrays of an entry; None if a file is not as it was written, or others may write.

    Copied folders and layers of an image keep no fractions of a second, and another process may
    replace the entry meanwhile. That needs no word to the user: the arrays are computed again.
    """
    try:
        if not _is_safe(place.parent) or read_json(place / _STAMPS) != _stamps(place, names):
            raise ValueError("altered")
        with suppress(OSError):  # it may be the administrator's
            os.utime(place)  # in use: not stale
        return {one: _array(place / f"{one}.npy") for one in names}
    except (OSError, ValueError, EOFError):
        return None


def _is_safe(place: Path) -> bool:
    """Return True for a folder of this user or the administrator, which nobody else may write to.

    Loops do not check all offsets of such arrays.
    """
    if os.name == "nt":
        return True
    found = place.lstat()
    return found.st_uid in (0, os.getuid()) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _array(path: Path) -> np.ndarray:
    return np.asarray(np.load(path, "c" if path.stat().st_size > _PAGE else None))


def _stamps(place: Path, names: Sequence[str]) -> dict[str, list[int]]:
    """Size of each file, and the second of its last change.

    Reading 100 MB for a checksum would take longer than all else that a small job does.
    """
    found = {one: (place / f"{one}.npy").stat() for one in names}
    return {one: [stat.st_size, int(stat.st_mtime)] for one, stat in found.items()}


def folder() -> Path:
    """Return the folder of entries, below XDG_CACHE_HOME or the user's cache directory."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # the user has no home: nothing can be kept
        base = Path(os.devnull)
    return base.absolute() / "bitext-miner" / "arrays"


def key_of(digest: str, *more: str) -> str:
    """Return the key of arrays that are computed from files of a model with a digest, and more.

    It is empty without a digest, and covers the code that computes such arrays.
    """
    return " ".join((digest, *more, _code())) if digest else ""


@cache
def _code() -> str:
    """Hash of that code."""
    digest = sha256()
    for one in _FOLDERS:
        for path in sorted((Path(__file__).parent.parent / one).glob("*.[cp]*")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _remove_unused(place: Path) -> None:
    oldest = time.time() - STALE_DAYS * 24 * 3600
    for entry in place.glob("*.arrays"):
        if entry.stat().st_mtime < oldest:
            shutil.rmtree(entry, ignore_errors=True)
