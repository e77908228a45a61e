"""Checks before reading: files that are no bitext, and columns that no file has."""

import re
from collections.abc import Sequence

from miner.errors import CorpusError
from miner.text.formats import FORMATS, REWRITABLE, WITH_COLUMNS, BitextFormat, file_format, listed
from miner.text.lines import display_name
from miner.text.text_format import Column, Columns


def formats_and_columns(
    origins: Sequence[str], given: BitextFormat, more: Sequence[int | str], rewritable: bool
) -> tuple[tuple[str, ...], tuple[Columns, ...]]:
    """Return the format of each file and the columns to read from it.

    Raises CorpusError for files that cannot be a bitext, or cannot be rewritten where that is
    needed.
    """
    name = display_name(origins[0])
    formats = tuple(file_format(origin, given.format) for origin in origins)
    allowed = [kind for kind in WITH_COLUMNS if not rewritable or kind in REWRITABLE]
    one_file = f"{listed(allowed)} file"
    if rewritable:
        for origin, kind in zip(origins, formats, strict=True):
            if kind not in REWRITABLE:
                raise CorpusError(
                    f"{display_name(origin)}: rows of {kind} cannot be written back; give "
                    f"{listed(['plain text', *allowed])}"
                )
        if given.header and len(origins) == 2:
            raise CorpusError(f"{name}: two files have no header; give one tsv file")
    if len(origins) == 1:
        if formats[0] == "bucc" or (given.format == "plain" and not given.one_text):
            raise CorpusError(
                f"{name}: a {formats[0]} file holds one side of a bitext; give the other side's "
                f"file too, or a {one_file}"
            )
        texts = [Column(key) for key in given.columns(origins[0])]
        others = (Column(key, is_annotation=True) for key in more)
        table = formats[0] == "plain" != given.format and texts[0].key is not None
        return ("tsv" if table else formats[0],), ((*texts, *others),)
    if more:
        raise CorpusError(
            f"{name}: column {more[0]!r} is asked for, which needs both sides in one {one_file}"
        )
    if set(origins) == {"-"}:
        raise CorpusError("standard input cannot be both sides; give a file for one of them")
    return formats, tuple((Column(FORMATS[kind].text),) for kind in formats)


def refuse_scores(name: str, number: int, line: bytes) -> None:
    """Raise CorpusError if a line has a score, or two addresses, before two texts."""
    cells = line.split(b"\t")
    if len(cells) > 3 and all(re.match(rb"https?://\S+$", cell) for cell in cells[:2]):
        raise CorpusError(
            f"{name}, line {number}: columns 1 and 2 are addresses; give --format paracrawl, or "
            "--scol 3 --tcol 4"
        )
    if len(cells) > 2 and is_number(cells[0]) and not any(map(is_number, cells[1:3])):
        raise CorpusError(
            f"{name}, line {number}: begins with a number, as a score before both texts; give "
            "--scol 2 --tcol 3, or --scol 1 --tcol 2 if it is text"
        )


def is_number(cell: str | bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def refuse_columns(name: str, format: str, columns: Columns, header: bool) -> None:
    """Raise CorpusError if columns or a header are set for a format that has none."""
    if not FORMATS[format].sides and (header or any(column.key is not None for column in columns)):
        raise CorpusError(
            f"{name}: a {format} file has no columns and no header; "
            f"give its format: {listed(WITH_COLUMNS)}"
        )
