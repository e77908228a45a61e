"""Locks that let only one of several test processes compile a kernel.

All processes of a run begin with an empty cache in a fresh clone. Without the locks each of them
compiles every kernel, nearly a minute of one core.
"""

import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher


def compile_in_turn() -> None:
    """Make this process wait for a kernel that another one compiles, then load its result."""
    compiling: Callable[..., Any] = Dispatcher.compile

    def locked(self: Any, signature: Any) -> Any:
        if isinstance(self._cache, NullCache):
            return compiling(self, signature)
        place = Path(self._cache.cache_path)
        place.mkdir(parents=True, exist_ok=True)
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}.lock"
        # numba's own lock first, as a thread that waits for it must not hold the file.
        with global_compiler_lock, open(place / name, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return compiling(self, signature)

    Dispatcher.compile = locked
