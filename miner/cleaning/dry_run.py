"""Evenly spread sample of a bitext, to try filters on."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from miner.text.rows import Rows


def sample(rows: Rows, size: int, place: Path) -> list[str]:
    """Copy ``size`` rows to files in ``place``, one for each of the bitext; return their names.

    The text is read twice, first to count its rows, unless their number is known. Raises the errors
    of `Rows`; for an unreadable row, CorpusError with its line in the whole text.
    """
    formats = rows.layout.formats
    paths = [str(place / f"sample{number}.{kind}") for number, kind in enumerate(formats)]
    with ExitStack() as stack:
        files = [stack.enter_context(open(path, "wb")) for path in paths]
        if rows.head is not None:
            files[0].write(rows.head + b"\n")
        for block in rows.spread(size) if size else ():
            rows.layout.texts(block)
            for file, line in zip(files, block.raw[0], strict=True):
                file.write(line + b"\n")
    rows.inputs.check()
    return paths
