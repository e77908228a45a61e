"""The members of a downloaded file, read one after the other and never unpacked to disk."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar

from miner.errors import CorpusError
from miner.text.output import one_line

T = TypeVar("T")

# A member's name and its lines, as bytes.
Member = tuple[str, Iterable[bytes]]

# What a damaged archive raises, beside an OSError without a number. NotImplementedError is a method
# of compression that is not known; ValueError, a name or a place that cannot be.
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    ValueError,
)
LONGEST = 1 << 20  # bytes of a line
TAR = (".tgz", ".tar.gz", ".tar.bz2")


@contextmanager
def members(path: Path) -> Iterator[Iterator[Member]]:
    """Name and contents of every file in a ``.zip``, a tar or a ``.gz``, in order.

    Any other file is its own only member. The contents can be read until the next member is asked
    for. Links and directories are left out.

    Raises CorpusError, also while they are read: damaged, a line of more than `LONGEST` bytes, or a
    member whose name leads out of the archive (nothing would be written there, but it is no archive
    to trust).
    """
    found = _sound(path, _members(path))
    try:
        yield found
    finally:
        found.close()


def lines(file: Iterable[bytes]) -> Iterator[str]:
    """Each line without its end and with its tabs; a byte-order mark is dropped.

    A line that is not UTF-8 is taken for Latin-1, which some of these sets are in.
    """
    for number, line in enumerate(file):
        if not number:
            line = line.removeprefix(codecs.BOM_UTF8)
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        try:
            yield line.decode()
        except UnicodeDecodeError:
            yield line.decode("latin-1")


def _members(path: Path) -> Generator[Member, None, None]:
    name = path.name.lower()
    if name.endswith(".zip"):
        with zipfile.ZipFile(path) as zipped:
            for entry in zipped.infolist():
                _refuse_escape(path, entry.filename)
                if entry.flag_bits & 1:
                    raise zipfile.BadZipFile("it wants a password")
                if not entry.is_dir():
                    with zipped.open(entry) as file:
                        # By itself it is slow to read lines of bounded length.
                        buffered = io.BufferedReader(file)  # type: ignore[type-var]
                        yield _member(path, entry.filename, buffered)
    elif name.endswith(TAR):
        with tarfile.open(path) as tar:
            for info in tar:
                _refuse_escape(path, info.name)
                if info.isfile() and (body := tar.extractfile(info)):
                    yield _member(path, info.name, body)
    elif name.endswith(".gz"):
        with gzip.open(path) as unzipped:
            yield _member(path, path.name[: -len(".gz")], unzipped)
    else:
        with path.open("rb") as plain:
            yield _member(path, path.name, plain)


def _sound(path: Path, items: Iterator[T]) -> Generator[T, None, None]:
    """``items``; what getting them raises, and not what is done with them, may be damage."""
    try:
        yield from items
    except DAMAGE as error:
        raise _damaged(path, error) from error
    except OSError as error:
        if error.errno is not None:
            raise  # the disk's doing
        raise _damaged(path, error) from error


def _member(path: Path, name: str, file: IO[bytes] | gzip.GzipFile) -> Member:
    return name, _sound(path, _lines(path, name, file))


def _lines(path: Path, name: str, file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """The lines of a member. A few bytes may unpack to one that no memory holds."""
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise CorpusError(
                f"{path}, {one_line(name)}, line {number}: has no end within {LONGEST:,} bytes; it "
                "is not the official layout: look at its home page"
            )
        yield line


def _refuse_escape(path: Path, name: str) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in name[:2]:
        raise CorpusError(
            f"{path}: its member {one_line(name)!r} leads out of the archive; do not use it"
        )


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(
        f"{path}: damaged ({one_line(str(error)) or type(error).__name__}); remove it and get it "
        "again"
    )
