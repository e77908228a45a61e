"""Write scores: one line out for each row in, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from miner.cleaning.clean import sampled
from miner.cleaning.decide import rounded
from miner.cleaning.plan import Plan
from miner.cleaning.text_languages import with_languages
from miner.cleaning.worker import ROWS, Job, score, scorers
from miner.progress import Reporter, silent
from miner.text.layout import REPLACED, UNREADABLE, Block
from miner.text.output import StrPath, open_output
from miner.text.rows import Rows


def write(
    rows: Rows,
    plan: Plan,
    output: StrPath,
    *,
    only: bool = False,
    threads: int = 1,
    report: Reporter = silent,
    whole: Rows | None = None,
) -> tuple[int, int]:
    """Write each row with its scores by the steps of ``plan`` at its end; ``only``: scores alone.

    An unreadable row is scored as a pair of empty texts. Bytes that are replaced by U+FFFD in the
    texts are replaced in the row as well. Two files become one tsv; for JSON, scores become further
    keys. The file appears whole, or not at all. Scores do not depend on ``threads``. Returns the
    number of unreadable rows and the number of rows with replaced bytes. ``whole`` is the bitext of
    which the rows are a piece: its head tells the languages. Raises the errors of
    `Rows` and of the filters, CorpusError if an input changed meanwhile, and ResourceError.
    """
    plan = with_languages(sampled(plan, rows), [rows if whole is None else whole])
    job = Job(plan, rows.layout, plan.steps)
    blocks: deque[Block] = deque()

    def drawn() -> Iterator[tuple[int, Block]]:
        for block in rows.blocks(ROWS):
            blocks.append(block)
            yield 0, block

    done = unread = replaced = 0
    labels = [step.label for step in plan.steps]
    with (
        open_output(output, binary=True) as file,
        scorers([job], threads, rows.at_most(ROWS)) as workers,
    ):
        if rows.head is not None and not only:
            file.write("\t".join([rows.head.decode("utf-8", "replace"), *labels]).encode() + b"\n")
        for scored in workers.in_order(score, drawn()):
            block = blocks.popleft()
            file.write(_lines(rows, plan, block, scored.rows["score"], only))
            done += len(block)
            unread += int(((scored.state & UNREADABLE) > 0).sum())
            replaced += int(((scored.state & REPLACED) > 0).sum())
            report("scoring", done, rows.count)
        rows.inputs.check()
    return unread, replaced


def _lines(rows: Rows, plan: Plan, block: Block, scores: np.ndarray, only: bool) -> bytes:
    out = []
    replace = rows.layout.on_error == "replace"
    for raw, values in zip(block.raw, scores.tolist(), strict=True):
        cells = {
            step.label: rounded(step, value) for step, value in zip(plan.steps, values, strict=True)
        }
        if only:
            out.append("\t".join(f"{cell:.6g}" for cell in cells.values()).encode())
        else:
            if replace:
                raw = tuple(line.decode("utf-8", "replace").encode() for line in raw)
            out.append(rows.layout.with_cells(raw, cells))
    return b"".join(line + b"\n" for line in out)
