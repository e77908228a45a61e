"""Files and directories that are whole or absent: built in a temporary sibling, renamed last."""

from __future__ import annotations

import bz2
import codecs
import errno
import gzip
import io
import lzma
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from miner.errors import ArtifactError, DependencyError, ResourceError

StrPath = str | os.PathLike[str]

# First bytes of a compressed file, by suffix.
MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}
_ONE_LINE = str.maketrans("\t\r\n", "   ")
_REMEDIES = {
    errno.ENOSPC: "no space left; free some there or write elsewhere",
    errno.EDQUOT: "the disk quota is used up; free some there or write elsewhere",
    errno.ENOENT: "no such directory; create it first with mkdir -p",
    errno.EACCES: "permission denied; choose a place you may write to",
    errno.EROFS: "the file system is read-only; write elsewhere",
    errno.EISDIR: "it is a directory; give a file's name",
    errno.ENOTDIR: "a part of the path is a file; choose another place",
}


# Files that are written and wait for their names: (temporary, final).
Waiting = list[tuple[str, str]]


@contextmanager
def open_output(
    path: StrPath, *, binary: bool = False, together: Waiting | None = None
) -> Iterator[IO[Any]]:
    """A writer whose file appears, whole, when the block ends without an exception, or not at all.

    Text (UTF-8, ``\\n`` untranslated) or, with ``binary``, bytes; compressed by suffix (.gz .bz2
    .xz .zst), with neither time nor name inside. It is written to ``.NAME.PID.partial`` beside the
    file, synced and renamed; on any exception, KeyboardInterrupt too, that is removed and an older
    file stays as it was. ``-`` is standard output: flushed, never closed. A device or a pipe, such
    as /dev/null, is written in place, and a symbolic link stays one. ``together``: see
    :func:`all_or_none`.

    Raises ResourceError (no space, no such directory, no permission), also out of the block's own
    writes, and DependencyError (zstd). BrokenPipeError passes unchanged.
    """
    origin = os.fspath(path)
    final = os.path.realpath(origin)
    partial = os.path.join(
        os.path.dirname(final), f".{os.path.basename(final)}.{os.getpid()}.partial"
    )
    if os.path.exists(final) and not os.path.isfile(final):
        partial = final  # renaming a file over /dev/null would destroy it
    try:
        if origin == "-":
            yield from _to_stdout(binary)
        else:
            yield from _to_file(origin, final, partial, binary, together)
    except BrokenPipeError:
        raise
    except OSError as error:
        # A write has no file name; an error that names another file is the block's own affair.
        if error.filename not in (None, partial, final):
            raise
        raise resource_error(error, origin) from error


@contextmanager
def all_or_none() -> Iterator[Waiting]:
    """Several outputs that appear all, when the block ends without an exception, or none.

    What is yielded goes to `open_output` as ``together``. Raises ResourceError.
    """
    waiting: Waiting = []
    try:
        yield waiting
        for partial, final in waiting:
            try:
                os.replace(partial, final)
            except OSError as error:
                raise resource_error(error, final) from error
    finally:
        for partial, _ in waiting:
            with suppress(OSError):
                os.unlink(partial)


@contextmanager
def atomic_file(path: StrPath) -> Iterator[Path]:
    """As :func:`open_output`, for a library that opens its file itself: yield the name to give it.

    Raises ResourceError as well where something else than a file stands at ``path``.
    """
    final = Path(os.path.realpath(path))
    partial = final.with_name(f".{final.name}.{os.getpid()}.partial")
    try:
        if final.exists() and not final.is_file():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        yield partial
        _sync(partial)
        os.replace(partial, final)
    except OSError as error:
        raise resource_error(error, path) from error
    finally:
        with suppress(OSError):
            partial.unlink()


@contextmanager
def atomic_directory(path: StrPath, marker: str) -> Iterator[Path]:
    """Yield an empty temporary sibling of ``path`` that becomes ``path`` when the body succeeds.

    An existing directory is replaced only if it holds ``marker``, the file that every artifact of
    this kind has: a mistyped ``-o`` must never delete somebody's directory. On any exception, a
    keyboard interrupt among them, the temporary goes and what stood there before stays.
    """
    target = replaceable(path, marker)
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
        raise resource_error(error, path) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replaceable(path: StrPath, marker: str) -> Path:
    """Where an artifact given as ``path`` goes: itself, or what it links to.

    Raises :class:`~miner.errors.ArtifactError` for a place that :func:`atomic_directory` would
    refuse: something else that stands there, or the working directory.
    """
    target = Path(path).resolve()
    if target.exists() and not (
        target.is_dir() and ((target / marker).exists() or not any(target.iterdir()))
    ):
        raise ArtifactError(
            f"{path}: exists and is not one of ours (no {marker} in it); choose another -o or "
            "remove it"
        )
    if Path.cwd().is_relative_to(target):
        raise ArtifactError(f"{path}: is the working directory; run this from outside of it")
    return target


