"""Cache of compiled loops: one folder for each content of this package, shared by all clones.

A loop inlines functions of other files here, so the folder's name hashes every file of the package,
and numba and llvmlite by their versions. A file in it is a loop for one kind of arguments and one
processor, as `save` wrote it.

Machine code that others wrote could do anything, so the folder must belong to the user and be
writable by nobody else. Where no such folder can be made, as in many containers, loops are compiled
into a temporary one, which children of the process share and which goes with it.

A wheel can bring its loops compiled (`SHIPPED`, filled by ``make wheel``). Where they do not fit
the processor or numba, a first run compiles them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from miner.text.durable import is_private

PACKAGE = Path(__file__).parent
# Loops that a wheel brings compiled, as `folder` has them.
SHIPPED = PACKAGE / "compiled"
SUFFIX = ".loop"
# Folders unused for so long are removed when a new one is made.
STALE_DAYS = 30


def load(name: str, key: Any) -> bytes | None:
    """Return what `save` wrote for a loop; None if there is nothing, or it is damaged."""
    for place in (SHIPPED, folder()):
        try:
            found = (place / _file(name, key)).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(found[32:]).digest() == found[:32]:
            return found[32:]
        _tell("damaged; they are compiled again")
    return None


def save(name: str, key: Any, compiled: bytes) -> None:
    """Write the compiled loop ``name`` for the arguments and processor of ``key``."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder(), delete=False) as file:
            file.write(hashlib.sha256(compiled).digest() + compiled)
        os.replace(file.name, folder() / _file(name, key))
    except OSError as error:
        _tell(f"not kept ({error.strerror}); the next run compiles them again")


def _file(name: str, key: Any) -> str:
    return f"{name}-{hashlib.sha256(repr((content(), key)).encode()).hexdigest()[:16]}{SUFFIX}"


@cache  # once for each process
def _tell(state: str) -> None:
    warnings.warn(f"{folder()}: compiled loops are {state}", RuntimeWarning, stacklevel=2)


def compiled(module: str = "*") -> bool:
    """Return True if the cache holds compiled loops of ``module``, or of any module here.

    Imports no numba.
    """
    return any(any(place.glob(f"{module}.*{SUFFIX}")) for place in (SHIPPED, folder()))


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
    asked, home = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME")
    try:
        path = _below(Path(asked or home or Path.home() / ".cache"))
        if not path.exists():
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_stale(path)
        tempfile.TemporaryFile(dir=path).close()
        if is_private(path):
            os.utime(path)  # in use: not stale
            return path
        fault = f"{path} is not yours alone"
    except (OSError, RuntimeError) as error:  # RuntimeError: the user has no home
        fault = str(error)
    warnings.warn(
        f"compiled loops are not kept: {fault}; name another directory in NUMBA_CACHE_DIR",
        RuntimeWarning,
        stacklevel=2,
    )
    _temporary.append(tempfile.TemporaryDirectory(prefix="miner-kernels-"))
    os.environ["NUMBA_CACHE_DIR"] = _temporary[0].name
    path = _below(Path(_temporary[0].name))
    path.mkdir(mode=0o700, parents=True)
    return path


_temporary: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def _below(base: Path) -> Path:
    return base.absolute() / "bitext-miner" / f"kernels-{content()}"


def _remove_stale(path: Path) -> None:
    """Remove the folders of other contents beside ``path`` that were not used for long."""
    oldest = time.time() - STALE_DAYS * 24 * 3600
    for other in path.parent.glob("kernels-*"):
        if other.stat().st_mtime < oldest:
            shutil.rmtree(other, ignore_errors=True)
