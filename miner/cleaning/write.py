"""The rows of a cleaning to where they belong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import IO

import numpy as np

from miner.cleaning.decide import Cleaned
from miner.cleaning.worker import REPAIRED, ROWS, mended, repairer
from miner.progress import Reporter, silent
from miner.text.output import StrPath, all_or_none, open_output
from miner.text.rows import REPLACED, Block, Raw


def write(
    found: Cleaned,
    kept: Sequence[StrPath],
    rejected: StrPath | None = None,
    scores: StrPath | None = None,
    report: Reporter = silent,
) -> None:
    """Write the rows to where they belong: each once, in order, all columns as they stand.

    ``kept``: one file, or one for each side. ``rejected``: rows with the name of the filter that
    removed them and their score at their ends. ``scores``: a JSON object of all scores for each
    row, one a line. All appear whole, or not at all. Raises ResourceError.
    """
    rows = found.source
    with all_or_none() as together, ExitStack() as stack:

        def opened(path: StrPath) -> IO[bytes]:
            return stack.enter_context(open_output(path, binary=True, together=together))

        outputs = [opened(path) for path in kept]
        bad = opened(rejected) if rejected else None
        lines = opened(scores) if scores else None
        if rows.head is not None:
            outputs[0].write(rows.head + b"\n")
            if bad is not None:
                bad.write(rows.head + b"\tfilter\tvalue\n")
        repair = repairer(found.plan.repair)
        done = 0
        for block in rows.blocks(ROWS):
            raws = _written(found, block, done, repair)
            removed = found.removed[done : done + len(block)].tolist()
            stay = [raw for raw, reason in zip(raws, removed, strict=True) if reason < 0]
            for output, side in zip(outputs, _joined(stay, len(outputs)), strict=True):
                output.write(_text(side))
            if bad is not None:
                gone = []
                for row, (raw, reason) in enumerate(zip(raws, removed, strict=True), done):
                    if reason >= 0:
                        cells = {"filter": found.reasons[reason], "value": found.value(row)}
                        gone.append(rows.layout.with_cells(raw, cells))
                bad.write(_text(gone))
            if lines is not None:
                part = slice(done, done + len(block))
                lines.write(_text(score_lines(found, part)))
            done += len(block)
            report("writing", done, found.count)


def _written(
    found: Cleaned, block: Block, first: int, repair: Callable[[str], str] | None
) -> list[Raw]:
    """The rows of a block as they are written: those as they stand whose texts were not changed."""
    layout = found.source.layout
    raws = list(block.raw)
    changed = found.state[first : first + len(block)] & (REPLACED | REPAIRED)
    for number in np.flatnonzero(changed).tolist():
        texts, _ = mended(layout.texts(Block(block.first + number, [raws[number]])), repair)
        raws[number] = layout.with_texts(raws[number], texts.source[0], texts.target[0])
    return raws


def _joined(raws: list[Raw], files: int) -> list[list[bytes]]:
    """The lines for each of so many files: two sides become one line, with a tab between them."""
    if raws and files < len(raws[0]):
        return [[b"\t".join(line.replace(b"\t", b" ") for line in raw) for raw in raws]]
    return [[raw[file] for raw in raws] for file in range(files)]


def _text(lines: list[bytes]) -> bytes:
    return b"\n".join(lines) + b"\n" if lines else b""


def score_lines(found: Cleaned, part: slice) -> list[bytes]:
    """All scores of some rows as JSON, by label; null for one not computed, or infinite."""
    columns = []
    for step in found.plan.steps:
        form = "%d" if step.filter.whole else "%.6g"
        values = found.scores(step.label)[part].tolist()
        columns.append([form % value if math.isfinite(value) else "null" for value in values])
    # Written by hand, which takes a fifth of the time.
    labels = [json.dumps(step.label).replace("%", "%%") for step in found.plan.steps]
    line = "{" + ", ".join(f"{label}: %s" for label in labels) + "}"
    return [(line % values).encode() for values in zip(*columns, strict=True)]
