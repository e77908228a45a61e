"""Writing of rows: kept ones, rejected ones with reasons, and scores."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from miner.cleaning.config import Step
from miner.cleaning.decide import Cleaned, rounded
from miner.cleaning.scorers import REPAIRED, ROWS, repaired
from miner.filters.filter_types import Batch
from miner.progress import Reporter, silent
from miner.scoring.named_faults import Fault
from miner.text.compression import codec, compressor
from miner.text.layout import REPLACED, Block, Raw
from miner.text.rows import Rows

# Suffix of a file of rows as JSON objects, with source, target and other cells by name.
NAMED = ".rows"


def write_rows(
    cleaned: Cleaned, rows: Rows, outputs: Mapping[str, Path], report: Reporter = silent
) -> None:
    """Write each row once, in order, with all its columns unchanged, to one of the outputs.

    By role: ``kept`` rows, or their sides ``kept`` and ``kept-1``; ``rejected`` rows with two more
    columns, the filter that removed the row (and the fault, if it names one) and its score;
    ``scores``, a JSON object of all scores per row, one a line.
    """
    with ExitStack() as stack:
        files = {role: stack.enter_context(_opened(path)) for role, path in outputs.items()}
        kept = [file for role, file in files.items() if role.startswith("kept")]
        bad, lines = files.get("rejected"), files.get("scores")
        named = {role for role, path in outputs.items() if path.suffix == NAMED}
        if rows.head is not None:
            for file in kept[:1] if "kept" not in named else ():
                file.write(rows.head + b"\n")
            if bad is not None and "rejected" not in named:
                bad.write(rows.head + b"\tfilter\tvalue\n")
        naming = namers(cleaned) if bad is not None else {}
        done = 0
        for block in rows.blocks(ROWS):
            raws = _written(cleaned, rows, block, done)
            removed = cleaned.removed[done : done + len(block)].tolist()
            stay = [raw for raw, reason in zip(raws, removed, strict=True) if reason < 0]
            for side, output in enumerate(kept):
                if len(kept) > 1:
                    output.write(_text([raw[side] for raw in stay]))
                else:
                    output.write(_text([_line(rows, raw, "kept" in named) for raw in stay]))
            if bad is not None:
                gone = []
                faults = _faults(naming, rows, raws, removed, block.first)
                for row, (raw, reason) in enumerate(zip(raws, removed, strict=True), done):
                    if reason >= 0:
                        label = cleaned.reasons[reason] + faults.get(row - done, "")
                        cells = {"filter": label, "value": cleaned.value(row)}
                        gone.append(_line(rows, raw, "rejected" in named, cells))
                bad.write(_text(gone))
            if lines is not None:
                part = slice(done, done + len(block))
                lines.write(_text(score_lines(cleaned, part)))
            done += len(block)
            report("writing", done, cleaned.count)


def namers(cleaned: Cleaned) -> dict[int, Callable[[Batch], list[Fault]]]:
    """Return functions that name the faults of rows, by index of the reason for removal."""
    out = {}
    for step in cleaned.config.steps:
        number = cleaned.reasons.index(step.label) if step.label in cleaned.reasons else -2
        if step.filter.faults is not None and (cleaned.removed == number).any():
            out[number] = step.filter.faults(step.settings, cleaned.config.context)
    return out


def _faults(
    naming: Mapping[int, Callable[[Batch], list[Fault]]],
    rows: Rows,
    raws: Sequence[Raw],
    removed: Sequence[int],
    first: int,
) -> dict[int, str]:
    """Return the suffixes of the filters' labels that name the faults of a block's rows, by
    position.
    """
    out: dict[int, str] = {}
    for reason, name in naming.items():
        positions = [position for position, why in enumerate(removed) if why == reason]
        texts = rows.layout.texts(Block(first, [raws[position] for position in positions]))
        faults = name(Batch(texts.source, texts.target))
        out |= {
            position: f": {fault.name}"
            for position, fault in zip(positions, faults, strict=True)
            if fault.name
        }
    return out


def write_scores(
    table: np.ndarray,
    steps: Sequence[Step],
    rows: Rows,
    output: Path,
    only: bool,
    report: Reporter = silent,
) -> None:
    """Write each row with its scores at its end, records ``(n,)``; ``only``: scores alone.

    Bytes replaced by U+FFFD in the texts are also replaced in the row. Two files become one tsv;
    for JSON, scores become further keys.
    """
    replace = rows.layout.on_error == "replace"
    named = output.suffix == NAMED
    done = 0
    with _opened(output) as file:
        if rows.head is not None and not only and not named:
            labels = (step.label for step in steps)
            file.write("\t".join([rows.head.decode("utf-8", "replace"), *labels]).encode() + b"\n")
        for block in rows.blocks(ROWS):
            lines = []
            scores = table["score"][done : done + len(block)]
            for raw, values in zip(block.raw, scores.tolist(), strict=True):
                cells = {
                    step.label: rounded(step, value)
                    for step, value in zip(steps, values, strict=True)
                }
                if only:
                    lines.append("\t".join(f"{cell:.6g}" for cell in cells.values()).encode())
                    continue
                if replace:
                    raw = rows.layout.readable(raw)
                lines.append(_line(rows, raw, named, cells))
            file.write(_text(lines))
            done += len(block)
            report("writing", done, len(table))


def _line(
    rows: Rows, raw: Raw, named: bool, cells: Mapping[str, str | float] | None = None
) -> bytes:
    """Format a row as its line, or ``named`` as JSON, with more cells at its end."""
    if named:
        return rows.layout.named_line(raw, cells or {})
    return rows.layout.with_cells(raw, cells) if cells else rows.layout.line(raw)


@contextmanager
def _opened(path: Path) -> Iterator[IO[Any]]:
    """Open a task's file for writing, compressed by its suffix."""
    library = codec(str(path))
    with open(path, "wb") as raw:
        if library is None:
            yield raw
            return
        with compressor(library, raw) as file:
            yield file


def _written(cleaned: Cleaned, rows: Rows, block: Block, first: int) -> list[Raw]:
    """Return the rows of a block for writing: unchanged unless texts were repaired or replaced."""
    raws = list(block.raw)
    changed = cleaned.state[first : first + len(block)] & (REPLACED | REPAIRED)
    for number in np.flatnonzero(changed).tolist():
        single = Block(block.first + number, [raws[number]])
        texts = repaired(rows.layout.texts(single), cleaned.config.repair)
        raws[number] = rows.layout.with_texts(raws[number], texts.source[0], texts.target[0])
    return raws


def _text(lines: list[bytes]) -> bytes:
    return b"\n".join(lines) + b"\n" if lines else b""


def score_lines(cleaned: Cleaned, part: slice) -> list[bytes]:
    """Format all scores of some rows as JSON by label; null if not computed or infinite."""
    columns = []
    for step in cleaned.config.steps:
        form = "%d" if step.filter.whole else "%.6g"
        values = cleaned.scores(step.label)[part].tolist()
        columns.append([form % value if math.isfinite(value) else "null" for value in values])
    # Formatted without the json module, which takes five times as long.
    labels = [json.dumps(step.label).replace("%", "%%") for step in cleaned.config.steps]
    line = "{" + ", ".join(f"{label}: %s" for label in labels) + "}"
    return [(line % values).encode() for values in zip(*columns, strict=True)]
