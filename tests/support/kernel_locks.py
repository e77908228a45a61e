"""Locks that let only one of several test processes compile a kernel.

All processes of a run begin with an empty cache in a fresh clone. Without the locks each of them
compiles every kernel, nearly a minute of one core.
"""

import fcntl
from typing import Any

from miner.kernels.cache import folder
from miner.kernels.loops import Loop


def compile_in_turn() -> None:
    """Make this process wait for a kernel that another one compiles, then load its result."""
    prepare = Loop._prepare

    def locked(self: Loop, *arguments: Any) -> Any:
        with open(folder() / f"{self.name}.lock", "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return prepare(self, *arguments)

    Loop._prepare = locked  # type: ignore[method-assign]
