"""Members of a downloaded archive, read one after the other and never unpacked to disk."""

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

# Exceptions of a damaged archive, beside an OSError without a number. NotImplementedError stands
# for an unknown method of compression, ValueError for an impossible name or offset.
DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    ValueError,
)
LONGEST = 1 << 20  # bytes of the longest line
TAR = (".tgz", ".tar.gz", ".tar.bz2")


@contextmanager
def members(path: Path) -> Iterator[Iterator[Member]]:
    """Open an archive and yield name and lines of every file in a ``.zip``, a tar or a ``.gz``.

    Any other file is its own only member. The lines can be read until the next member is asked
    for. Links and directories are left out.

    Raises CorpusError, also during iteration: damage, a line of more than `LONGEST` bytes, or a
    member whose name leads out of the archive (nothing is written there, but such an archive is not
    to be trusted).
    """
    found = _sound(path, _members(path))
    try:
        yield found
    finally:
        found.close()


def lines(file: Iterable[bytes]) -> Iterator[str]:
    """Decode each line without its end; a byte-order mark is dropped.

    A line that is not UTF-8 is decoded as Latin-1, the encoding of some of these sets.
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
                        # A zip member alone is slow to read in lines of bounded length.
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
    """Yield ``items``; report exceptions of the iterator, and not of its consumer, as damage."""
    try:
        yield from items
    except DAMAGE as error:
        raise _damaged(path, error) from error
    except OSError as error:
        if error.errno is not None:
            raise  # a fault of the disk
        raise _damaged(path, error) from error


def _member(path: Path, name: str, file: IO[bytes] | gzip.GzipFile) -> Member:
    return name, _sound(path, _lines(path, name, file))


def _lines(path: Path, name: str, file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """Yield the lines of a member. Few bytes may unpack to a line larger than memory: refuse it."""
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
