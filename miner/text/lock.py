"""A lock that keeps two processes from writing to one directory, and says who holds it."""

from __future__ import annotations

import os
import socket
from datetime import datetime
from pathlib import Path
from typing import IO

from miner.errors import ArtifactError

try:
    import fcntl
except ImportError:  # on Windows, where two processes are not told apart
    fcntl = None  # type: ignore[assignment]

# The file of a locked directory that holds the lock. It stays when the lock is released.
NAME = "lock"


class Lock:
    """Exclusive lock on a directory, from its creation until `close`, or the end of the process."""

    def __init__(self, directory: Path, remedy: str):
        """Take the lock.

        Raises ArtifactError, which names the process that holds it and ends with ``remedy``, if
        another one does; OSError if the lock file cannot be written.
        """
        path = directory / NAME
        while True:
            self._file: IO[str] = open(path, "a+", encoding="utf-8")  # noqa: SIM115
            try:
                if fcntl is not None:
                    fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The last holder may have removed the directory since the file was opened.
                if path.exists() and os.path.samestat(os.fstat(self._file.fileno()), path.stat()):
                    break
                self._file.close()
            except BlockingIOError:
                self._file.seek(0)
                holder = self._file.read(200).strip() or "another process"
                self._file.close()
                raise ArtifactError(f"{directory}: in use by {holder}; {remedy}") from None
            except BaseException:
                self._file.close()
                raise
        self._file.truncate(0)
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        self._file.write(f"process {os.getpid()} on {socket.gethostname()} since {now}\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
