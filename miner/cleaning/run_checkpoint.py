"""The scores of a run on disk: a killed run goes on from them, other bounds reuse them.

Nothing in a checkpoint is trusted without its digest: blocks of rows that are cut short, zeroed or
changed are scored again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from miner.errors import ArtifactError, resource_error
from miner.text import durable
from miner.text.locks import lock
from miner.text.output import StrPath

FORMAT = "bitext-miner filter checkpoint"
# Another number if a filter's scores or the layout of the tables change: older ones are not used.
VERSION = 4
META = "checkpoint.json"
_PARTIAL = f".{META}.partial"
# Names of the tables and of their digests.
_TABLE = re.compile(r"(local|model\.[0-9a-f]{16})\.(bin|sums)")
_ELSEWHERE = "name another place (--checkpoint)"


class Checkpoint:
    """A directory with the scores of one text by one plan, locked until the ``with`` block ends.

    Making it only checks and locks the place. `begin` says whose scores the directory holds.
    Raises ArtifactError for a directory that is something else, and ResourceError for one that
    another process has locked.
    """

    def __init__(self, path: StrPath):
        self.path = Path(path)
        self._lock = ExitStack()
        self._note: Callable[[str], None] = lambda text: None
        try:
            self._found()  # refuses a directory of something else before it is touched
            if not self.path.parent.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.enter_context(lock(self.path, f"wait for it, or {_ELSEWHERE}"))
            self._found()  # another process may have made it meanwhile
        except OSError as error:
            self._lock.close()
            raise resource_error(error, self.path) from error
        except BaseException:
            self._lock.close()
            raise

    def begin(
        self,
        key: Mapping[str, Any],
        note: Callable[[str], None] = lambda text: None,
        kept: bool = False,
    ) -> None:
        """Remove the scores of another text or plan; go on from those of this one.

        key: the facts that scores depend on: ``input``, ``layout``, ``plan``, ``libraries``.
        note: is told if scores are removed. kept: the user named the directory, so that scores of
        another text or plan raise ArtifactError instead; those by other versions of a library are
        removed even so. Raises ResourceError for a place that cannot be written to.
        """
        self._note = note
        record = {"format": FORMAT, "version": VERSION, **key}
        try:
            self.path.mkdir(exist_ok=True)
            found = self._found()
            if found == record:
                return
            if found is not None:
                what, only_libraries = _difference(found, record)
                if kept and not only_libraries:
                    raise ArtifactError(
                        f"{self.path}: holds the scores of {what}; {_ELSEWHERE}, or remove it"
                    )
                note(f"{self.path} holds the scores of {what}; starting anew")
                for old in self._own_files():
                    old.unlink()
            partial = self.path / _PARTIAL
            partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            durable.replace(partial, self.path / META)
        except OSError as error:
            raise resource_error(error, self.path) from error

    def remove(self) -> None:
        """Remove the scores, and the directory unless it holds files of somebody else."""
        with suppress(OSError):
            for own in self._own_files():
                own.unlink()
            self.path.rmdir()

    def _own_files(self) -> list[Path]:
        """List the files of a checkpoint, none for a missing directory.

        The record is last: without it the rest would be a directory of something else.
        """
        files = self.path.iterdir() if self.path.is_dir() else ()
        return sorted(filter(_is_own, files), key=lambda file: (file.name == META, file.name))

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def _found(self) -> dict[str, Any] | None:
        """The record of a checkpoint, None for an empty or missing directory."""
        try:
            record = json.loads((self.path / META).read_text(encoding="utf-8"))
            if record["format"] == FORMAT:
                return dict(record)
        except (FileNotFoundError, NotADirectoryError):
            if not self.path.exists() or (
                self.path.is_dir() and {p.name for p in self.path.iterdir()} <= {_PARTIAL}
            ):
                return None
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise ArtifactError(
            f"{self.path}: exists and is not the checkpoint of a filter run; {_ELSEWHERE}, or "
            "remove it"
        )

    def table(self, name: str, dtype: np.dtype) -> Table:
        """The table of this name, with the rows that an earlier run has left."""
        table = Table(self.path / f"{name}.bin", dtype)
        if table.damaged:
            self._note(f"{table.path}: damaged after row {table.done:,}; scoring the rest again")
        return table

    def tables(self, prefix: str, dtype: np.dtype) -> list[Table]:
        """All tables that are there whose names begin with ``prefix``."""
        return [Table(path, dtype) for path in sorted(self.path.glob(f"{prefix}*.bin"))]


def _is_own(file: Path) -> bool:
    return file.name in (META, _PARTIAL) or _TABLE.fullmatch(file.name) is not None


def _difference(found: Mapping[str, Any], record: Mapping[str, Any]) -> tuple[str, bool]:
    """Difference between two records in words, and whether it is in versions of libraries only."""
    words = {
        "version": "another version of this program",
        "input": "another text",
        "layout": "other columns or settings of reading",
        "plan": "other filters or settings",
    }
    others = [text for name, text in words.items() if found.get(name) != record.get(name)]
    if others:
        return " and ".join(others), False
    old, new = found.get("libraries") or {}, record.get("libraries") or {}
    changed = [
        f"{name} {old.get(name)} (now {new.get(name)})"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
    return ", ".join(changed) or "another run", bool(changed)


# The record of a block in the file of digests: the rows up to its end, and the digest of the record
# before, that number, and the block. A record without rows, its number with `_END`, ends a table.
_RECORD = struct.Struct("<Q16s")
_END = 1 << 63


def _digest(before: bytes, count: int, block: bytes) -> bytes:
    digest = hashlib.blake2b(before, digest_size=16)
    digest.update(count.to_bytes(8, "little"))
    digest.update(block)
    return digest.digest()


class Table:
    """Rows of one type in a file that grows by blocks, with a digest for each block.

    done: rows that are there, up to the first block whose digest is wrong or missing. complete:
    there will be no more. damaged: a digest is wrong, which no kill explains.
    """

    def __init__(self, path: Path, dtype: np.dtype):
        self.path, self.dtype = path, dtype
        self._sums = path.with_suffix(".sums")
        self.done, self.complete, self.damaged = 0, False, False
        self._records, self._last = 0, b""
        if path.exists() and self._sums.exists():
            self._verify()

    def _verify(self) -> None:
        records = self._sums.read_bytes()
        with open(self.path, "rb") as file:
            room = os.fstat(file.fileno()).st_size // self.dtype.itemsize
            for count, digest in _RECORD.iter_unpack(records[: len(records) // 24 * 24]):
                end, total = count & _END, count & ~_END
                new = total - self.done
                right = new == 0 if end else 0 < new <= room - self.done
                block = file.read(new * self.dtype.itemsize) if right else b""
                if not right or digest != _digest(self._last, count, block):
                    self.damaged = True
                    return
                self.complete = end > 0
                if self.complete:
                    return
                self.done, self._last = total, digest
                self._records += 1

    @contextmanager
    def writer(self) -> Iterator[Callable[[np.ndarray], None]]:
        """Yield a function that appends rows; at the end without an exception, complete the table.

        Raises ResourceError for a disk that is full.
        """
        try:
            with open(self.path, "ab") as file, open(self._sums, "ab") as sums:
                file.truncate(self.done * self.dtype.itemsize)
                sums.truncate(self._records * _RECORD.size)
                yield lambda rows: self._append(file, sums, rows)
                self._record(sums, self.done | _END, b"")
                for one in (file, sums):
                    one.flush()
                    os.fsync(one.fileno())
            durable.sync_directory(self.path.parent)
            self.complete = True
        except OSError as error:
            if error.filename not in (None, os.fspath(self.path), os.fspath(self._sums)):
                raise
            raise resource_error(error, self.path) from error

    def _append(self, file: IO[bytes], sums: IO[bytes], rows: np.ndarray) -> None:
        if not len(rows):
            return
        block = rows.tobytes()
        file.write(block)
        file.flush()  # before the digest, so that a kill leaves no digest without its block
        self.done += len(rows)
        self._record(sums, self.done, block)
        sums.flush()

    def _record(self, sums: IO[bytes], count: int, block: bytes) -> None:
        self._last = _digest(self._last, count, block)
        sums.write(_RECORD.pack(count, self._last))
        self._records += 1

    def read(self) -> np.ndarray:
        """All rows, mapped into memory."""
        if not self.done:
            return np.zeros(0, dtype=self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r", shape=(self.done,))
