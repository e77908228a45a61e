"""Input files of a run: their identity, their content, and the check that both stayed the same."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from functools import cached_property

from miner.errors import CorpusError


class InputFiles:
    """Files that a run reads, perhaps several times, with their identity when it began."""

    def __init__(self, paths: Sequence[str], names: Sequence[str]):
        self.paths, self.names = tuple(paths), tuple(names)
        self._identities = [_identity(path) for path in self.paths]

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """Digest of the bytes of each file. Raises CorpusError for a file that cannot be read."""
        return tuple(map(_digest, self.paths, self.names))

    def check(self) -> None:
        """Raise CorpusError if a file is another one than when the run began.

        A file is another one if its size, time of change or inode is, or if its content differs
        from `digests`, where those were asked for.
        """
        known = self.__dict__.get("digests")
        for number, (path, name) in enumerate(zip(self.paths, self.names, strict=True)):
            same = _identity(path) == self._identities[number]
            if not same or (known is not None and _digest(path, name) != known[number]):
                raise CorpusError(
                    f"{name} changed while it was read; run again once it is complete"
                )


def content_digest(path: str | os.PathLike[str]) -> str | None:
    """Digest of the bytes of a file; None if it is missing, unreadable or no regular file."""
    try:
        return _digest(os.fspath(path), "") if os.path.isfile(path) else None
    except CorpusError:
        return None


def _identity(path: str) -> tuple[int, int, int] | None:
    """Size, time of change and inode of a file; None for a pipe, and for what is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _digest(path: str, name: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    except OSError as error:
        raise CorpusError(f"{name}: cannot be read: {error.strerror or error}") from None
