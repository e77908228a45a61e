"""Checkpoint of a search on disk, from which a killed search goes on and a later one grows.

One HDF5 file holds the running lists of both sides, and the blocks of the similarity matrix that
they have seen. Rows appended to either side leave that work valid: only blocks with new rows are
left to do. The user block of the file, which HDF5 leaves alone, holds the version and a digest of
all other bytes: a file that is not whole is refused before HDF5 reads it.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import h5py
import numpy as np

from miner.errors import ArtifactError, ResourceError
from miner.index import hdf5
from miner.knn.lists import Lists
from miner.knn.vector_set import VectorSet
from miner.text import durable
from miner.text.locks import lock
from miner.text.output import one_line

FORMAT = "bitext-miner search checkpoint"
# Another number if the format changes: a checkpoint of another one is refused.
VERSION = 3
# Bytes of the user block, the least that HDF5 allows.
HEADER = 512
# A checkpoint is written at most once in so many seconds, and takes at most 1/30 of the time.
EVERY = 30.0
# Rows that are hashed at a time.
HASHED_ROWS = 16_384
# Bytes of the file that are hashed at a time.
HASHED_BYTES = 1 << 22
# Groups of the file: the lists of the sources and of the targets.
DIRECTIONS = ("forward", "backward")

Rectangle = tuple[int, int, int, int]


@dataclass(frozen=True)
class Plan:
    """The parts of a similarity matrix to search: rectangles of (row, end, column, end).

    They are cut into blocks of at most ``block`` rows and columns; the first ``done`` blocks are
    finished.
    """

    rectangles: tuple[Rectangle, ...]
    block: int
    done: int = 0

    def blocks(self) -> Iterator[Rectangle]:
        """Yield the blocks that are left; columns are the outer loop."""
        number = 0
        for first, last, left, right in self.rectangles:
            for t in range(left, right, self.block):
                for s in range(first, last, self.block):
                    number += 1
                    if number > self.done:
                        yield s, min(last, s + self.block), t, min(right, t + self.block)

    @property
    def cells(self) -> int:
        """Cells of the matrix that are left."""
        return sum((s_end - s) * (t_end - t) for s, s_end, t, t_end in self.blocks())

    def rest(self, block: int) -> "Plan":
        """Return a plan of the unfinished part, cut into blocks of another size."""
        rest: list[Rectangle] = []
        done = self.done
        for first, last, left, right in self.rectangles:
            high = -(-(last - first) // self.block)
            # Whole strips of columns that are finished, and finished blocks of the next strip.
            strips, blocks = divmod(min(done, high * -(-(right - left) // self.block)), high)
            done -= strips * high + blocks
            t = left + strips * self.block
            if blocks:
                end = min(right, t + self.block)
                rest.append((first + blocks * self.block, last, t, end))
                t = end
            if t < right:
                rest.append((first, last, t, right))
        return Plan(tuple(rest), block)

    def grown(self, old: tuple[int, int], new: tuple[int, int]) -> "Plan":
        """Return the plan with the cells that size ``new`` of the matrix adds to size ``old``."""
        (n, m), (rows, columns) = old, new
        more = ((0, n, m, columns), (n, rows, 0, columns))
        wanted = tuple(part for part in more if part[0] < part[1] and part[2] < part[3])
        return replace(self, rectangles=self.rectangles + wanted)


class Checkpoint:
    """The checkpoint file of one search.

    With ``keep`` the file stays after :meth:`close`, for a later search of the same text and more.
    A search locks the file; it stays locked until it is closed or the ``with`` block ends, so that
    nobody removes the checkpoint of somebody else. ``note`` is called with lines for the user.
    Raises :class:`~miner.errors.ArtifactError` for a file that is no checkpoint of a search.
    """

    def __init__(
        self, path: str | Path, *, keep: bool, note: Callable[[str], None] = lambda text: None
    ):
        self.path, self.keep, self.note = Path(path), keep, note
        self.written, self.took = time.monotonic(), 0.0
        self.usable = True  # the file can be written
        self.used = False  # the file is of this search
        self._lock, self._held = ExitStack(), False
        self._known: dict[tuple[int, int], str] = {}
        if self.path.exists():
            self._verify()

    def resume(
        self,
        engine: str,
        source: VectorSet,
        target: VectorSet,
        lists: tuple[Lists, Lists],
        plan: Plan,
    ) -> Plan:
        """Fill the empty ``lists`` from the file; returns the rest of ``plan``."""
        self._engine, self._sides = engine, (source, target)
        if not self.path.exists():
            return plan
        self._verify()
        try:
            with h5py.File(self.path, "r") as file:
                rest = self._resume(file, lists, plan)
            self.used = True
            return rest
        except _OtherSearch as other:
            self.note(f"{self.path} is of another search ({other}); starting over")
            return plan
        except OSError as error:
            raise self._refused(_reason(error)) from None

    def _resume(self, file: h5py.File, lists: tuple[Lists, Lists], plan: Plan) -> Plan:
        meta = json.loads(file.attrs["search"])
        sizes, widths = tuple(meta["sizes"]), meta["widths"]
        old = Plan(tuple(tuple(part) for part in meta["rectangles"]), meta["block"], meta["done"])
        if meta["engine"] != self._engine:
            raise _OtherSearch(f"engine {meta['engine']}")
        for part, width, size in zip(lists, widths, reversed(sizes), strict=True):
            # A short list that holds the whole other side is as good as a longer one.
            if width != part.width and not size <= width < part.width:
                raise _OtherSearch("another k")
        for number, (side, size) in enumerate(zip(self._sides, sizes, strict=True)):
            if size > len(side) or meta["digests"][number] != self._digest(number, size):
                raise _OtherSearch("another text or model")
        for name, part, size, width in zip(DIRECTIONS, lists, sizes, widths, strict=True):
            part.similarity[:size, :width] = file[f"{name}/similarity"]
            part.position[:size, :width] = file[f"{name}/position"]
            part.least[:size] = part.similarity[:size, -1]
        new = len(self._sides[0]), len(self._sides[1])
        left = old.cells
        if left:
            share = 1 - left / (plan.cells if sizes == new else sizes[0] * sizes[1])
            self.note(f"{self.path}: resuming a stopped search at {share:.0%}")
        else:
            self.note(
                f"{self.path}: {sizes[0]} x {sizes[1]} sentences were searched before; "
                f"{new[0] - sizes[0]} and {new[1] - sizes[1]} are new"
            )
        return old.rest(plan.block).grown(sizes, new)

    def acquire(self) -> None:
        """Keep other processes from this file until :meth:`close` or :meth:`release`.

        Raises ResourceError if somebody else holds the lock. Where no lock can be made, no
        checkpoint can be written either: the search goes on without.
        """
        if self._held:
            return
        try:
            self._lock.enter_context(lock(self.path))
        except ResourceError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            self._give_up(error.__cause__)
            return
        self._held = True
        with suppress(OSError):  # a killed run has left it, and this one may never write its own
            self._partial.unlink()

    def release(self) -> None:
        """Let other processes have the file, which stays."""
        self._held = False
        self._lock.close()

    def __enter__(self) -> "Checkpoint":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @property
    def _partial(self) -> Path:
        """The name under which the file is written. A symbolic link to the file stays one."""
        final = Path(os.path.realpath(self.path))
        return final.with_name(f".{final.name}.partial")

    def _give_up(self, error: Exception) -> None:
        """Go on without a checkpoint."""
        self.usable = False
        self.note(
            f"warning: {self.path} cannot be written ({_reason(error)}); "
            "going on without a checkpoint"
        )

    @property
    def due(self) -> bool:
        """True when it is time to write the file again."""
        pause = EVERY * max(1.0, self.took)
        return self.usable and time.monotonic() - self.written >= pause

    def save(self, lists: tuple[Lists, Lists], plan: Plan) -> None:
        """Write the file, in place of an older one. A failure ends checkpoints, not the search."""
        begun = time.monotonic()
        meta = {
            "engine": self._engine,
            "widths": [part.width for part in lists],
            "sizes": [len(side) for side in self._sides],
            "digests": [self._digest(i, len(side)) for i, side in enumerate(self._sides)],
            "rectangles": plan.rectangles,
            "block": plan.block,
            "done": plan.done,
        }
        final, partial = Path(os.path.realpath(self.path)), self._partial
        try:
            tables = {
                f"{name}/{kind}": getattr(part, kind)
                for name, part in zip(DIRECTIONS, lists, strict=True)
                for kind in ("similarity", "position")
            }
            with hdf5.errors(), h5py.File(partial, "w", userblock_size=HEADER) as file:
                file.attrs["search"] = json.dumps(meta)
                for name in DIRECTIONS:
                    file.create_group(name)
                places = {
                    name: hdf5.reserve(file, name, table.shape, table.dtype)
                    for name, table in tables.items()
                }
            with open(partial, "r+b") as plain:
                for name, table in tables.items():
                    plain.seek(places[name])
                    plain.write(table.data)
                header = "\n".join((FORMAT, str(VERSION), _content_digest(plain), ""))
                plain.seek(0)
                plain.write(header.encode())
            durable.replace(partial, final)
            self.used = True
        except (OSError, RuntimeError) as error:
            self._give_up(error)
        finally:
            with suppress(OSError):
                partial.unlink()
        self.written = time.monotonic()
        self.took = self.written - begun

    def finish(self, lists: tuple[Lists, Lists], plan: Plan) -> None:
        """Write the finished search, if long or to be kept: later steps may still fail."""
        if self.usable and (self.keep or self.due or self.path.exists()):
            self.save(lists, plan)

    def close(self) -> None:
        """Remove the file unless it is to be kept, and release it. Called with the results safe."""
        if self.used and not self.keep:
            with suppress(OSError):
                self.path.unlink()
        self.release()

    def _verify(self) -> None:
        """Check the version and the digest of the file."""
        try:
            with open(self.path, "rb") as file:
                form, version, digest, *_ = (*file.read(HEADER).split(b"\n"), b"", b"", b"")
                if form != FORMAT.encode():
                    raise self._refused("another format")
                if version != str(VERSION).encode():
                    raise self._refused("written by another version of this program")
                if digest != _content_digest(file).encode():
                    raise self._refused("corrupted: its checksum is wrong")
        except OSError as error:
            raise self._refused(_reason(error)) from None

    def _refused(self, reason: str) -> ArtifactError:
        return ArtifactError(
            f"{self.path}: not a checkpoint of a search ({reason}); name another file "
            "(--checkpoint), or remove this one"
        )

    def _digest(self, side: int, count: int) -> str:
        if (side, count) not in self._known:
            self._known[side, count] = _digest(self._sides[side], count)
        return self._known[side, count]


class _OtherSearch(Exception):
    """The checkpoint is of another search; the message names the difference."""


def _reason(error: Exception) -> str:
    """Return the system's words for an error, or the first line of HDF5's message."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else one_line(str(error))


def _content_digest(file: IO[bytes]) -> str:
    """Return a digest of all bytes after the header."""
    digest = hashlib.blake2b(digest_size=16)
    file.seek(HEADER)
    while chunk := file.read(HASHED_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _digest(side: VectorSet, count: int) -> str:
    """Return a digest of the first ``count`` selected rows and their vectors."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, count, HASHED_ROWS):
        end = min(count, start + HASHED_ROWS)
        digest.update(np.ascontiguousarray(side.rows[start:end], dtype=np.int64).tobytes())
        digest.update(np.ascontiguousarray(side.block(start, end)).tobytes())
    return digest.hexdigest()
