"""Errors that the engine raises on purpose.

Each message is one line: the fault, its place, and the remedy. The command line prints it after
``miner: error:`` and exits with 1. A program that uses the library catches :class:`MinerError`.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class MinerError(Exception):
    """Base of all: a fault of the input, an artifact or the machine, not of the program."""


class CorpusError(MinerError):
    """Text that cannot be read: wrong bytes, compression, columns or line counts."""


class UnreadableError(CorpusError):
    """Bytes that are not UTF-8, or a row without the column that is asked for.

    ``ways`` lists the values of ``on_error`` with which the work would go on. Commands that have
    that option name them.
    """

    def __init__(self, message: str, ways: str = "replace or skip"):
        super().__init__(message)
        self.ways = ways


@contextmanager
def strictly() -> Iterator[None]:
    """Turn UnreadableError into CorpusError: no line of this file may be skipped or replaced."""
    try:
        yield
    except UnreadableError as error:
        raise CorpusError(str(error)) from None


class NoTestSetError(CorpusError):
    """Directory without a test set of an evaluation. ``example`` is the path of one."""

    def __init__(self, place: object, example: str):
        super().__init__(
            f"{place}: no sets (such as {example}); --data is the directory above, and "
            "'miner data' gets public ones"
        )


class ArtifactError(MinerError):
    """Model or index directory that is missing, truncated, altered, or of another version."""


class MismatchError(MinerError):
    """Two artifacts that do not belong together, e.g. indexes of two models."""


class DependencyError(MinerError):
    """Library that is missing, doubled or unusable. The message names the pip command."""


class ResourceError(MinerError):
    """Shortage of the machine: memory, disk space, or a device that was asked for."""


class DownloadError(MinerError):
    """File that cannot be downloaded, or that has another checksum than expected."""
