"""Input files of a run: the check that they stayed the same, and digests of their content."""

import hashlib
import os
import stat
from collections.abc import Sequence

from miner.errors import CorpusError


class InputFiles:
    """Files that a run reads, perhaps several times, with their identity when it began."""

    def __init__(self, paths: Sequence[str], names: Sequence[str]):
        self._files = [
            (path, name, _identity(path)) for path, name in zip(paths, names, strict=True)
        ]

    def check(self) -> None:
        """Raise CorpusError for a file whose size, time of change or inode is another by now."""
        for path, name, identity in self._files:
            if _identity(path) != identity:
                raise CorpusError(
                    f"{name} changed while it was read; run again once it is complete"
                )


def content_digest(path: str | os.PathLike[str]) -> str | None:
    """Digest of the bytes of a file; None if it is missing, unreadable or no regular file."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError:
        return None


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal digits. Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _identity(path: str) -> tuple[int, int, int] | None:
    """Size, time of change and inode of a file; None for a pipe, and for a missing file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
