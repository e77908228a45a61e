"""Text files of a run: readable by workers on any machine, and checked for changes meanwhile."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from miner.errors import CorpusError, writing
from miner.text.in_memory import GivenTexts, Name
from miner.text.lines import is_read_once, opened
from miner.text.remote import is_remote, local_copy, named, remote_stamp

Stamp = tuple[int, int]


@dataclass(frozen=True)
class TextFile:
    """Text file: absolute ``path`` or address, size and time of change, ``name`` as typed.

    ``stream``: the path is a copy of a source that can be read only once, such as standard input.
    ``given``: a copy of texts in memory, to which settings of reading do not apply.
    """

    path: str
    stamp: Stamp
    name: str = field(metadata={"decides": False})
    stream: bool = False
    given: bool = False

    @contextmanager
    def opened(self) -> Iterator[str]:
        """Yield a path to read from; errors of the block name the file as the user did.

        A file in an object store is copied to the directory of temporary files meanwhile. Raises
        CorpusError for a file that has changed, or that changes during the block.
        """
        self._check()
        with named(self.name, self.path), local_copy(self.path) as local:
            yield local
        if not is_remote(self.path):  # the copy cannot have changed
            self._check()

    def _check(self) -> None:
        if stamp(self.path) != self.stamp:
            raise CorpusError(
                f"{self.name}: changed while it was read; run again once it is complete"
            )


def known_as(name: Name) -> str:
    """Return the name of a file for workers anywhere: its absolute path, or its address."""
    if isinstance(name, GivenTexts):
        return f"texts of {name}"
    return str(name) if name == "-" or is_remote(name) else str(Path(name).absolute())


def stamps(names: Iterable[Sequence[Name]]) -> dict[str, Stamp]:
    """Return the sizes and times of change of all files; streams and texts have none.

    Raises CorpusError for a file that is not there.
    """
    files = (
        name for side_names in names for name in side_names if not isinstance(name, GivenTexts)
    )
    return {known_as(name): stamp(name) for name in files if not is_read_once(str(name))}


def text_files(names: Sequence[Name], copies: Path) -> list[TextFile]:
    """Return the files of these names; streams and texts are first copied into ``copies``.

    Raises CorpusError for a file that cannot be read, and ResourceError.
    """
    files = []
    for number, entry in enumerate(names):
        name = str(entry)
        if isinstance(entry, GivenTexts):
            copy = copies / f"stream-{number}.jsonl"
            _copy(entry.lines, copy)
            files.append(TextFile(str(copy), stamp(copy), name, stream=True, given=True))
        elif is_read_once(name):
            copy = copies / f"stream-{number}{''.join(Path(name).suffixes)}"
            with opened(name) as file:
                _copy(iter(partial(file.read, 1 << 20), b""), copy)
            files.append(TextFile(str(copy), stamp(copy), name, stream=True))
        else:
            files.append(TextFile(known_as(name), stamp(name), name))
    return files


def stamp(path: str | Path) -> Stamp:
    """Return size and time of change of a file. Raises CorpusError if it is not there."""
    if is_remote(path):
        return remote_stamp(str(path))
    try:
        status = Path(path).stat()
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read: {error.strerror}; check the path and its permissions"
        ) from None
    return status.st_size, status.st_mtime_ns


def _copy(blocks: Iterable[bytes], copy: Path) -> None:
    """Write blocks to a file. Its time is set to a digest, so that equal texts have equal
    stamps.
    """
    digest = hashlib.sha256()
    with writing(copy):
        copy.parent.mkdir(parents=True, exist_ok=True)
        with open(copy, "wb") as out:
            for block in blocks:
                digest.update(block)
                out.write(block)
        time = int.from_bytes(digest.digest()[:7], "big")
        os.utime(copy, ns=(time, time))
