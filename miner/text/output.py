"""Output files, complete or absent: written under a temporary name, synced, renamed last."""

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from miner.errors import resource_error, writing
from miner.text import durable
from miner.text.compression import codec, compressor
from miner.text.invisible import BREAK

StrPath = str | os.PathLike[str]


# Files written but not yet renamed: (temporary, final).
Waiting = list[tuple[str, str]]


@contextmanager
def open_output(
    path: StrPath, *, binary: bool = False, together: Waiting | None = None, packed: bool = False
) -> Iterator[IO[Any]]:
    """Open a writer whose file appears, whole, when the block ends without an exception.

    Text (UTF-8, ``\\n`` untranslated) or, with ``binary``, bytes; compressed by suffix, without
    time or name inside. It is written to ``.NAME.PID.partial`` beside the file, synced and renamed
    (:mod:`miner.text.durable`); on any exception the temporary file is removed and an older file
    stays. Temporary files of killed processes are removed. ``-`` is standard output: flushed, never
    closed. A device or a pipe (/dev/null) is written in place, and a symbolic link stays one.
    ``together``: see :func:`all_or_none`. ``packed``: the bytes are compressed already.

    Raises ResourceError (no space, no such directory, no permission), also for the block's own
    writes, and DependencyError (zstd). BrokenPipeError passes unchanged.
    """
    origin = os.fspath(path)
    final = os.path.realpath(origin)
    partial = str(durable.temporary_name(Path(final)))
    if os.path.exists(origin) and not os.path.isfile(origin):
        # Renaming would replace /dev/null by a file. A pipe behind /dev/stdout has no other path.
        partial = final = origin
    try:
        if origin == "-":
            yield from _to_stdout(binary)
        else:
            library = None if packed else codec(origin)
            yield from _to_file(library, final, partial, binary, together)
    except BrokenPipeError:
        raise
    except OSError as error:
        # A write error has no file name; an error that names another file comes from the block.
        if error.filename not in (None, partial, final):
            raise
        raise resource_error(error, origin) from error


@contextmanager
def all_or_none() -> Iterator[Waiting]:
    """Rename several outputs when the block ends without an exception, or none of them.

    The block passes the list to `open_output` as ``together``. A crash between two renames leaves
    the other outputs unchanged. Raises ResourceError.
    """
    waiting: Waiting = []
    try:
        yield waiting
        for partial, final in waiting:
            with writing(final):
                durable.replace_synced(partial, final)
    finally:
        for partial, _ in waiting:
            with suppress(OSError):
                os.unlink(partial)


@contextmanager
def atomic_file(path: StrPath) -> Iterator[Path]:
    """Yield a temporary name like :func:`open_output`, for a library that opens its file itself.

    Raises ResourceError, also if ``path`` is not a file.
    """
    final = Path(os.path.realpath(path))
    partial = durable.temporary_name(final)
    try:
        with writing(path):
            if final.exists() and not final.is_file():
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            durable.remove_leftovers(final)
            durable.create(partial)
            yield partial
            durable.replace(partial, final)
    finally:
        with suppress(OSError):
            partial.unlink()


def write_whole(path: StrPath, content: bytes) -> None:
    """Write a small file like :func:`atomic_file`. Raises ResourceError."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(content)


def one_line(text: str) -> str:
    """Replace characters that end a line, page or field by spaces, for a TSV cell."""
    return text if text.isprintable() else BREAK.sub(" ", text)


def _to_stdout(binary: bool) -> Iterator[IO[Any]]:
    sys.stdout.flush()  # keeps the order of earlier prints
    # a StringIO instead of stdout has no buffer
    raw: Any = getattr(sys.stdout, "buffer", sys.stdout)
    # StreamWriter, because a TextIOWrapper closes the wrapped file when it is collected.
    writer: Any = raw if binary or raw is sys.stdout else codecs.getwriter("utf-8")(raw)
    yield writer
    raw.flush()


def _to_file(
    library: Any, final: str, partial: str, binary: bool, together: Waiting | None
) -> Iterator[IO[Any]]:
    if partial != final:
        durable.remove_leftovers(Path(final))
        durable.create(partial)
    with open(partial, "wb", buffering=0) as file:
        # Closing the layers keeps the descriptor open, so that it can be synced after the last
        # byte.
        layers: list[Any] = [open(file.fileno(), "wb", closefd=False)]  # noqa: SIM115
        try:
            if library:
                layers.append(compressor(library, layers[0]))
            if not binary:
                layers.append(io.TextIOWrapper(layers[-1], encoding="utf-8", newline="\n"))
            yield layers[-1]
            for layer in reversed(layers):
                layer.close()
            if partial != final:
                os.fsync(file.fileno())
                if together is None:
                    durable.replace_synced(partial, final)
                else:
                    together.append((partial, final))
        finally:  # after a failure, closing may fail again on buffered data
            for layer in reversed(layers):
                with suppress(Exception):
                    layer.close()
            if partial != final and (partial, final) not in (together or ()):
                with suppress(OSError):
                    os.unlink(partial)
