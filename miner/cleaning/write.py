"""Write the rows of a run: kept ones, rejected ones with reasons, and all scores."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import IO

import numpy as np

from miner.cleaning.decide import Cleaned
from miner.cleaning.worker import REPAIRED, ROWS, repair_texts, repairer
from miner.progress import Reporter, silent
from miner.text.layout import REPLACED, Block, Raw
from miner.text.output import StrPath, all_or_none, open_output


def write(
    found: Cleaned,
    kept: Sequence[StrPath],
    rejected: StrPath | None = None,
    scores: StrPath | None = None,
    report: Reporter = silent,
) -> None:
    """Write each row once, in order, with all its columns unchanged, to one of the outputs.

    kept: one file, or one for each side. rejected: rows with two more columns, the filter that
    removed the row and its score. scores: one JSON object of all scores for each row, one a line.
    All outputs appear whole, or none does. Raises ResourceError, and CorpusError if an input has
    changed since the run began: its rows would not be those that were scored.
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
        rows.inputs.check()


def _written(
    found: Cleaned, block: Block, first: int, repair: Callable[[str], str] | None
) -> list[Raw]:
    """Rows of a block as they are written: unchanged unless texts were repaired or replaced."""
    layout = found.source.layout
    raws = list(block.raw)
    changed = found.state[first : first + len(block)] & (REPLACED | REPAIRED)
    for number in np.flatnonzero(changed).tolist():
        texts, _ = repair_texts(layout.texts(Block(block.first + number, [raws[number]])), repair)
        raws[number] = layout.with_texts(raws[number], texts.source[0], texts.target[0])
    return raws


def _joined(raws: list[Raw], files: int) -> list[list[bytes]]:
    """Lines for each of ``files`` files; for one file, two sides become one line with a tab."""
    if raws and files < len(raws[0]):
        return [[b"\t".join(line.replace(b"\t", b" ") for line in raw) for raw in raws]]
    return [[raw[file] for raw in raws] for file in range(files)]


def _text(lines: list[bytes]) -> bytes:
    return b"\n".join(lines) + b"\n" if lines else b""


def score_lines(found: Cleaned, part: slice) -> list[bytes]:
    """Format all scores of some rows as JSON by label; null if not computed or infinite."""
    columns = []
    for step in found.plan.steps:
        form = "%d" if step.filter.whole else "%.6g"
        values = found.scores(step.label)[part].tolist()
        columns.append([form % value if math.isfinite(value) else "null" for value in values])
    # Formatted without the json module, which takes five times as long.
    labels = [json.dumps(step.label).replace("%", "%%") for step in found.plan.steps]
    line = "{" + ", ".join(f"{label}: %s" for label in labels) + "}"
    return [(line % values).encode() for values in zip(*columns, strict=True)]
