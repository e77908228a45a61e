"""Outputs of bitexts: pieces written by several tasks, then joined."""

import json
import shutil
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from miner.cleaning.bitexts import BitextFiles, Piece, languages_of
from miner.cleaning.write import NAMED
from miner.errors import CorpusError, writing
from miner.option_values import SIDES, Languages
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, hints
from miner.text.artifacts import write_manifest
from miner.text.compression import packing
from miner.text.formats import ALL, file_format
from miner.text.output import all_or_none, open_output
from miner.text.write_bitext import beside, write_bitext

# Paths of a bitext's outputs, by role: kept, kept-1, rejected, scores, scored, only.
Outputs = Mapping[str, str]
FORMAT = "bitext-miner rows"
# Roles of outputs whose lines are not rows.
LINES = ("scores", "only")


def by_outputs(
    pieces: Sequence[Sequence[Piece]], outputs: Sequence[Outputs]
) -> Sequence[Sequence[Piece]]:
    """Return the pieces of each output: of one bitext, or of all if there is a single output.

    Raises CorpusError for bitexts whose rows cannot be in one file.
    """
    if len(outputs) == len(pieces):
        return pieces
    first, *others = (bitext_pieces[0].bitext for bitext_pieces in pieces)
    if first.reading.header or any(other.native != first.native for other in others):
        raise CorpusError(
            "files with headers, or of several formats, have no common output; name a folder: out/"
        )
    return [[piece for bitext_pieces in pieces for piece in bitext_pieces]]


def packings(outputs: Outputs, piece: Piece, alone: bool) -> dict[str, str]:
    """Return the suffixes of a piece's outputs: their compression, unless they are joined.

    Outputs of a piece that is ``alone`` are final, except rows converted to another format.
    """
    return {
        role: end if alone or end == NAMED else ""
        for role, end in _endings(piece.bitext, outputs).items()
    }


@hints(seconds=2e-6)
def join(job: Job, parts: list[Result], packings: Mapping[str, str]) -> None:
    for role, end in packings.items():
        with open_output(job.out / f"{role}{end}", binary=True) as file:
            for part in parts:
                with open(part.path / f"{role}{NAMED if end == NAMED else ''}", "rb") as source:
                    shutil.copyfileobj(source, file)


def joined(
    run: Run,
    pieces: Sequence[Sequence[Piece]],
    written: Sequence[Result],
    outputs: Sequence[Outputs],
) -> list[Result]:
    """Return the result with each output: of its single piece, or joined.

    ``written``: results of all ``pieces`` (:func:`by_outputs`), in order.
    """
    results: list[Result] = []
    rest = iter(written)
    for output_pieces, wanted in zip(pieces, outputs, strict=True):
        parts = list(islice(rest, len(output_pieces)))
        if len(parts) == 1 or not wanted:
            results.append(parts[0])
            continue
        ends = _endings(output_pieces[0].bitext, wanted)
        call = Call(
            {"parts": parts, "packings": ends}, units=sum(piece.rows for piece in output_pieces)
        )
        number = output_pieces[0].name.partition("-")[0]
        results += run.stage("join", join, {number: call})
    return results


def deliver(
    results: Sequence[Result],
    outputs: Sequence[Outputs],
    bitexts: Sequence[BitextFiles],
    given: Languages = (None, None),
) -> None:
    """Copy the outputs of all bitexts to their paths, in their formats; all of them or none.

    Languages of TMX are identified unless ``given``. Raises ResourceError, and CorpusError for rows
    that a format cannot hold.
    """
    with all_or_none() as together:
        for result, wanted, bitext in zip(results, outputs, bitexts, strict=True):
            for path in (path for path in wanted.values() if path != "-"):
                with writing(path):
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
            for role, end in _endings(bitext, wanted).items():
                path, carried = wanted[role], bitext.reading.carry
                if end == NAMED and not path.endswith(NAMED):
                    paths = [path, *([wanted["kept-1"]] if _are_split(role, wanted) else [])]
                    languages = given
                    if file_format(path) == "tmx":
                        left, right = languages_of([bitext], given)
                        languages = left.code, right.code
                    with open(result.path / f"{role}{NAMED}", encoding="utf-8") as file:
                        rows = map(json.loads, file)
                        first: dict[str, Any] = next(rows, {})
                        ids = [key for key in first if key not in SIDES] if carried else ()
                        every = chain([first] if first else [], rows)
                        write_bitext(every, paths, languages, together, ids)
                    continue
                with (
                    open(result.path / f"{role}{end}", "rb") as source,
                    open_output(path, binary=True, together=together, packed=True) as file,
                ):
                    shutil.copyfileobj(source, file)


def describe(outputs: Sequence[Outputs], carry: Sequence[str], facts: Mapping[str, Any]) -> None:
    """Write a manifest of the kept or scored rows, if they are in several files.

    It is `clean.manifest.json` for `clean.de` and `clean.en`, or for files in the folder `clean`.
    Raises ResourceError.
    """
    roles = ("kept", "kept-1", "scored", "only")
    files = [Path(output[role]) for output in outputs for role in roles if role in output]
    if carry and outputs and "kept-1" in outputs[0]:
        files.append(Path(beside(outputs[0]["kept"], ".ids")))
    files = [path for path in files if path.is_file()]
    if len(files) > 1:
        single = beside(str(files[0]), ".manifest.json")
        manifest = single if len(outputs) == 1 else f"{files[0].parent}.manifest.json"
        write_manifest(manifest, dict.fromkeys(files, {}), {"format": FORMAT, **facts})


def folder_outputs(bitext: BitextFiles, folders: Mapping[str, str]) -> Outputs:
    """Return the outputs of a bitext in folders, by role: files with the bitext's names.

    Rejected or scored rows of two files are written to one.
    """
    name, *other = (Path(file.name).name for file in bitext.files)
    end = packing(name)
    suffixes = {"scores": ".jsonl"}
    if other:
        suffixes |= {"rejected": ".tsv", "scored": ".tsv"}
    paths = {
        role: str(Path(folder) / (name.removesuffix(end) + suffixes.get(role, "") + end))
        for role, folder in folders.items()
    }
    if other and "kept" in folders:
        paths["kept-1"] = str(Path(folders["kept"]) / other[0])
    return paths


def placed(bitexts: Sequence[BitextFiles], wanted: Outputs, folders: bool) -> Sequence[Outputs]:
    """Return the outputs ``wanted``: in ``folders`` for each bitext, or common to all."""
    if folders:
        return [folder_outputs(bitext, wanted) for bitext in bitexts]
    return [wanted] if wanted else []


def _endings(bitext: BitextFiles, outputs: Outputs) -> dict[str, str]:
    """Return the suffix of each output's file in a result: its compression, or NAMED.

    NAMED rows are converted to another format, or split into two files, on delivery.
    """
    endings = {}
    for role, path in outputs.items():
        if _are_split(role, outputs):
            other = len(bitext.files) == 1
            if other and role == "kept-1":
                continue
        else:
            kinds = ("plain", bitext.native)
            other = file_format(path) not in kinds or path.endswith(NAMED)
            other |= bitext.reading.carry not in ((), (ALL,))
            other &= role not in LINES
        endings[role] = NAMED if other else packing(path)
    return endings


def _are_split(role: str, outputs: Outputs) -> bool:
    """Return True if an output is one of two files for both sides."""
    return role.startswith("kept") and "kept-1" in outputs