def resource_error(error: OSError, where: StrPath) -> ResourceError:
    """The one-line error for a write that the system refused."""
    number = error.errno or 0
    # FAISS reports a full disk without a number.
    if not number and "No space left" in str(error):
        number = errno.ENOSPC
    # HDF5 has a text of several lines where the system has a few words.
    reason = os.strerror(number) if number else one_line(str(error))
    why = _REMEDIES.get(number, f"{reason}; try another place")
    place = "standard output" if str(where) == "-" else os.fspath(where)
    return ResourceError(f"{place}: cannot be written: {why}")


def _replace(temporary: Path, target: Path) -> None:
    """Rename over ``target``; rename(2) cannot replace a full directory, so step it aside first."""
    if not target.exists():
        os.rename(temporary, target)
        return
    aside = target.with_name(f".{target.name}.{os.getpid()}.old")
    try:
        os.rename(target, aside)
        os.rename(temporary, target)
    except BaseException:  # an interrupt between the two, as well as what the system refuses
        if aside.exists() and not target.exists():
            os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def stamp(path: StrPath) -> list[list[str | int]]:
    """Name, size and time of a file, or of all in a directory: others once the content is.

    Empty for what is not there.
    """
    origin = Path(path)
    files = sorted(origin.iterdir()) if origin.is_dir() else [origin]
    status = [(file.name, file.stat()) for file in files if file.is_file()]
    return [[name, found.st_size, found.st_mtime_ns] for name, found in status]


def one_line(text: str) -> str:
    """``text`` with each tab, line feed and carriage return made a space: a safe TSV cell."""
    if "\t" in text or "\n" in text or "\r" in text:
        return text.translate(_ONE_LINE)  # which takes longer to find nothing than encoding does
    return text


def codec(origin: str) -> Any:
    """The module that compresses files of this suffix, or None."""
    suffix = os.path.splitext(origin)[1].lower()
    if suffix != ".zst":
        return {".gz": gzip, ".bz2": bz2, ".xz": lzma}.get(suffix)
    try:
        if sys.version_info >= (3, 14):
            import compression.zstd as zstd
        else:
            import backports.zstd as zstd
    except ImportError:
        raise DependencyError(
            f"{origin}: .zst files need a zstd library; run: pip install backports.zstd"
        ) from None
    return zstd


def _to_stdout(binary: bool) -> Iterator[IO[Any]]:
    sys.stdout.flush()  # what was printed before comes before
    raw: Any = getattr(sys.stdout, "buffer", sys.stdout)  # a StringIO in its place has none
    # A StreamWriter, since a TextIOWrapper closes what it wraps when it is collected.
    writer: Any = raw if binary or raw is sys.stdout else codecs.getwriter("utf-8")(raw)
    yield writer
    raw.flush()


def _to_file(
    origin: str, final: str, partial: str, binary: bool, together: Waiting | None
) -> Iterator[IO[Any]]:
    library = codec(origin)
    with open(partial, "wb", buffering=0) as file:
        # Closing the layers leaves the descriptor itself open, to be synced after the last byte.
        layers: list[Any] = [open(file.fileno(), "wb", closefd=False)]  # noqa: SIM115
        try:
            if library is gzip:  # neither the time nor the temporary's name belongs in the file
                layers.append(gzip.GzipFile("", "wb", 6, layers[0], mtime=0))
            elif library is bz2 or library is lzma:
                layers.append(library.open(layers[0], "wb"))
            elif library:
                checksum = {library.CompressionParameter.checksum_flag: 1}
                layers.append(library.open(layers[0], "wb", options=checksum))
            if not binary:
                layers.append(io.TextIOWrapper(layers[-1], encoding="utf-8", newline="\n"))
            yield layers[-1]
            for layer in reversed(layers):
                layer.close()
            if partial != final:
                os.fsync(file.fileno())
                if together is None:
                    os.replace(partial, final)
                else:
                    together.append((partial, final))
        finally:  # after a failure the layers may fail again on what they still hold
            for layer in reversed(layers):
                with suppress(Exception):
                    layer.close()
            if partial != final and (partial, final) not in (together or ()):
                with suppress(OSError):
                    os.unlink(partial)
