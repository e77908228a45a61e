"""Compression by suffix: .gz .bz2 .xz .zst."""

import bz2
import gzip
import lzma
import os
import sys
from typing import Any

from miner.errors import DependencyError
from miner.libraries import install_line

# First bytes of a compressed file, by suffix.
MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\0", ".zst": b"\x28\xb5\x2f\xfd"}


def packing(path: str) -> str:
    """Return the suffix by which a file is compressed, "" for none."""
    suffix = os.path.splitext(path)[1]
    return suffix if suffix.lower() in MAGIC else ""


def codec(origin: str) -> Any:
    """Return the module that compresses files of this suffix, or None.

    Raises DependencyError if the library for .zst is missing.
    """
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
            f"{origin}: .zst files need a zstd library; run: {install_line('backports.zstd')}"
        ) from None
    return zstd


def compressor(library: Any, raw: Any) -> Any:
    """Return a binary writer that compresses into ``raw``, without time or name in the header."""
    if library is gzip:
        return gzip.GzipFile("", "wb", 6, raw, mtime=0)
    if library is bz2 or library is lzma:
        return library.open(raw, "wb")
    return library.open(raw, "wb", options={library.CompressionParameter.checksum_flag: 1})
