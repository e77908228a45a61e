"""Files of pairs that tasks read, and the tasks that cut large ones into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miner.errors import CorpusError, MismatchError
from miner.shards.object_store import result_directory, result_record
from miner.shards.shard_plan import stamp
from miner.shards.task import Task
from miner.text.compression import MAGIC
from miner.text.formats import BitextFormat
from miner.text.rows import Rows

CUT = "cut"
# Rows of a piece where files are not to be cut.
WHOLE = 1 << 62
Stamp = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of file ``file``: piece ``number`` of ``of``.

    ``first`` is the first of its ``rows``, counted over all files.
    """

    file: int
    number: int
    of: int
    first: int
    rows: int

    @property
    def name(self) -> str:
        return f"{self.file:04}-{self.number:04}"


@dataclass(frozen=True)
class BitextFiles:
    """Bitexts, each a file or two aligned ones, absolute, and how they are read.

    ``stamps`` are the sizes and times of change of the files. A bitext of more than
    ``shard_lines`` rows is cut into pieces of so many.
    """

    paths: tuple[tuple[str, ...], ...]
    stamps: tuple[tuple[Stamp, ...], ...]
    reading: BitextFormat
    shard_lines: int

    @classmethod
    def of(
        cls, files: Sequence[Sequence[str]], reading: BitextFormat, shard_lines: int
    ) -> BitextFiles:
        """Return these files. Raises CorpusError for one that is missing, or two of one name."""
        paths = tuple(tuple(str(Path(path).absolute()) for path in sides) for sides in files)
        names: dict[str, str] = {}
        for path in (path for sides in paths for path in sides):
            other = names.setdefault(Path(path).name, path)
            if other != path:
                raise CorpusError(
                    f"{path} and {other} have one name, and so would their outputs; run the "
                    "command on each folder"
                )
        stamps = tuple(tuple(map(stamp, sides)) for sides in paths)
        return cls(paths, stamps, reading, shard_lines)

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> BitextFiles:
        """Return what ``asdict`` and JSON have made of one."""
        return cls(
            tuple(map(tuple, found["paths"])),
            tuple(tuple((size, time) for size, time in sides) for sides in found["stamps"]),
            BitextFormat(**found["reading"]),
            found["shard_lines"],
        )

    def compare(self, old: BitextFiles, work: Path) -> None:
        """Raise CorpusError or MismatchError unless these are the files of the plan in ``work``."""
        if self.paths == old.paths:
            pairs = zip(self.paths, self.stamps, old.stamps, strict=True)
            for sides, new, before in pairs:
                for path, *both in zip(sides, new, before, strict=True):
                    _refuse_changed(path, both[0], both[1], f"the plan in {work}")
        if (self.paths, self.reading) != (old.paths, old.reading):
            raise MismatchError(
                f"{work}: its plan has other files, or reads them in another way; name another "
                "--work"
            )
        if self.shard_lines != old.shard_lines:
            raise MismatchError(
                f"{work}: its plan has --shard-lines {old.shard_lines}, not {self.shard_lines}; "
                "give that, or name another --work"
            )

    def tasks(self) -> list[Task]:
        """Return the tasks that count the rows of each bitext, and cut large ones."""
        return [
            Task(
                f"{CUT}/{number:04}",
                (),
                {"file": number, "stamps": [list(one) for one in stamps], "paths": list(paths)},
                float(sum(size for size, _ in stamps)),
            )
            for number, (paths, stamps) in enumerate(zip(self.paths, self.stamps, strict=True))
        ]

    def rows(self, work: Path) -> list[int]:
        """Return the number of rows of each bitext, once all are counted."""
        return [int(result_record(work, task.name)["result"]["rows"]) for task in self.tasks()]

    def pieces(self, rows: Sequence[int]) -> list[Piece]:
        """Return all pieces, given the number of rows of each bitext; at least one of each."""
        found = []
        first = 0
        for file, count in enumerate(rows):
            of = max(1, -(-count // self.shard_lines))
            for number in range(of):
                start = number * self.shard_lines
                size = min(self.shard_lines, count - start)
                found.append(Piece(file, number, of, first + start, size))
            first += count
        return found

    def whole(self, file: int, more: Sequence[int | str] = (), count: int | None = None) -> Rows:
        """Open a bitext. Raises CorpusError for a file that has changed since the plan was made.

        ``more`` are further columns; with ``count``, its rows are not counted.
        """
        for path, before in zip(self.paths[file], self.stamps[file], strict=True):
            _refuse_changed(path, stamp(path), before, "the plan")
        source, *target = self.paths[file]
        return Rows(
            source,
            target[0] if target else None,
            self.reading,
            more=more,
            rewritable=True,
            count=count,
        )

    def open(self, work: Path, piece: Piece, more: Sequence[int | str] = ()) -> Rows:
        """Open a piece of a bitext."""
        if piece.of == 1:
            return self.whole(piece.file, more, piece.rows)
        whole = self.whole(piece.file, more, 0)
        place = result_directory(work, f"{CUT}/{piece.file:04}")
        return whole.piece(place, piece.number, self.shard_lines)


def cut(files: BitextFiles, out: Path, file: int) -> dict[str, Any]:
    """Count the rows of a bitext, and copy those of a large one to pieces."""
    rows = files.whole(file)
    pieces = rows.cut(files.shard_lines, out)
    rows.inputs.check()
    return {"rows": rows.counted(), "pieces": pieces}


def absolute(name: str | None) -> str | None:
    """Return a path for workers of other working directories; other names as they are."""
    return str(Path(name).absolute()) if name and Path(name).exists() else name


def with_suffix(name: str, suffix: str) -> str:
    """Put a suffix on the name of a file, before that of its compression."""
    for packed in MAGIC:
        if name.lower().endswith(packed):
            return name[: -len(packed)] + suffix + name[-len(packed) :]
    return name + suffix


def _refuse_changed(path: str, now: Stamp, before: Stamp, since: str) -> None:
    if now != before:
        raise CorpusError(
            f"{path}: changed since {since} was made; restore it, or name another --work"
        )
