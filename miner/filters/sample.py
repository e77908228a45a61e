"""A sample of a bitext, evenly spread over it, to try a cleaning on."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from miner.filters.scoring import ROWS
from miner.rows import Block, Rows


def sample(rows: Rows, size: int, place: Path) -> list[str]:
    """Copy ``size`` rows to files in ``place``, one for each of the bitext's; returns their names.

    The text is read twice: its rows are counted first, unless they are known. Raises the errors of
    `Rows`, and CorpusError, with the line that the text has it on, for a row that is unreadable.
    """
    count = rows.counted()
    chosen = np.unique(np.linspace(0, max(count - 1, 0), min(size, count)).astype(np.int64))
    formats = rows.layout.formats
    paths = [str(place / f"sample{number}.{kind}") for number, kind in enumerate(formats)]
    with ExitStack() as stack:
        files = [stack.enter_context(open(path, "wb")) for path in paths]
        if rows.head is not None:
            files[0].write(rows.head + b"\n")
        first = 0
        for block in rows.blocks(ROWS):
            low, high = np.searchsorted(chosen, (first, first + len(block)))
            for row in (chosen[low:high] - first).tolist():
                rows.layout.texts(Block(block.first + row, [block.raw[row]]))
                for file, line in zip(files, block.raw[row], strict=True):
                    file.write(line + b"\n")
            first += len(block)
    return paths
