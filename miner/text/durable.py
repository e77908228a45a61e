"""Renames that survive a crash, and removal of what dead processes left.

A file or directory is written as `.NAME.PID.partial` in the same directory and renamed when it is
complete. The order is: sync the file, sync its directory, rename, sync the directory again. After a
power cut the name holds the old or the new content, never a part of it.
"""

import ctypes
import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Error numbers of file systems that cannot sync a directory.
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES)
# Prefix of temporary directories, and name of the marker file in each. A directory is removed as a
# leftover only if both match, so that directories of users are safe.
_SCRATCH, _SCRATCH_MARKER = "bitext-miner-scratch-", ".bitext-miner-scratch"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def temporary_name(final: Path, kind: str = "partial") -> Path:
    """Return the temporary name that this process uses for ``final``."""
    return final.with_name(f".{final.name}.{os.getpid()}.{kind}")


def create(path: str | os.PathLike[str]) -> None:
    """Create an empty file, replacing a leftover; a symbolic link is not followed."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def is_private(path: Path) -> bool:
    """Return True for a directory (no link) of this user that nobody else can write to."""
    status = path.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    owned = os.name == "nt" or (status.st_uid == os.getuid() and not status.st_mode & others)
    return owned and stat.S_ISDIR(status.st_mode)


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or a directory with everything below it, is on the disk."""
    for folder, _, files in os.walk(path, topdown=False):
        for name in files:
            _sync_file(os.path.join(folder, name))
        sync_directory(folder)
    if not os.path.isdir(path):
        _sync_file(path)


def sync_directory(path: str | os.PathLike[str]) -> None:
    """Sync a directory, so that its names are on the disk, where the system supports it."""
    if os.name == "nt":
        return
    try:
        # fails without permission to list the directory
        descriptor = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def replace(temporary: str | os.PathLike[str], final: str | os.PathLike[str]) -> None:
    """Rename a closed file to its final name, replacing an older file."""
    _sync_file(temporary)
    replace_synced(temporary, final)


def replace_synced(temporary: str | os.PathLike[str], final: str | os.PathLike[str]) -> None:
    """Rename like :func:`replace` a file that is already synced."""
    directory = os.path.dirname(final)
    sync_directory(directory)
    os.replace(temporary, final)
    sync_directory(directory)


def replace_directory(temporary: Path, final: Path) -> None:
    """Rename a directory to its final name; an older directory there is deleted afterwards.

    The two names are swapped atomically where the system can (Linux). Elsewhere the older directory
    is first renamed to `.NAME.PID.old`; if the process dies then, `remove_leftovers` restores it.
    """
    sync(temporary)
    sync_directory(final.parent)
    if not final.exists():
        os.rename(temporary, final)
        sync_directory(final.parent)
        return
    if _exchange(temporary, final):
        sync_directory(final.parent)
        shutil.rmtree(temporary, ignore_errors=True)
        return
    aside = temporary_name(final, "old")
    try:
        os.rename(final, aside)
        os.rename(temporary, final)
    except BaseException:  # an interrupt between the two renames, or a system error
        if aside.exists() and not final.exists():
            os.rename(aside, final)
        raise
    sync_directory(final.parent)
    shutil.rmtree(aside, ignore_errors=True)


def remove_leftovers(final: Path) -> None:
    """Remove temporary files and directories of ``final`` that dead processes left.

    Only directories are renamed to `.old`: a file of that name belongs to the user. Processes of
    other machines look dead here, so two machines must not write one output at the same time.
    """
    pattern = re.compile(rf"\.{re.escape(final.name)}\.(\d+)\.(partial|old)")
    leftovers = []
    with suppress(OSError), os.scandir(final.parent) as entries:
        leftovers = [
            (entry.path, match) for entry in entries if (match := pattern.fullmatch(entry.name))
        ]
    for path, match in leftovers:
        if is_alive(int(match[1])) or (match[2] == "old" and not os.path.isdir(path)):
            continue
        if match[2] == "old" and not final.exists():
            with suppress(OSError):
                os.rename(path, final)
        elif os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                os.unlink(path)


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Yield a temporary directory (in TMPDIR) that is removed at the end of the block.

    Leftovers of killed processes of this user are removed first. A directory is in use as long as
    its process, perhaps in another container, holds a lock on it.
    """
    directory = Path(tempfile.gettempdir())
    pattern = re.compile(rf"{_SCRATCH}(\d+)-[a-z0-9_]{{8}}")
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            match = pattern.fullmatch(entry.name)
            if match and not is_alive(int(match[1])):
                _remove_scratch(Path(entry.path))
    with tempfile.TemporaryDirectory(prefix=f"{_SCRATCH}{os.getpid()}-") as name:
        descriptor = _lock_directory(name)
        try:
            Path(name, _SCRATCH_MARKER).touch()
            yield Path(name)
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _remove_scratch(path: Path) -> None:
    """Remove a directory that no process holds, if it is this user's and has the marker."""
    with suppress(OSError):
        if os.name == "nt" or path.lstat().st_uid != os.getuid():
            return
        if not (path / _SCRATCH_MARKER).is_file():
            return
        descriptor = _lock_directory(path)
        if descriptor is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(descriptor)


def _lock_directory(path: str | os.PathLike[str]) -> int | None:
    """Lock a directory; return the descriptor, or None if the lock is taken."""
    if fcntl is None:
        return None
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_alive(pid: int) -> bool:
    """Return whether a process of this number runs on this machine."""
    if os.name == "nt":  # Windows, where signal 0 would kill the process
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # a process of another user
        return True
    return True


def _sync_file(path: str | os.PathLike[str]) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _exchange(left: Path, right: Path) -> bool:
    """Swap two names with renameat2(2). Returns False if the system does not support it."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    names = os.fsencode(left), os.fsencode(right)
    if rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        return False  # an old system, or a file system without this call
    raise OSError(number, os.strerror(number), str(right))
