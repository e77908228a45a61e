"""Digests of the content of files."""

import hashlib
import os

# Bytes read at a time.
_BLOCK = 1 << 20


def content_digest(path: str | os.PathLike[str]) -> str | None:
    """Digest of the bytes of a file; None if it is missing, unreadable or no regular file."""
    try:
        return file_sha256(path) if os.path.isfile(path) else None
    except OSError:
        return None


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal digits. Raises OSError."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
