"""Ladders: alignment files in the formats of vecalign, Text+Berg and hunalign.

A line is ``[0, 1]:[2]``: numbers of source and target sentences, from 0. ``[]`` is the counterpart
of unaligned sentences. The cost after a second colon is ignored.

hunalign's lines are rungs, ``1, tab, 2, tab, score``: a bead has the sentences from one rung to the
next, and the last rung is the end of both texts.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from miner.errors import CorpusError
from miner.text.lines import read_lines
from miner.text.output import open_output

Bead = tuple[tuple[int, ...], tuple[int, ...]]
RUNG = re.compile(r"(\d+)\t(\d+)(?:\t[-+\d.eE]+)?")
LINE = re.compile(r"\[([\d, ]*)\]:\[([\d, ]*)\](?::.*)?")


def read_ladder(path: str | Path) -> list[Bead]:
    """Read the beads of a ladder. Raises CorpusError."""
    beads: list[Bead] = []
    rung: tuple[int, int] | None = None
    for number, line in enumerate(read_lines(str(path)), 1):
        text = line.decode("utf-8", "replace").strip()
        if not text:
            continue
        if (step := RUNG.fullmatch(text)) and (rung or not beads):
            here = int(step[1]), int(step[2])
            if rung is not None:
                if here[0] < rung[0] or here[1] < rung[1]:
                    raise CorpusError(f"{path}, line {number}: a rung before the last one")
                beads.append((tuple(range(rung[0], here[0])), tuple(range(rung[1], here[1]))))
            rung = here
            continue
        match = LINE.fullmatch(text)
        if match is None:
            raise CorpusError(
                f"{path}, line {number}: no bead such as [0, 1]:[2], and no rung of hunalign's (1, "
                "tab, 2)"
            )
        source, target = (
            tuple(int(cell) for cell in side.split(",") if cell.strip()) for side in match.groups()
        )
        beads.append((source, target))
    return beads


def write_ladder(path: str | Path, beads: Iterable[Iterable[str]]) -> None:
    """Write beads: lists of numbers, joined by commas. Raises ResourceError."""
    with open_output(path) as out:
        for source, target in beads:
            out.write(f"[{source.replace(',', ', ')}]:[{target.replace(',', ', ')}]\n")
