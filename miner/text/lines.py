"""Lines of a file: opening, decompression, and the split at line feeds.

A file is read as bytes and split at ``\\n`` alone, because a sentence may hold U+2028, ``\\x0b``,
``\\x85`` or a lone ``\\r``, and one line too many shifts every alignment after it. Files that are
not lines of text are detected by their first bytes.
"""

import codecs
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from miner.config_fields import read_toml
from miner.errors import CorpusError
from miner.text.compression import MAGIC, codec
from miner.text.remote import local_copy

# Bytes read at the head of a file.
HEAD = 4096
# Kinds of files that are not lines of text.
_KINDS = Path(__file__).with_name("foreign_files.toml")


@cache
def _kinds(name: str) -> list[tuple[bytes, str, str]]:
    """Return a table of the kinds: bytes or pattern, kind, and a hint for the user."""
    rows = read_toml(_KINDS)[name]
    return [(start.encode("latin-1"), kind, hint) for start, kind, hint in rows]


def binary_kind(head: bytes) -> tuple[str, str] | None:
    """Return the kind of a binary file and a hint; None for text."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        kinds = (entry[1:] for entry in _kinds("zipped") if entry[0] in head)
        return next(kinds, ("a zip", "unpack it; a zip of OPUS must be named .zip"))
    if head[257:262] == b"ustar":
        return "a tar archive", "unpack it"
    return next((entry[1:] for entry in _kinds("binary") if head.startswith(entry[0])), None)


def foreign_kind(head: bytes) -> tuple[str, str] | None:
    """Return the kind of a file that is not lines of text, and a hint; None for lines."""
    known = next((entry[1:] for entry in _kinds("wide") if head.startswith(entry[0])), None)
    if known or (known := binary_kind(head)):
        return known
    wide = len(head) >= 16 and max(head[side::2].count(0) for side in (0, 1)) > len(head) // 3
    if wide and min(head[side::2].count(0) for side in (0, 1)) < len(head) // 10:
        little = head[1::2].count(0) > head[::2].count(0)
        encoding = "UTF-16LE" if little else "UTF-16BE"
        return "UTF-16 without a mark", f"convert it with iconv -f {encoding} -t UTF-8"
    text = head.removeprefix(codecs.BOM_UTF8).lstrip()
    markup = _kinds("markup")
    return next((entry[1:] for entry in markup if re.match(entry[0], text, re.IGNORECASE)), None)


# Maximum bytes of a line, and bytes read at a time.
MOST, _PART = 64 << 20, 1 << 18


def read_lines(origin: str, held: bytes | None = None) -> Iterator[bytes]:
    """Yield each line, decompressed by suffix, without line end (also ``\\r``) and byte-order mark.

    ``held`` is the content of the file if :func:`hold` has read it. Raises CorpusError for a file
    that cannot be read or is damaged, and for a line longer than `MOST`.
    """
    name, done = display_name(origin), 0
    with decompressed(origin, held, lambda: f"line {done}", foreign_kind) as file:
        for lines in _split(file, name):
            # Only the first line of a part may begin in an earlier part.
            if len(lines[0]) > MOST:
                raise CorpusError(
                    f"{name}, line {done + 1}: longer than {MOST >> 20} MiB; not lines of "
                    "text, or damaged: check the file"
                )
            if not done:
                lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
            done += len(lines)
            yield from [line.removesuffix(b"\r") for line in lines]


@contextmanager
def decompressed(
    origin: str,
    held: bytes | None,
    done: Callable[[], str],
    kind: Callable[[bytes], tuple[str, str] | None] = binary_kind,
) -> Iterator[Any]:
    """Open a file for reading, decompressed by suffix; ``-`` is standard input.

    ``kind`` detects files to refuse by their first bytes. Raises CorpusError, also for damage found
    during the block, with the position that ``done`` returns.
    """
    name, library = display_name(origin), codec(origin)
    damage = (
        EOFError,
        zlib.error,
        lzma.LZMAError,
        getattr(library, "ZstdError", EOFError),
        OSError,
    )
    with opened(origin, held) as raw:
        suffix = os.path.splitext(origin)[1]
        magic = MAGIC[suffix.lower()] if library else b""
        head = raw.peek(1)[: len(magic)] if library else b""
        if not library:
            _refuse_compressed(name, raw)
        elif not head:  # gzip alone would read it as empty text
            raise CorpusError(
                f"{name}: 0 bytes, not even a {suffix} header; probably an "
                "incomplete download: fetch it again"
            )
        try:
            file = library.open(raw, "rb") if library else raw
            refused = kind(file.peek(HEAD)[:HEAD]) if hasattr(file, "peek") else None
            if refused is not None:
                raise CorpusError(f"{name}: {refused[0]}, by its first bytes; {refused[1]}")
            yield file
        except damage as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # an error of the disk, not of the codec
            if not magic.startswith(head):
                raise CorpusError(
                    f"{name}: not compressed, although its suffix is {suffix}; rename it"
                ) from error
            raise CorpusError(
                f"{name}: damaged after {done()} ({error}); probably an "
                "incomplete download: fetch it again"
            ) from error


def _split(file: Any, name: str) -> Iterator[list[bytes]]:
    """Yield the lines that end in each part of a file; only the beginning of one beyond `MOST`.

    Reads in parts, so that a line without end does not fill the memory. Raises CorpusError for a
    text whose lines end in carriage returns alone.
    """
    rest, size, any_line = [b""], 0, False
    while part := file.read1(_PART):
        first, *lines = part.split(b"\n")
        rest.append(first)
        size += len(first)
        if lines:
            last = lines.pop()
            yield [b"".join(rest), *lines]
            rest, size, any_line = [last], len(last), True
        if size > MOST:
            break
    last = b"".join(rest)
    if not any_line and size <= MOST and last.count(b"\r") > 1:
        raise CorpusError(
            f"{name}: lines end in carriage returns alone, as on old Macs; convert it with "
            "tr '\\r' '\\n'"
        )
    # An empty rest, or a file with only a byte-order mark, is no line.
    if last and (any_line or last != codecs.BOM_UTF8):
        yield [last]


@contextmanager
def opened(origin: str, held: bytes | None = None) -> Iterator[Any]:
    """Open the stored bytes of a file; ``-`` is standard input, ``held`` its content.

    Raises CorpusError for an OSError, also within the block.
    """
    try:
        if held is not None:
            yield io.BufferedReader(io.BytesIO(held))
        elif origin == "-":
            yield sys.stdin.buffer
        else:
            with local_copy(origin) as path, open(path, "rb") as file:
                yield file
    except OSError as error:
        raise CorpusError(
            f"{display_name(origin)}: cannot be read: {error.strerror or error}; "
            "check the path and its permissions"
        ) from error


def hold(origin: str) -> bytes | None:
    """Read the bytes of standard input or a pipe, which can be read only once; None for a file."""
    if not is_read_once(origin):
        return None
    with opened(origin) as raw:
        return bytes(raw.read())


def is_read_once(origin: str) -> bool:
    """Return whether ``origin`` is standard input or a pipe."""
    return origin == "-" or (os.path.exists(origin) and not os.path.isfile(origin))


def display_name(origin: str) -> str:
    """Return the name of a file for messages."""
    return "standard input" if origin == "-" else origin


def undecodable(name: str, line: int, error: UnicodeError) -> str:
    """Return the message about a line that is not UTF-8."""
    if isinstance(error, UnicodeDecodeError):
        what = f"byte offset {error.start}: 0x{error.object[error.start]:02X} is not UTF-8"
    else:
        what = "an escape spells half a surrogate pair, which is not a character"
        return f"{name}, line {line}, {what}; mend the line"
    return f"{name}, line {line}, {what}; convert the file with iconv -f ENCODING -t UTF-8"


def _refuse_compressed(name: str, raw: Any) -> None:
    """Raise CorpusError for compressed bytes without the suffix, before UTF-8 is blamed."""
    start = raw.peek(10)[:10] if hasattr(raw, "peek") else b""
    for suffix, magic in MAGIC.items():
        # Text may begin with the three letters of bzip2, but hardly with the number after them.
        if start.startswith(magic) and (suffix != ".bz2" or start[4:] == b"1AY&SY"):
            remedy = "decompress it first" if name == display_name("-") else "rename it"
            raise CorpusError(
                f"{name}: compressed, but its name does not end in {suffix}; {remedy}"
            )
