"""Errors that the engine raises on purpose.

Each message is one line: the fault, its location, and the remedy. The command line prints it after
``miner: error:`` and exits with 1. A program that uses the library catches :class:`MinerError`.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

_REMEDIES = {
    errno.ENOSPC: "no space left; free some there or write elsewhere",
    errno.EDQUOT: "the disk quota is used up; free some there or write elsewhere",
    errno.ENOENT: "no such directory; create it first with mkdir -p",
    errno.EACCES: "permission denied; choose a place you may write to",
    errno.EROFS: "the file system is read-only; write elsewhere",
    errno.EISDIR: "it is a directory; give a file's name",
    errno.ENOTDIR: "a part of the path is a file; choose another place",
}


class MinerError(Exception):
    """Base of all errors: a fault of the input, an artifact or the machine, not of the program."""

    def __init__(self, message: str):
        super().__init__(" ".join(message.splitlines()))


class CorpusError(MinerError):
    """Text that cannot be read: wrong bytes, compression, columns or line counts."""


class UnreadableError(CorpusError):
    """Bytes that are not UTF-8, or a row without a requested column.

    ``ways`` lists the values of ``on_error`` that would continue. Commands with that option name
    them.
    """

    def __init__(self, message: str, ways: str = "replace or skip"):
        super().__init__(message)
        self.ways = ways


@contextmanager
def strictly() -> Iterator[None]:
    """Convert UnreadableError to CorpusError, for files of which no line may be skipped or
    replaced.
    """
    try:
        yield
    except UnreadableError as error:
        raise CorpusError(str(error)) from None


class NoTestSetError(CorpusError):
    """Directory without a test set of an evaluation. ``example``: path of such a set."""

    def __init__(self, place: object, example: str):
        super().__init__(
            f"{place}: no sets (such as {example}); --data is the directory above, and "
            "'miner data' gets public ones"
        )


class ArtifactError(MinerError):
    """Model or index directory that is missing, truncated, altered, or of another version."""


class MismatchError(MinerError):
    """Artifacts that do not belong together, e.g. indexes of two models."""


class DependencyError(MinerError):
    """Library that is missing, installed twice or unusable. The message names the pip command."""


class ResourceError(MinerError):
    """Shortage of the machine: memory, disk space, or a requested device."""


class DownloadError(MinerError):
    """File that cannot be downloaded, or whose checksum is wrong."""


def reason(error: object) -> str:
    """Return the reason of an error, for brackets in a message: the system's words, else its
    first line.
    """
    lines = [line.strip() for line in str(error).splitlines()]
    words = getattr(error, "strerror", None) or next(filter(None, lines), "")
    return words[:200].rstrip(".:") or type(error).__name__


def resource_error(error: OSError, where: str | os.PathLike[str]) -> ResourceError:
    """Return the one-line error for a write refused by the system."""
    number = error.errno or 0
    # FAISS reports a full disk without a number.
    if not number and "No space left" in str(error):
        number = errno.ENOSPC
    words = os.strerror(number) if number else str(error)
    why = _REMEDIES.get(number, f"{words}; try another place")
    name = "standard output" if str(where) == "-" else os.fspath(where)
    return ResourceError(f"{name}: cannot be written: {why}")


@contextmanager
def writing(where: str | os.PathLike[str]) -> Iterator[None]:
    """Convert an OSError of the block to the error for a write there."""
    try:
        yield
    except OSError as error:
        raise resource_error(error, where) from error
