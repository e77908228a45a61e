"""Outputs of bitexts, whose pieces are written by several tasks and joined."""

import shutil
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from miner.cleaning.bitexts import Bitext, Piece
from miner.errors import writing
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, hints
from miner.text.compression import MAGIC
from miner.text.output import all_or_none, open_output

# Paths of the outputs of a bitext, by role: kept, kept-1, rejected, scores, scored.
Outputs = Mapping[str, str]


def packings(outputs: Outputs, piece: Piece) -> dict[str, str]:
    """Return the suffixes by which a piece's task compresses its outputs; none if they are joined.

    A whole bitext's outputs are final.
    """
    return {role: _packing(path) if piece.of == 1 else "" for role, path in outputs.items()}


@hints(seconds=2e-6)
def join(job: Job, parts: list[Result], packings: Mapping[str, str]) -> None:
    """Join the outputs of the pieces of a bitext."""
    for role, packing in packings.items():
        with open_output(job.out / f"{role}{packing}", binary=True) as file:
            for part in parts:
                with open(part.path / role, "rb") as source:
                    shutil.copyfileobj(source, file)


def joined(
    run: Run,
    pieces: Sequence[Sequence[Piece]],
    written: Sequence[Result],
    outputs: Sequence[Outputs],
) -> list[Result]:
    """Return the result that has the outputs of each bitext: of its one piece, or joined.

    ``written`` are the results of all pieces, in order.
    """
    found: list[Result] = []
    rest = iter(written)
    for own, wanted in zip(pieces, outputs, strict=True):
        parts = list(islice(rest, len(own)))
        if len(parts) == 1 or not wanted:
            found.append(parts[0])
            continue
        ends = {role: _packing(path) for role, path in wanted.items()}
        call = Call({"parts": parts, "packings": ends}, units=sum(one.rows for one in own))
        number = own[0].name.partition("-")[0]
        found += run.stage("join", join, {number: call})
    return found


def deliver(results: Sequence[Result], outputs: Sequence[Outputs]) -> None:
    """Copy the outputs of all bitexts to their places; all appear, or none.

    Raises ResourceError.
    """
    with all_or_none() as together:
        for result, wanted in zip(results, outputs, strict=True):
            for role, path in wanted.items():
                if path != "-":
                    with writing(path):
                        Path(path).parent.mkdir(parents=True, exist_ok=True)
                with (
                    open(result.path / f"{role}{_packing(path)}", "rb") as source,
                    open_output(path, binary=True, together=together, packed=True) as file,
                ):
                    shutil.copyfileobj(source, file)


def folder_outputs(bitext: Bitext, folders: Mapping[str, str], only: bool = False) -> Outputs:
    """Return the outputs of a bitext in folders, by role: files of its own names.

    Two files become one of rows that are rejected, or scored unless scores stand alone (``only``).
    """
    name, *other = (Path(file.path).name for file in bitext.files)
    suffixes = {"scores": ".jsonl"}
    if other:
        suffixes |= {"rejected": ".tsv", "scored": "" if only else ".tsv"}
    found = {
        role: str(Path(folder) / _with_suffix(name, suffixes.get(role, "")))
        for role, folder in folders.items()
    }
    if other and "kept" in folders:
        found["kept-1"] = str(Path(folders["kept"]) / other[0])
    return found


def _packing(path: str) -> str:
    """Return the suffix of a file's compression."""
    return next((end for end in MAGIC if path.lower().endswith(end)), "")


def _with_suffix(name: str, suffix: str) -> str:
    """Add a suffix to a file name, before the suffix of the compression."""
    packing = name[len(name) - len(_packing(name)) :]
    return name.removesuffix(packing) + suffix + packing
