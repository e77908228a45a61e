"""Digests of the content of files."""

import hashlib
import os


def content_digest(path: str | os.PathLike[str]) -> str | None:
    """Digest of the bytes of a file; None if it is missing, unreadable or no regular file."""
    try:
        return file_sha256(path) if os.path.isfile(path) else None
    except OSError:
        return None


def file_sha256(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file in hexadecimal digits. Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
