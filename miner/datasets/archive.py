"""Members of a downloaded archive, read one by one, or unpacked safely."""

import bz2
import codecs
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar, cast

from miner.datasets.download import require_space
from miner.errors import CorpusError, reason

T = TypeVar("T")

# Name of a member, and its lines as bytes.
Member = tuple[str, Iterable[bytes]]
# Name of a member, its unpacked size in bytes (None: unknown), and its open content.
_File = tuple[str, int | None, IO[bytes]]

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
BLOCK = 1 << 20  # bytes read at once
TAR = (".tgz", ".tar.gz", ".tar.bz2", ".tar.xz")


@contextmanager
def members(path: Path) -> Iterator[Iterator[Member]]:
    """Open an archive and yield name and lines of every file in a ``.zip``, a tar or a ``.gz``.

    Any other file is its only member. The lines can be read until the next member is yielded. Links
    and directories are skipped.

    Raises CorpusError, also during iteration: damage, a line of more than `LONGEST` bytes, or a
    member whose name leads out of the archive (nothing is written, but such an archive is not
    trusted).
    """
    entries = _sound(
        path, ((name, _sound(path, _lines(path, name, file))) for name, _, file in _files(path))
    )
    try:
        yield entries
    finally:
        entries.close()


def unpack(path: Path, into: Path) -> None:
    """Unpack the files of an archive with at most one folder directly below ``into``.

    Links are skipped. Raises CorpusError for damage, a name that leads out of the archive, several
    folders or two files of the same name, and ResourceError if the disk is full.
    """
    folders: set[PurePosixPath] = set()
    for name, size, file in _sound(path, _files(path)):
        member = PurePosixPath(name)
        folders.add(member.parent)
        if len(folders) > 1 or len(member.parts) > 2 or (into / member.name).exists():
            raise CorpusError(
                f"{path}: {name!r} is not a file of its one folder; it is not an archive "
                "of one flat directory"
            )
        require_space(into, size or 0)
        with (into / member.name).open("wb") as out:
            for block in _sound(path, iter(partial(file.read, BLOCK), b"")):
                out.write(block)


def lines(file: Iterable[bytes]) -> Iterator[str]:
    """Decode lines, without line ends and byte-order mark.

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


def _files(path: Path) -> Generator[_File, None, None]:
    """Yield every regular file of an archive, open until the next one is yielded."""
    name = path.name.lower()
    if name.endswith(".zip"):
        with zipfile.ZipFile(path) as zipped:
            for entry in zipped.infolist():
                _refuse_escape(path, entry.filename)
                if entry.flag_bits & 1:
                    raise zipfile.BadZipFile("it needs a password")
                if not entry.is_dir():
                    with zipped.open(entry) as file:
                        # Unbuffered, a zip member is slow to read in lines of bounded length.
                        buffered = io.BufferedReader(file)  # type: ignore[type-var]
                        yield entry.filename, entry.file_size, buffered
    elif name.endswith(TAR):
        with tarfile.open(path) as tar:
            for info in tar:
                _refuse_escape(path, info.name)
                if info.isfile() and (body := tar.extractfile(info)):
                    yield info.name, info.size, body
    elif name.endswith(".gz"):
        with gzip.open(path) as unzipped:
            yield path.name[: -len(".gz")], None, cast("IO[bytes]", unzipped)
    else:
        with path.open("rb") as plain:
            yield path.name, None, plain


def _sound(path: Path, items: Iterator[T]) -> Generator[T, None, None]:
    """Yield ``items``; exceptions of the iterator, not of its consumer, are reported as damage."""
    try:
        yield from items
    except DAMAGE as error:
        raise _damaged(path, error) from error
    except OSError as error:
        if error.errno is not None:
            raise  # an error of the disk
        raise _damaged(path, error) from error


def _lines(path: Path, name: str, file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of a member, decompressed where its name ends in ``.bz2``.

    Few bytes may unpack to a line larger than memory: it is refused.
    """
    number = 0
    if name.endswith(".bz2"):
        file = bz2.open(file)  # noqa: SIM115
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise CorpusError(
                f"{path}, {name}, line {number}: has no end within {LONGEST:,} bytes; it "
                "is not the official layout: look at its home page"
            )
        yield line


def _refuse_escape(path: Path, name: str) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in name[:2]:
        raise CorpusError(f"{path}: its member {name!r} leads out of the archive; do not use it")


def _damaged(path: Path, error: Exception) -> CorpusError:
    return CorpusError(f"{path}: damaged ({reason(error)}); remove it and download it again")
