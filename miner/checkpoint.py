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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import h5py
import numpy as np

from miner.engines import Lists
from miner.errors import ArtifactError

FORMAT = "bitext-miner search state"
VERSION = 1
# Seconds between two states of one search.
EVERY = 30.0
# Rows that are hashed at a time.
ROWS = 16_384

Rectangle = tuple[int, int, int, int]


class Rows(Protocol):
    """One side of a search; :class:`miner.neighbors.Side` is one."""

    @property
    def vectors(self) -> np.ndarray: ...

    @property
    def rows(self) -> np.ndarray: ...

    def __len__(self) -> int: ...


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

    def grown(self, old: tuple[int, int], new: tuple[int, int]) -> "Plan":
        """With the rows and columns that came after the ``old`` ones."""
        (n, m), (rows, columns) = old, new
        more = ((0, n, m, columns), (n, rows, 0, columns))
        wanted = tuple(part for part in more if part[0] < part[1] and part[2] < part[3])
        return replace(self, rectangles=self.rectangles + wanted)


class Checkpoint:
    """A file for the state of one search.

    With ``keep`` it stays when the search is done, for a search of the same text and more. ``note``
    gets what a user should know. Raises :class:`~miner.errors.ArtifactError` for a file that is no
    state.
    """

    def __init__(
        self, path: str | Path, *, keep: bool, note: Callable[[str], None] = lambda text: None
    ):
        self.path, self.keep, self.note = Path(path), keep, note
        self.written = time.monotonic()
        self.usable = True
        if self.path.exists():
            self._meta()

    def resume(
        self, engine: str, source: Rows, target: Rows, lists: tuple[Lists, Lists], plan: Plan
    ) -> Plan:
        """Fill the empty ``lists`` with what the file holds; returns what is left of ``plan``."""
        sides = (source, target)
        self._engine, self._sides = engine, sides
        if not self.path.exists():
            return plan
        meta = self._meta()
        sizes = tuple(meta["sizes"])
        old = Plan(tuple(tuple(part) for part in meta["rectangles"]), meta["block"], meta["done"])
        complete = next(old.blocks(), None) is None
        widths = [part.position.shape[1] for part in lists]
        same = (
            meta["engine"] == engine
            and meta["widths"] == widths
            and all(size <= len(side) for size, side in zip(sizes, sides, strict=True))
            and (complete or old.block <= plan.block)
            and meta["digests"] == [_digest(*pair) for pair in zip(sides, sizes, strict=True)]
        )
        if not same:
            self.note(f"{self.path} is of another search (text, model, k or engine); starting anew")
            return plan
        with h5py.File(self.path, "r") as file:
            for name, part, size in zip(("forward", "backward"), lists, sizes, strict=True):
                part.similarity[:size] = file[f"{name}/similarity"]
                part.position[:size] = file[f"{name}/position"]
                part.least[:size] = part.similarity[:size, -1]
        new = (len(source), len(target))
        if complete:
            rest = Plan((), plan.block).grown(sizes, new)
            self.note(
                f"{self.path}: {sizes[0]} x {sizes[1]} sentences are searched already, "
                f"{new[0] - sizes[0]} and {new[1] - sizes[1]} are new"
            )
            return rest
        left = sum(1 for _ in old.blocks())
        share = old.done / (old.done + left)
        self.note(f"{self.path}: going on from {share:.0%} of a search that was stopped")
        return old.grown(sizes, new)

    @property
    def due(self) -> bool:
        """Whether the last state is old enough for another."""
        return self.usable and time.monotonic() - self.written >= EVERY

    def save(self, lists: tuple[Lists, Lists], plan: Plan) -> None:
        """Write the state; an older one is replaced."""
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "engine": self._engine,
            "widths": [part.position.shape[1] for part in lists],
            "sizes": [len(side) for side in self._sides],
            "digests": [_digest(side, len(side)) for side in self._sides],
            "rectangles": plan.rectangles,
            "block": plan.block,
            "done": plan.done,
        }
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        try:
            with h5py.File(partial, "w") as file:
                file.attrs["state"] = json.dumps(meta)
                for name, part in zip(("forward", "backward"), lists, strict=True):
                    file[f"{name}/similarity"] = part.similarity
                    file[f"{name}/position"] = part.position
            os.replace(partial, self.path)
        except (OSError, RuntimeError) as error:
            # The search itself is well.
            self.usable = False
            self.note(
                f"warning: {self.path} cannot be written ({_reason(error)}); going on without"
            )
        finally:
            partial.unlink(missing_ok=True)
        self.written = time.monotonic()

    def finish(self, lists: tuple[Lists, Lists], plan: Plan) -> None:
        """Keep the whole search, or remove what is no longer needed."""
        if self.keep:
            self.save(lists, plan)
        else:
            self.path.unlink(missing_ok=True)

    def _meta(self) -> dict[str, Any]:
        try:
            with h5py.File(self.path, "r") as file:
                meta = json.loads(file.attrs["state"])
            if meta["format"] != FORMAT:
                raise ValueError("another format")
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise ArtifactError(
                f"{self.path}: not the state of a search ({_reason(error)}); remove it, or name "
                "another file"
            ) from None
        if meta["version"] != VERSION:
            raise ArtifactError(
                f"{self.path}: written by another version of this program; remove it"
            )
        return dict(meta)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).split("\n")[0]


def _digest(side: Rows, count: int) -> str:
    """Identifies the first ``count`` rows that take part, by their vectors."""
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, count, ROWS):
        rows = side.rows[start : min(count, start + ROWS)]
        digest.update(np.ascontiguousarray(rows, dtype=np.int64).tobytes())
        digest.update(np.ascontiguousarray(side.vectors[rows]).tobytes())
    return digest.hexdigest()
