"""The scores of a cleaning on disk: a killed one goes on from them, another bound reuses them."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from miner.errors import ArtifactError
from miner.text.output import StrPath, resource_error

try:
    import fcntl
except ImportError:  # on Windows, where two runs at once are not told apart
    fcntl = None  # type: ignore[assignment]

FORMAT = "bitext-miner filtering state"
# Another one where a filter's scores become others: states of before are not gone on with.
VERSION = 2
META = "state.json"


class State:
    """A directory for the scores of one text by one plan, until the ``with`` block ends.

    What it holds of another text or plan is removed, which ``note`` is told; where it is ``kept``
    on purpose, that is an error. Raises :class:`~miner.errors.ArtifactError` for it, for a
    directory that is something else, and for one that another run is at work in.
    """

    def __init__(
        self,
        path: StrPath,
        key: dict[str, Any],
        note: Callable[[str], None] = lambda text: None,
        kept: bool = False,
    ):
        self.path = Path(path)
        self._lock: IO[str] | None = None
        record = {"format": FORMAT, "version": VERSION, **key}
        try:
            if (found := self._found()) is not None:
                self._hold()
                if found == record:
                    return
                other = [name for name in ("input", "plan") if found.get(name) != record.get(name)]
                what = {"input": "another text", "plan": "other filters or settings"}
                of = " and ".join(what[name] for name in other) or "another version"
                if kept:
                    raise ArtifactError(
                        f"{self.path}: holds the scores of {of}; name another place (--state), or "
                        "remove it"
                    )
                note(f"{self.path} is of {of}; starting anew")
                shutil.rmtree(self.path)
            self.path.mkdir(parents=True, exist_ok=True)
            partial = self.path / f".{META}.partial"
            partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            os.replace(partial, self.path / META)
            self._hold()
        except OSError as error:
            raise resource_error(error, self.path) from error

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def _hold(self) -> None:
        """Keep others out: two runs that write one table would mix their rows."""
        if self._lock is not None:
            self._lock.close()
        self._lock = open(self.path / META, encoding="utf-8")  # noqa: SIM115
        if fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._lock.close()
                raise ArtifactError(
                    f"{self.path}: another run is at work on it; wait for it, or name another "
                    "place (--state)"
                ) from None

    def _found(self) -> dict[str, Any] | None:
        try:
            record = json.loads((self.path / META).read_text(encoding="utf-8"))
            if record["format"] == FORMAT:
                return dict(record)
        except (FileNotFoundError, NotADirectoryError):
            if not self.path.exists() or (
                self.path.is_dir() and {p.name for p in self.path.iterdir()} <= {f".{META}.partial"}
            ):
                return None
        except (OSError, ValueError, KeyError, TypeError):
            pass
        raise ArtifactError(
            f"{self.path}: exists and is not the state of a filtering; name another place "
            "(--state), or remove it"
        )

    def table(self, name: str, dtype: np.dtype, rows: int) -> Table:
        """A table that is written ``rows`` rows at a time."""
        return Table(self.path / f"{name}.bin", dtype, rows)

    def tables(self, prefix: str, dtype: np.dtype, rows: int) -> list[Table]:
        """All tables that are there whose names begin with ``prefix``."""
        return [Table(path, dtype, rows) for path in sorted(self.path.glob(f"{prefix}*.bin"))]


class Table:
    """Rows of one type in a file that grows; ``rows`` of them at a time, but for the last.

    ``done`` rows are there; ``complete`` when there will be no more.
    """

    def __init__(self, path: Path, dtype: np.dtype, rows: int):
        self.path, self.dtype = path, dtype
        self._end = path.with_suffix(".done")
        size = path.stat().st_size if path.exists() else 0
        self.done = size // dtype.itemsize
        ended = self._end.exists()
        self.complete = ended and self._end.read_text() == f"{self.done}\n"
        if not self.complete:
            # What a kill has cut short is written again; and all, if it was whole and is no more.
            self.done = 0 if ended else self.done // rows * rows

    @contextmanager
    def writer(self) -> Iterator[Callable[[np.ndarray], None]]:
        """Yield what appends rows; when the block ends without an exception, the table is complete.

        Raises :class:`~miner.errors.ResourceError` for a disk that is full.
        """
        try:
            self._end.unlink(missing_ok=True)
            with open(self.path, "ab") as file:
                file.truncate(self.done * self.dtype.itemsize)
                yield lambda rows: self._append(file, rows)
                file.flush()
                os.fsync(file.fileno())
            self._end.write_text(f"{self.done}\n")
            self.complete = True
        except OSError as error:
            if error.filename not in (None, os.fspath(self.path), os.fspath(self._end)):
                raise
            raise resource_error(error, self.path) from error

    def _append(self, file: IO[bytes], rows: np.ndarray) -> None:
        file.write(rows.tobytes())
        self.done += len(rows)

    def read(self) -> np.ndarray:
        """All rows, mapped into memory."""
        if not self.done:
            return np.zeros(0, dtype=self.dtype)
        return np.memmap(self.path, dtype=self.dtype, mode="r", shape=(self.done,))
