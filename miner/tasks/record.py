"""Records of tasks in a work directory: of results, and notes on running and failed tasks.

The record of a result is its `done.json`: the fingerprint of its task, the sizes and digests of its
files, times, memory, and the value of the task's function. Running and failed tasks have a note
each.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from miner.errors import ArtifactError
from miner.json_files import read_json
from miner.text.file_digests import file_sha256
from miner.text.output import write_whole

DONE = "done.json"
# Field of a record in an object store that names the folder of the result's files.
AT = "at"
# Subdirectories for notes on running and on failed tasks.
RUNNING, FAILED = "running", "failed"
# Mark of a temporary directory.
PARTIAL = ".partial"
# Id of the machine's last start, on Linux.
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def record(work: Path, name: str) -> dict[str, Any]:
    """Read the record of a finished task. Raises ArtifactError if it is missing or altered."""
    try:
        entry: dict[str, Any] = read_json(work / name / DONE)
        if not isinstance(entry, dict) or entry.get("digest") != digest(entry):
            raise ValueError("its digest differs")
        return entry
    except (OSError, ValueError) as error:
        raise ArtifactError(
            f"{work / name}: the result of a task is missing or damaged ({error}); repeat the "
            "command to make it again"
        ) from None


def digest(entry: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record without its digest and its folder in an object store."""
    content = {key: value for key, value in entry.items() if key not in ("digest", AT)}
    as_read = json.loads(json.dumps(content))
    return hashlib.sha256(json.dumps(as_read, sort_keys=True).encode()).hexdigest()


def is_whole(work: Path, name: str) -> bool:
    """Return True if a result has all its files, and does not predate a restart unsynced.

    Files of a durable result that were written to later are compared with their SHA-256.
    """
    try:
        entry = record(work, name)
        return entry["boot"] in (None, boot()) and all(
            _is_same(work / name / file, entry) for file in entry["files"]
        )
    except (ArtifactError, OSError, KeyError, TypeError):
        return False


def _is_same(path: Path, entry: Mapping[str, Any]) -> bool:
    stat, name = path.stat(), path.name
    return stat.st_size == entry["files"][name] and (
        stat.st_mtime_ns == entry["changed"][name]
        or entry["sha256"].get(name) in (None, file_sha256(path))
    )


@lru_cache
def boot() -> str:
    """Return the id of the machine's last start; "" if the system has none."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""


def notes(work: Path, folder: str) -> dict[str, dict[str, Any]]:
    """Read the notes on running or failed tasks, by the name of the task."""
    entries = {}
    with suppress(OSError):
        for path in sorted((work / folder).iterdir()):
            with suppress(OSError, ValueError):
                if not path.name.startswith("."):
                    content = read_json(path)
                    entries[path.name.replace(" ", "/")] = content
    return entries


def write_note(path: Path, content: dict[str, Any]) -> None:
    """Write a note on a task, if possible."""
    with suppress(Exception):
        path.parent.mkdir(exist_ok=True)
        write_whole(path, json.dumps(content).encode())


def remove_leftovers(work: Path) -> None:
    """Remove leftovers of killed tasks; only while nobody works in the directory."""
    shutil.rmtree(work / RUNNING, ignore_errors=True)
    for path in work.glob(f"*/.*{PARTIAL}"):
        shutil.rmtree(path, ignore_errors=True)
