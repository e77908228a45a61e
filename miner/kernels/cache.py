"""Cache of compiled loops: one folder for each content of this package, shared by all clones.

numba stamps a cached loop with the content of the file it stands in. A loop also inlines functions
of other files here, so its result would outlive a change in them. The folder's name therefore
hashes every file of the package, and numba and llvmlite by their versions.

numba reads the cache by pickle, so the folder must belong to the user and be writable by nobody
else. Where no such folder can be made, as in many containers, loops are compiled into a temporary
one, which children of the process share and which goes with it.

Loops are compiled for `TARGET`, so that all machines of a cluster share a cache, and a wheel can
hold one (`SHIPPED`, filled by ``make wheel``). Where it does not fit the processor, Python or
numba, a first run compiles them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent
# Loops that a wheel brings compiled, as `folder` has them.
SHIPPED = PACKAGE / "compiled"
# Processors with AVX2, of 2013 (Intel) or 2015 (AMD) and later, by LLVM's names.
TARGET = "x86-64-v3"
FEATURES = (
    *("64bit", "avx", "avx2", "bmi", "bmi2", "cmov", "crc32", "cx16", "cx8", "f16c", "fma", "fxsr"),
    *("lzcnt", "mmx", "movbe", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2"),
    *("ssse3", "xsave"),
)
# Folders unused for so long are removed when a new one is made.
STALE_DAYS = 30


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a loop: ``numba.njit`` that keeps the compiled code in `folder`."""
    # The threads of a loop would spin when it ends, at the cost of what comes next.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

    def decorate(function: Callable[..., Any]) -> Any:
        loop = helper(**options)(function)
        loop._cache = _kept()(function)
        return loop

    return decorate


def helper(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that loops call: ``numba.njit``, compiled and kept with the loops."""
    import numba

    _set_target()
    return numba.njit(**{"no_cfunc_wrapper": True, **options})


@cache
def _set_target() -> None:
    """Let numba compile for `TARGET`, unless the user chose or numba has compiled already."""
    import llvmlite.binding
    from numba import config
    from numba.core.registry import cpu_target

    settings: Any = config
    chosen = settings.CPU_NAME is not None or settings.CPU_FEATURES is not None
    if chosen or "_toplevel_target_context" in vars(cpu_target):
        return
    host = llvmlite.binding.get_host_cpu_features()
    if all(host.get(name) for name in FEATURES):
        settings.CPU_NAME, settings.CPU_FEATURES = TARGET, ",".join(f"+{name}" for name in FEATURES)


@cache
def _kept() -> Any:
    """Return numba's class of the cache of a function, which reads `SHIPPED` and `folder`."""
    from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

    class Placed(CompileResultCacheImpl):
        _locator_classes: Any = [Locator]

    class Kept(FunctionCache):
        _impl_class = Placed

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            own = self._cache_file
            shipped = IndexDataCacheFile(str(SHIPPED), self._impl.filename_base, content())
            for self._cache_file in (shipped, own):
                try:
                    found = super().load_overload(sig, target_context)
                except Exception as error:  # pickle raises anything for a damaged file
                    _tell(f"damaged ({type(error).__name__}); they are compiled again")
                    found = None
                    with contextlib.suppress(OSError):
                        self._cache_file.flush()
                if found is not None:
                    break
            self._cache_file = own
            return found

        def save_overload(self, sig: Any, data: Any) -> None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                _tell(f"not kept ({error.strerror}); the next run compiles them again")

    return Kept


@cache  # once for each process
def _tell(state: str) -> None:
    warnings.warn(f"{folder()}: compiled loops are {state}", RuntimeWarning, stacklevel=2)


def compiled(module: str = "*") -> bool:
    """Return True if the cache holds compiled loops of ``module``, or of any module here.

    Imports no numba.
    """
    return any(any(place.glob(f"{module}.*.nbi")) for place in (SHIPPED, folder()))


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
        if _private(path):
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
