"""The state of a search on disk: a killed search goes on from it, and a later one builds on it.

One HDF5 file holds the running lists of both sides and which blocks of the similarity matrix they
have seen. Rows that were appended to either side since leave all that is done valid: only blocks
with new rows are left to do.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from miner.errors import ArtifactError
from miner.index import hdf5
from miner.knn.engines import Lists
from miner.knn.vector_set import Side
from miner.text.output import one_line

FORMAT = "bitext-miner search state"
VERSION = 1
# Seconds between two states of one search, for each second that writing one takes, at the least.
EVERY = 30.0
# Rows that are hashed at a time.
ROWS = 16_384

Rectangle = tuple[int, int, int, int]


@dataclass(frozen=True)
class Plan:
    """What of a similarity matrix is to be searched: rectangles of (row, end, column, end).

    They are cut into blocks of at most ``block`` rows and columns, of which the first ``done`` are
    finished.
    """

    rectangles: tuple[Rectangle, ...]
    block: int
    done: int = 0

    def blocks(self) -> Iterator[Rectangle]:
        """Those that are left: columns outside, rows within."""
        number = 0
        for first, last, left, right in self.rectangles:
            for t in range(left, right, self.block):
                for s in range(first, last, self.block):
                    number += 1
                    if number > self.done:
                        yield s, min(last, s + self.block), t, min(right, t + self.block)

    @property
    def cells(self) -> int:
        """Products that are left."""
        return sum((s_end - s) * (t_end - t) for s, s_end, t, t_end in self.blocks())

    def rest(self, block: int) -> "Plan":
        """What is left, to be cut into blocks of another size."""
        rest: list[Rectangle] = []
        done = self.done
        for first, last, left, right in self.rectangles:
            high = -(-(last - first) // self.block)
            # Whole strips of columns that are done, and blocks of the next one.
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
        """With the rows and columns that came after the ``old`` ones."""
        (n, m), (rows, columns) = old, new
        more = ((0, n, m, columns), (n, rows, 0, columns))
        wanted = tuple(part for part in more if part[0] < part[1] and part[2] < part[3])
        return replace(self, rectangles=self.rectangles + wanted)


class Checkpoint:
    """A file for the state of one search.

    With ``keep`` it stays after :meth:`close`, for a search of the same text and more. ``note``
    gets what a user should know. Raises :class:`~miner.errors.ArtifactError` for a file that is no
    state.
    """

    def __init__(
        self, path: str | Path, *, keep: bool, note: Callable[[str], None] = lambda text: None
    ):
        self.path, self.keep, self.note = Path(path), keep, note
        self.written, self.took = time.monotonic(), 0.0
        # Whether a state can be written; whether the file is of this search.
        self.usable, self.used = True, False
        self._known: dict[tuple[int, int], str] = {}
        if self.path.exists():
            self._meta()

    def resume(
        self, engine: str, source: Side, target: Side, lists: tuple[Lists, Lists], plan: Plan
    ) -> Plan:
        """Fill the empty ``lists`` with what the file holds; returns what is left of ``plan``."""
        sides = (source, target)
        self._engine, self._sides = engine, sides
        if not self.path.exists():
            return plan
        meta = self._meta()
        try:
            rest = self._resume(meta, lists, plan.block)
            self.used = True
            return rest
        except _Other as other:
            self.note(f"{self.path} is of another search ({other}); starting anew")
            return plan
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise self._broken(error) from None

    def _resume(self, meta: dict[str, Any], lists: tuple[Lists, Lists], block: int) -> Plan:
        sizes, widths = tuple(meta["sizes"]), meta["widths"]
        old = Plan(tuple(tuple(part) for part in meta["rectangles"]), meta["block"], meta["done"])
        if meta["engine"] != self._engine:
            raise _Other(f"engine {meta['engine']}")
        for part, width, size in zip(lists, widths, reversed(sizes), strict=True):
            # Lists that hold all that there was are as good as longer ones.
            if width != part.position.shape[1] and not size <= width < part.position.shape[1]:
                raise _Other("another k")
        for number, (side, size) in enumerate(zip(self._sides, sizes, strict=True)):
            if size > len(side) or meta["digests"][number] != self._digest(number, size):
                raise _Other("another text or model")
        with h5py.File(self.path, "r") as file:
            for name, part, size, width in zip(
                ("forward", "backward"), lists, sizes, widths, strict=True
            ):
                part.similarity[:size, :width] = file[f"{name}/similarity"]
                part.position[:size, :width] = file[f"{name}/position"]
                part.least[:size] = part.similarity[:size, -1]
        new = len(self._sides[0]), len(self._sides[1])
        left = old.cells
        if left:
            share = 1 - left / (sizes[0] * sizes[1])
            self.note(f"{self.path}: going on from {share:.0%} of a search that was stopped")
        else:
            self.note(
                f"{self.path}: {sizes[0]} x {sizes[1]} sentences are searched already, "
                f"{new[0] - sizes[0]} and {new[1] - sizes[1]} are new"
            )
        return old.rest(block).grown(sizes, new)

    @property
    def due(self) -> bool:
        """Whether the last state is old enough for another."""
        pause = EVERY * max(1.0, self.took)
        return self.usable and time.monotonic() - self.written >= pause

    def save(self, lists: tuple[Lists, Lists], plan: Plan) -> None:
        """Write the state; an older one is replaced."""
        begun = time.monotonic()
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "engine": self._engine,
            "widths": [part.position.shape[1] for part in lists],
            "sizes": [len(side) for side in self._sides],
            "digests": [self._digest(i, len(side)) for i, side in enumerate(self._sides)],
            "rectangles": plan.rectangles,
            "block": plan.block,
            "done": plan.done,
        }
        # The next run writes over what a killed one left of this; a link stays one.
        final = Path(os.path.realpath(self.path))
        partial = final.with_name(f".{final.name}.partial")
        try:
            tables = {
                f"{name}/{kind}": getattr(part, kind)
                for name, part in zip(("forward", "backward"), lists, strict=True)
                for kind in ("similarity", "position")
            }
            with hdf5.errors(), h5py.File(partial, "w") as file:
                file.attrs["state"] = json.dumps(meta)
                for name in ("forward", "backward"):
                    file.create_group(name)
                places = {
                    name: hdf5.reserve(file, name, table.shape, table.dtype)
                    for name, table in tables.items()
                }
            with open(partial, "r+b") as plain:
                for name, table in tables.items():
                    plain.seek(places[name])
                    plain.write(table.data)
            os.replace(partial, final)
            self.used = True
        except (OSError, RuntimeError) as error:
            # The search itself is well.
            self.usable = False
            self.note(
                f"warning: {self.path} cannot be written ({_reason(error)}); going on without"
            )
        finally:
            with suppress(OSError):
                partial.unlink()
        self.written = time.monotonic()
        self.took = self.written - begun

    def finish(self, lists: tuple[Lists, Lists], plan: Plan) -> None:
        """Keep the whole search, if it was long or is to stay: what comes of it may still fail."""
        if self.keep or self.due or self.path.exists():
            self.save(lists, plan)

    def close(self) -> None:
        """Remove what is no longer needed, once the results are safe."""
        if self.used and not self.keep:
            with suppress(OSError):
                self.path.unlink()

    def _meta(self) -> dict[str, Any]:
        try:
            with h5py.File(self.path, "r") as file:
                meta = json.loads(file.attrs["state"])
            if meta["format"] != FORMAT:
                raise ValueError("another format")
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise self._broken(error) from None
        if meta["version"] != VERSION:
            raise ArtifactError(
                f"{self.path}: written by another version of this program; remove it"
            )
        return dict(meta)

    def _broken(self, error: Exception) -> ArtifactError:
        return ArtifactError(
            f"{self.path}: not the state of a search ({_reason(error)}); name another file "
            "(--state), or remove this one"
        )

    def _digest(self, side: int, count: int) -> str:
        if (side, count) not in self._known:
            self._known[side, count] = _digest(self._sides[side], count)
        return self._known[side, count]


class _Other(Exception):
    """A state is not of this search; the text says in what it differs."""


def _reason(error: Exception) -> str:
    # HDF5 has a text of several lines where the system has a few words.
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else one_line(str(error))


def _digest(side: Side, count: int) -> str:
    """Identifies the first ``count`` rows that take part, by their vectors."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, count, ROWS):
        rows = side.rows[start : min(count, start + ROWS)]
        digest.update(np.ascontiguousarray(rows, dtype=np.int64).tobytes())
        digest.update(np.ascontiguousarray(side.vectors[rows]).tobytes())
    return digest.hexdigest()
