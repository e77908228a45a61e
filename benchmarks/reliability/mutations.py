"""Mutations of the bytes of a file: flips, cuts, zeros, huge integers, hostile text, bombs."""

import bz2
import gzip
import lzma
import random
import re
import struct
import sys
from collections.abc import Callable
from typing import Any

Mutation = Callable[[bytes, random.Random], bytes]


def zstd() -> Any:
    """Return the zstd library of this Python version."""
    if sys.version_info >= (3, 14):
        import compression.zstd as library
    else:
        import backports.zstd as library
    return library


def flip(data: bytes, generator: random.Random) -> bytes:
    """Flip one to eight bits."""
    out = bytearray(data)
    for _ in range(generator.randint(1, 8)):
        if out:
            out[generator.randrange(len(out))] ^= 1 << generator.randrange(8)
    return bytes(out)


def cut(data: bytes, generator: random.Random) -> bytes:
    """Keep a prefix."""
    return data[: generator.randrange(len(data) + 1)]


def zero(data: bytes, generator: random.Random) -> bytes:
    """Zero a range."""
    start = generator.randrange(len(data) + 1)
    size = min(generator.choice((1, 16, 512, 1 << 20)), len(data) - start)
    return data[:start] + bytes(size) + data[start + size :]


def repeat(data: bytes, generator: random.Random) -> bytes:
    """Copy a range to another position."""
    start, end = sorted(generator.randrange(len(data) + 1) for _ in range(2))
    place = generator.randrange(len(data) + 1)
    return data[:place] + data[start:end] + data[place:]


def remove(data: bytes, generator: random.Random) -> bytes:
    """Remove a range."""
    start, end = sorted(generator.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[end:]


def swell(data: bytes, generator: random.Random) -> bytes:
    """Overwrite eight bytes by a huge, negative or odd integer, as of a header."""
    value = generator.choice((2**63 - 1, 2**62, 2**40, 2**32, 2**31, 1, 2**64 - 1))
    packed = struct.pack(generator.choice("<>") + "Q", value)
    start = generator.randrange(len(data) + 1)
    return data[:start] + packed + data[start + 8 :]


def hostile(data: bytes, generator: random.Random) -> bytes:
    """Insert a text that has broken readers before."""
    texts = (
        b"\xff\xfe", b"\x00" * 9, b"\t\t\t", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"NaN",
        b"1e999", b"-inf", b"{" * 3000, b"[" * 3000, b'"\\ud800"', b'{"text": 1}', b"null",
        b"9" * 400, "\u0301".encode() * 500, b"a" * 70_000, b"= = =", b"[[filter]]\nname = 3\n",
    )  # fmt: skip
    place = generator.randrange(len(data) + 1)
    return data[:place] + generator.choice(texts) + data[place:]


def climb(data: bytes, generator: random.Random) -> bytes:
    """Replace a quoted text by a path that leaves its directory."""
    quoted = list(re.finditer(rb'"[^"]{1,80}"', data))
    if not quoted:
        return data
    chosen = generator.choice(quoted)
    name = generator.choice((b'"../evil"', b'"../../../evil"', b'"evil/../../evil"'))
    return data[: chosen.start()] + name + data[chosen.end() :]


def nothing(data: bytes, generator: random.Random) -> bytes:
    """Return an empty file, or noise."""
    return generator.choice((b"", b"\n", generator.randbytes(200)))


def bomb(data: bytes, generator: random.Random) -> bytes:
    """Return a compressed file of two gigabytes in one line, in the format of ``data``."""
    library = next(
        (
            library
            for magic, library in (
                (b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ", lzma),
                (b"\x28\xb5\x2f\xfd", zstd()),
            )
            if data.startswith(magic)
        ),
        None,
    )  # fmt: skip
    if library is None:
        return data * 2
    # Concatenated members of 64 MiB are one stream in all of these formats.
    if library not in _BOMBS:
        _BOMBS[library] = library.compress(b"a" * (1 << 26)) * 32
    return _BOMBS[library]


_BOMBS: dict[Any, bytes] = {}
MUTATIONS: tuple[Mutation, ...] = (
    *(flip, cut, zero, repeat, remove, swell, hostile, climb, nothing),
)
