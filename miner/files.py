"""Directories that are whole or absent: built in a temporary sibling, renamed last."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from miner.errors import ArtifactError, ResourceError


@contextmanager
def atomic_directory(path: str | Path, marker: str) -> Iterator[Path]:
    """Yield an empty temporary sibling of ``path`` that becomes ``path`` when the body succeeds.

    An existing directory is replaced only if it holds ``marker``, the file that every artifact of
    this kind has: a mistyped ``-o`` must never delete somebody's directory. On any exception, a
    keyboard interrupt among them, the temporary goes and what stood there before stays.
    """
    target = Path(path)
    if target.exists() and not is_replaceable(target, marker):
        raise ArtifactError(
            f"{target}: exists and is not one of ours (no {marker} in it); choose another -o or "
            "remove it"
        )
    temporary = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        yield temporary
        for file in temporary.iterdir():
            _sync(file)
        _replace(temporary, target)
    except OSError as error:
        raise resource_error(error, target) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def is_replaceable(directory: Path, marker: str) -> bool:
    return directory.is_dir() and ((directory / marker).exists() or not any(directory.iterdir()))


def resource_error(error: OSError, where: str | Path) -> ResourceError:
    """The one-line error for a write that the system refused."""
    what = error.strerror or str(error)
    advice = {
        errno.ENOSPC: "free some space or write elsewhere",
        errno.EDQUOT: "free some space or write elsewhere",
        errno.EACCES: "check the permissions or write elsewhere",
        errno.EROFS: "write elsewhere",
    }.get(error.errno or 0, "check the path")
    return ResourceError(f"{where}: cannot be written: {what}; {advice}")


def _replace(temporary: Path, target: Path) -> None:
    """Rename over ``target``; rename(2) cannot replace a full directory, so step it aside first."""
    if not target.exists():
        os.rename(temporary, target)
        return
    aside = target.with_name(f".{target.name}.{os.getpid()}.old")
    os.rename(target, aside)
    try:
        os.rename(temporary, target)
    except OSError:
        os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
