"""Cache of compiled loops: one folder for each content of this package, shared by all clones.

numba stamps a cached loop with the content of the file it stands in. A loop also inlines functions
of other files here, so its result would outlive a change in them. The folder's name therefore
hashes every file of the package, and numba and llvmlite by their versions.

numba reads the cache by pickle, so the folder must belong to the user and be writable by nobody
else. Where no such folder can be made, as in many containers, loops are compiled into a temporary
one, which children of the process share and which goes with it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent
# Folders unused for so long are removed when a new one is made.
STALE_DAYS = 30


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a loop: ``numba.njit`` that keeps the compiled code in `folder`."""
    # The threads of a loop would spin when it ends, at the cost of what comes next.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import numba
    from numba.core.caching import CacheImpl

    locators: list[Any] = CacheImpl._locator_classes
    if Locator not in locators:
        locators.insert(0, Locator)
    return numba.njit(cache=True, **options)


def compiled(module: str = "*") -> bool:
    """Return True if the cache holds compiled loops of ``module``, or of any module here.

    Imports no numba.
    """
    return any(folder().glob(f"{module}.*.nbi"))


@cache
def content() -> str:
    """Hash of the source of all loops, and of the versions of the compiler."""
    from importlib.metadata import version  # slow to import, and most commands need no loop

    digest = hashlib.sha256(f"{version('numba')} {version('llvmlite')}".encode())
    for path in sorted(PACKAGE.glob("*.py")):
        source = path.read_bytes()
        digest.update(f"\0{path.name} {len(source)}\0".encode() + source)
    return digest.hexdigest()[:32]


@cache
def folder() -> Path:
    """Folder of the cache, below ``NUMBA_CACHE_DIR`` or the user's cache directory.

    A temporary one if that cannot be written, or could be written by others.
    """
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the user has no home
        asked, home = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
        path = _below(Path(asked or home or Path.home() / ".cache"))
        if not path.exists():
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_stale(path)
        tempfile.TemporaryFile(dir=path).close()
        if _private(path):
            os.utime(path)  # in use: not stale
            return path
    _temporary.append(tempfile.TemporaryDirectory(prefix="miner-kernels-"))
    os.environ["NUMBA_CACHE_DIR"] = _temporary[0].name
    path = _below(Path(_temporary[0].name))
    path.mkdir(mode=0o700, parents=True)
    return path


_temporary: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def _below(base: Path) -> Path:
    return base.absolute() / "bitext-miner" / f"kernels-{content()}"


def _private(path: Path) -> bool:
    """Return True if only the user can write here."""
    found = path.stat()
    others = stat.S_IWGRP | stat.S_IWOTH
    return os.name == "nt" or (found.st_uid == os.getuid() and not found.st_mode & others)


def _remove_stale(path: Path) -> None:
    """Remove the folders of other contents beside ``path`` that were not used for long."""
    oldest = time.time() - STALE_DAYS * 24 * 3600
    for other in path.parent.glob("kernels-*"):
        if other.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)


class Locator:
    """numba's question for the cache of a function, answered with `folder` for this package."""

    def __init__(self, line: int) -> None:
        self.line = line

    @classmethod
    def from_function(cls, function: Any, file: str) -> Locator | None:
        if Path(file).parent != PACKAGE:
            return None  # another package's, which numba places
        return cls(function.__code__.co_firstlineno)

    def ensure_cache_path(self) -> None:
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(folder())

    def get_source_stamp(self) -> str:
        return content()

    def get_disambiguator(self) -> str:
        return str(self.line)
