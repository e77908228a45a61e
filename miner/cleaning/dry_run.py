"""Evenly spread sample of a text, to try filters on."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from miner.cleaning.bitexts import Bitext
from miner.index.text_files import TextFile, stamp
from miner.text.rows import spread_rows


def sample(bitexts: Sequence[Bitext], size: int, place: Path) -> tuple[list[Bitext], int, int]:
    """Copy ``size`` rows of a text to files in ``place``; return these, their rows, and all rows.

    The text, all bitexts one after the other, is read twice, first to count its rows. Raises the
    errors of `Rows`; for an unreadable row, CorpusError with its line in the whole text.
    """
    counts = []
    for bitext in bitexts:
        with bitext.opened() as rows:
            counts.append(rows.counted())
    total, first = sum(counts), 0
    chosen = spread_rows(total, size) if size else spread_rows(0, 0)
    place.mkdir(parents=True, exist_ok=True)
    found = []
    for number, (bitext, count) in enumerate(zip(bitexts, counts, strict=True)):
        own = chosen[(chosen >= first) & (chosen < first + count)] - first
        first += count
        with bitext.opened(count=count) as rows, ExitStack() as stack:
            kinds = rows.layout.formats
            paths = [place / f"{number}-{side}.{kind}" for side, kind in enumerate(kinds)]
            files = [stack.enter_context(open(path, "wb")) for path in paths]
            if rows.head is not None:
                files[0].write(rows.head + b"\n")
            for block in rows.chosen(own) if len(own) else ():
                rows.layout.texts(block)
                for file, line in zip(files, block.raw[0], strict=True):
                    file.write(line + b"\n")
            rows.inputs.check()
        copies = (
            TextFile(str(path), stamp(path), given.name)
            for path, given in zip(paths, bitext.files, strict=True)
        )
        found.append(Bitext(tuple(copies), bitext.reading))
    return found, len(chosen), total
