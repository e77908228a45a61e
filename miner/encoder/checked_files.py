"""SHA-256 of large files that every command checks, remembered in the user's cache directory.

A digest stands while the file keeps its inode, its size, and the times of its last write and last
change; every write moves the latter, and programs cannot set it. A file that changed a moment ago
is not remembered: its times tick more slowly than it may change again.
"""

import json
import os
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from miner.encoder.cached_arrays import folder, is_safe
from miner.json_files import read_json
from miner.text.file_digests import file_sha256

# Minimum bytes of a file that is remembered, and nanoseconds since its last change.
LEAST, SETTLED = 1 << 20, 2_000_000_000


def checked_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits, known or computed. Raises OSError."""
    stamp = _stamp(path)
    if stamp["size"] < LEAST or os.name == "nt":  # Windows has no time of the last change
        return file_sha256(path)
    name = sha256(os.fsencode(path.absolute())).hexdigest()[:16]
    record = folder() / f"{name}.digest"
    with suppress(OSError, ValueError, AttributeError):
        known = read_json(record)
        if is_safe(record.parent) and known == {**stamp, "sha256": known.get("sha256")}:
            return str(known["sha256"])
    digest = file_sha256(path)
    if time.time_ns() - stamp["changed"] > SETTLED and _stamp(path) == stamp:
        with suppress(OSError):
            record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = record.with_name(f"{record.name}.{os.getpid()}")
            partial.write_text(json.dumps({**stamp, "sha256": digest}), encoding="utf-8")
            partial.replace(record)
    return digest


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {
        "inode": status.st_ino,
        "size": status.st_size,
        "written": status.st_mtime_ns,
        "changed": status.st_ctime_ns,
    }
