"""Every error the engine raises on purpose, in one place.

Each message is one line that says what is wrong, where, and what to do about it.
The command line prints it after ``miner: error:`` and exits with 1; a program that
uses the library catches :class:`MinerError`.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class MinerError(Exception):
    """Base of all: the input, an artifact or the machine is at fault, not the program."""


class CorpusError(MinerError):
    """Text that cannot be read as asked: bytes, compression, columns, line counts."""


class UnreadableError(CorpusError):
    """Bytes that are no text, or a row without what is asked for.

    ``ways``: what ``on_error`` may be instead, so that the work goes on; where a command has that
    option, it says so.
    """

    def __init__(self, message: str, ways: str = "replace or skip"):
        super().__init__(message)
        self.ways = ways


@contextmanager
def strictly() -> Iterator[None]:
    """For a file of which no line may be passed over, whatever ``on_error`` is of others."""
    try:
        yield
    except UnreadableError as error:
        raise CorpusError(str(error)) from None


class NoTestSetError(CorpusError):
    """A directory that holds no test set of an evaluation. ``example``: what would be one."""

    def __init__(self, place: object, example: str):
        super().__init__(
            f"{place}: no sets (such as {example}); --data is the directory above, and "
            "'miner data' gets public ones"
        )


class ArtifactError(MinerError):
    """A model or index directory that is missing, cut short, altered, or of another version."""


class MismatchError(MinerError):
    """Two artifacts that do not belong together, such as indexes of two models."""


class DependencyError(MinerError):
    """A library that is missing, doubled or unusable; the message names the pip command."""


class ResourceError(MinerError):
    """The machine has too little of something: memory, disk, a device that was asked for."""


class DownloadError(MinerError):
    """A file that cannot be fetched, or that is not the one which was asked for."""
