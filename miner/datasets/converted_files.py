"""Input and output of the converters: members of archives, and files written all or none."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from miner.datasets.archive import lines, members
from miner.errors import CorpusError, writing
from miner.progress import Reporter
from miner.text.output import Waiting, one_line, open_output

Row = tuple[str, ...]

EMPTY_SIDE = "with an empty side"
BATCH = 8192  # lines written at once


@dataclass
class Converted:
    """Result of converting a part, by path below the data directory.

    written: number of rows. left_out: numbers of skipped rows by reason.
    """

    written: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)


class PartWriter:
    """Writer of the files of a part, which are written together or not at all (`all_or_none`)."""

    def __init__(self, into: Path, waiting: Waiting, report: Reporter):
        self.into, self.waiting, self.report = into, waiting, report
        self.done = Converted()

    def rows(self, path: str, rows: Iterable[Row | str]) -> None:
        """Write rows as TSV; tabs and line ends inside cells become spaces.

        A string instead of a row is the reason for skipping a row.
        """
        left_out: Counter[str] = Counter()

        def kept() -> Iterator[bytes]:
            for row in rows:
                if isinstance(row, str):
                    left_out[row] += 1
                else:
                    yield ("\t".join(map(one_line, row)) + "\n").encode()

        self.copy(path, kept())
        if left_out:
            self.done.left_out[path] = dict(left_out)

    def copy(self, path: str, encoded: Iterable[bytes]) -> None:
        """Write lines unchanged."""
        final = self.into / path
        with writing(final.parent):
            final.parent.mkdir(parents=True, exist_ok=True)
        count, stream = 0, iter(encoded)
        with open_output(final, binary=True, together=self.waiting) as out:
            while batch := list(islice(stream, BATCH)):
                out.write(b"".join(batch))
                count += len(batch)
                self.report(path, count, None)
        self.done.written[path] = count


# Converter of the downloads of a part of a set: (writer, part, files).
Convert: TypeAlias = Callable[[PartWriter, str, Sequence[Path]], None]


def line_pairs(
    where: str, first: Iterable[str], second: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """Pair two files line by line. Raises CorpusError, with both counts, for unequal lengths."""
    count = [0, 0]
    for left, right in zip_longest(first, second):
        count[0] += left is not None
        count[1] += right is not None
        if count[0] == count[1]:
            yield left, right
    if count[0] != count[1]:
        raise CorpusError(
            f"{where}: {count[0]:,} lines and {count[1]:,}, which should be aligned; download "
            "it again, or tell its authors"
        )


def both_sides(pair: Sequence[str]) -> Row | str:
    """Strip both sides of a pair; return `EMPTY_SIDE` if one is empty."""
    first, second = (one_line(side).strip() for side in pair)
    return (first, second) if first and second else EMPTY_SIDE


def table_rows(
    where: str, texts: Iterable[str], columns: int, exact: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each non-blank line.

    Raises CorpusError for a line of fewer than ``columns`` cells, or, if ``exact``, of more.
    """
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        cells = text.split("\t")
        if len(cells) < columns or (exact and len(cells) > columns):
            raise CorpusError(
                f"{where}, line {number}: {len(cells)} columns, not {columns}; it is not the "
                "official layout"
            )
        yield number, cells


def wanted_members(
    path: Path, names: str, needed: Set[str] = frozenset()
) -> Iterator[tuple[str, str, Iterable[bytes]]]:
    """Yield the members of an archive whose name, without folders, matches ``names``.

    Each has the first group of the match, its name for errors, and its lines. Raises CorpusError at
    the end if a group in ``needed`` is missing.
    """
    groups = set()
    with members(path) as entries:
        for name, file in entries:
            if match := re.fullmatch(names, PurePosixPath(name).name):
                groups.add(match[1])
                yield match[1], f"{path}, {name}", file
    if missing := sorted(needed - groups):
        raise missing_members(path, missing)


def first_member(
    stack: ExitStack, files: Sequence[Path], names: str = ".*", what: str = ""
) -> Iterator[str]:
    """Return the decoded lines of the first member whose name, without folders, matches ``names``.

    They can be read while ``stack`` is open, in parallel with other members, because each call
    opens its own reader. Raises CorpusError with ``what`` if there is no match.
    """
    for path in files:
        for member, file in stack.enter_context(members(path)):
            if re.fullmatch(names, PurePosixPath(member).name):
                return lines(file)
    raise missing_members(files[0], [what])


def missing_members(path: Path, missing: Sequence[str]) -> CorpusError:
    return CorpusError(
        f"{path}: holds no {', '.join(missing)}; it is not the official layout: look at its home "
        "page"
    )
