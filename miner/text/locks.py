"""Locks that keep two processes from the same checkpoint.

filelock does not fit: it names no holder, and without flock its lock outlives a killed process.
"""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from miner.errors import ResourceError, resource_error
from miner.json_files import read_json
from miner.text.output import StrPath

try:
    import fcntl
except ImportError:  # Windows, where locking is not supported
    fcntl = None  # type: ignore[assignment]

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def lock(path: StrPath, remedy: str = "wait until it ends, or stop it") -> Iterator[None]:
    """Hold the lock of ``path``, a file or directory that may not exist yet, during the block.

    The lock file `.NAME.lock` beside it names the holder. The system frees the lock of a dead
    process. Raises ResourceError, ending with ``remedy``, if another process holds the lock or the
    file cannot be created. File systems without locks lock nothing.
    """
    lock_file = _place(path)
    try:
        descriptor = _acquire(lock_file)
    except BlockingIOError:
        raise ResourceError(f"{path}: {_holder(lock_file)}; {remedy}") from None
    except OSError as error:
        raise resource_error(error, path) from error
    try:
        yield
    finally:
        # Removed while the lock is held: a process that opened the file meanwhile notices that it
        # is gone.
        with suppress(OSError):
            os.unlink(lock_file)
        os.close(descriptor)


def remove_abandoned(path: StrPath) -> None:
    """Remove the lock file of ``path`` if its holder is dead."""
    if _place(path).exists():
        with suppress(ResourceError), lock(path):
            pass


def _place(path: StrPath) -> Path:
    final = Path(os.path.realpath(path))
    return final.with_name(f".{final.name}.lock")


def _acquire(place: Path) -> int:
    """Return a descriptor of the locked file. Raises BlockingIOError if somebody holds it."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o644)
        try:
            if fcntl is not None:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise
                except OSError:  # a file system without locks
                    pass
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(place)):
                    holder = {
                        "pid": os.getpid(),
                        "host": socket.gethostname(),
                        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
                    }
                    with suppress(OSError):  # on a full disk the lock names no holder
                        os.ftruncate(descriptor, 0)
                        os.write(descriptor, json.dumps(holder).encode() + b"\n")
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has removed it meanwhile: take the new file


def _holder(place: Path) -> str:
    """Describe the process that holds a lock."""
    try:
        holder = read_json(place)
        return f"held by process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # just created or just removed
        return "held by another process"
