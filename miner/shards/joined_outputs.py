"""Outputs of bitexts, whose pieces are written by several tasks and joined."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from miner.errors import resource_error
from miner.shards.bitext_files import Piece
from miner.shards.object_store import result_directory
from miner.shards.task import Task
from miner.text.output import atomic_file, open_output

JOIN = "join"


def place(out: Path, piece: Piece, role: str, name: str) -> Path:
    """Return where a task writes an output of a piece: compressed by its name if it is whole."""
    return out / (f"{role}-{name}" if piece.of == 1 else f"{role}.part")


def joining_tasks(pieces: Sequence[Piece], kind: str) -> list[Task]:
    """Return the tasks that join the outputs of the pieces of a bitext, where there are several."""
    parts: dict[int, list[Piece]] = {}
    for piece in pieces:
        parts.setdefault(piece.file, []).append(piece)
    return [
        Task(
            f"{JOIN}/{file:04}",
            tuple(f"{kind}/{piece.name}" for piece in own),
            {"file": file, "parts": [f"{kind}/{piece.name}" for piece in own]},
            float(sum(piece.rows for piece in own)),
        )
        for file, own in parts.items()
        if len(own) > 1
    ]


def join(work: Path, out: Path, parts: Sequence[str], names: Mapping[str, str]) -> None:
    """Join the outputs of pieces; ``names`` are those of the whole ones, by role."""
    for role, name in names.items():
        with open_output(out / f"{role}-{name}", binary=True) as file:
            for part in parts:
                with open(result_directory(work, part) / f"{role}.part", "rb") as source:
                    shutil.copyfileobj(source, file)


def deliver(
    work: Path,
    pieces: Sequence[Piece],
    kind: str,
    names: Sequence[Mapping[str, str]],
    directories: Mapping[str, Path],
) -> None:
    """Copy the outputs of all bitexts into the directories of their roles.

    ``names`` are those of each bitext. Raises ResourceError.
    """
    for directory in directories.values():
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise resource_error(error, directory) from error
    for piece in pieces:
        if piece.number:
            continue
        task = f"{kind}/{piece.name}" if piece.of == 1 else f"{JOIN}/{piece.file:04}"
        for role, name in names[piece.file].items():
            final = directories[role.partition(" ")[0]] / name
            try:
                with atomic_file(final) as temporary:
                    shutil.copyfile(result_directory(work, task) / f"{role}-{name}", temporary)
            except OSError as error:
                raise resource_error(error, final) from error
