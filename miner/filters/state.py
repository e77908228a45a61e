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
from miner.files import StrPath, resource_error

FORMAT = "bitext-miner filtering state"
VERSION = 1
META = "state.json"


class State:
    """A directory for the scores of one text by one plan.

    What it holds of another text or plan is removed, which ``note`` is told. Raises
    :class:`~miner.errors.ArtifactError` for a directory that is something else.
    """

    def __init__(
        self, path: StrPath, key: dict[str, Any], note: Callable[[str], None] = lambda text: None
    ):
        self.path = Path(path)
        record = {"format": FORMAT, "version": VERSION, **key}
        found = self._found()
        if found is not None and found != record:
            note(f"{self.path} is of another text or other filters; starting anew")
            shutil.rmtree(self.path)
            found = None
        if found is None:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                partial = self.path / f".{META}.partial"
                partial.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
                os.replace(partial, self.path / META)
            except OSError as error:
                raise resource_error(error, self.path) from error

    def _found(self) -> dict[str, Any] | None:
        try:
            record = json.loads((self.path / META).read_text(encoding="utf-8"))
            if record["format"] == FORMAT:
                return dict(record)
        except FileNotFoundError:
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


class Table:
    """Rows of one type in a file that grows; ``rows`` of them at a time, but for the last.

    ``done`` rows are there; ``complete`` when there will be no more.
    """

    def __init__(self, path: Path, dtype: np.dtype, rows: int):
        self.path, self.dtype = path, dtype
        self._end = path.with_suffix(".done")
        size = path.stat().st_size if path.exists() else 0
        self.done = size // dtype.itemsize
        self.complete = self._end.exists() and self._end.read_text() == f"{self.done}\n"
        if not self.complete:  # what a kill has cut short is written again
            self.done = self.done // rows * rows

    @contextmanager
    def writer(self) -> Iterator[Callable[[np.ndarray], None]]:
        """Yield what appends rows; when the block ends without an exception, the table is complete.

        Raises :class:`~miner.errors.ResourceError` for a disk that is full.
        """
        try:
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
