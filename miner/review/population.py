"""Population: the pairs of a review, their scores and the reasons why a filter rejected them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from miner.errors import CorpusError
from miner.json_files import parsed
from miner.text.answers import key_of
from miner.text.bitext import Bitext, parse_scores, stream_bitext
from miner.text.formats import FORMATS, USUAL_FORMAT, BitextFormat, file_format
from miner.text.lines import display_name, read_lines
from miner.text.output import StrPath
from miner.text.refusals import is_number
from miner.text.text_format import RawText

# Names of columns in JSONL, Parquet and a TSV with a header, the likeliest first.
SCORES, SOURCES, TARGETS = ("score", "quality"), ("source", "src"), ("target", "tgt")
# Cells that a filter adds to a rejected row: its name and the value that broke the bound.
REASON = "filter"


@dataclass(frozen=True)
class Origin:
    """Files of pairs, and the columns of their scores and reasons; see :func:`origin_of`."""

    source: str
    target: str | None
    layout: BitextFormat
    score: int | str | None = None
    reason: int | str | None = None

    def blocks(self) -> Iterator[Bitext]:
        """Read the pairs; ``more`` has the score or the reason of rejection, if any."""
        more = [column for column in (self.score, self.reason) if column is not None]
        return stream_bitext(self.source, self.target, self.layout, more=more)


@dataclass(frozen=True, eq=False)
class Population:
    """Distinct pairs: kept pairs, then rejected pairs.

    ``key (n,) uint64`` is a hash of the texts, ``line (n,) int64`` the position among all rows
    read. ``score (k,) float64`` of the ``k`` kept pairs, all 0 without scores. ``reason (n - k,)``:
    index in ``reasons`` of each rejected pair. ``repeated``: number of rows that repeat another.
    """

    origins: tuple[Origin, ...]
    key: np.ndarray
    line: np.ndarray
    score: np.ndarray
    reason: np.ndarray
    reasons: tuple[str, ...]
    repeated: int

    def __len__(self) -> int:
        return len(self.key)

    @classmethod
    def read(cls, kept: Origin, rejected: Origin | None = None) -> "Population":
        """Read all pairs. Raises CorpusError and DependencyError as `Rows` does."""
        origins = (kept,) if rejected is None else (kept, rejected)
        keys: list[int] = []
        scores, reasons = [np.zeros(0)], []
        count = 0
        for number, origin in enumerate(origins):
            for block in origin.blocks():
                keys += map(key_of, block.source, block.target)
                cells = [more[-1] if more else "" for more in block.more]
                if number:
                    reasons += cells
                elif origin.score is not None:
                    scores.append(parse_scores(cells, origin.source, block.lines))
                else:
                    scores.append(np.zeros(len(block)))
            count = count or len(keys)
        if not keys:
            raise CorpusError(f"{display_name(kept.source)}: has no pair to review")
        key, line = np.unique(np.array(keys, dtype=np.uint64), return_index=True)
        order = np.argsort(line, kind="stable")
        key, line = key[order], line[order]
        names, number_of = np.unique(np.array(reasons, dtype=object), return_inverse=True)
        is_kept = line < count
        return cls(
            origins,
            key,
            line,
            np.nan_to_num(np.concatenate(scores)[line[is_kept]]),
            number_of[line[~is_kept] - count],
            tuple(map(str, names)),
            len(keys) - len(key),
        )

    def texts(self, rows: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Read the texts of some rows; all files are read again, so that none is held in memory."""
        wanted = {int(self.line[row]): row for row in rows}
        out: dict[int, tuple[str, str]] = {}
        first = 0
        for block in chain.from_iterable(origin.blocks() for origin in self.origins):
            for line in wanted.keys() & range(first, first + len(block)):
                out[wanted[line]] = block.source[line - first], block.target[line - first]
            first += len(block)
            if len(out) == len(wanted):
                break
        return out


def origin_of(
    path: StrPath,
    target: StrPath | None = None,
    layout: BitextFormat = USUAL_FORMAT,
    score: str | None = None,
    *,
    rejected: bool = False,
) -> Origin:
    """Find the columns of a file of pairs from its first row, unless they are set.

    Mined pairs have the score first; `miner score` writes it last. A ``rejected`` row of a filter
    ends with the filter's name and a value.
    """
    path, target = os.fspath(path), None if target is None else os.fspath(target)
    if "-" in (path, target):
        raise CorpusError("standard input is read once, and a review reads again: name a file")
    if target is not None:
        return Origin(path, target, layout)
    kind = file_format(path, layout.format)
    named = (layout.source_column, layout.target_column) != (None, None)
    if kind in ("plain", "tsv") and not layout.header:
        cells = _first_line(path).split("\t")
        if rejected:
            return Origin(path, None, layout, reason=max(len(cells) - 1, 1))
        if not named and len(cells) > 2 and is_number(cells[0]):
            layout = replace(layout, source_column=2, target_column=3)
            return Origin(path, None, layout, score or 1)
        last = len(cells) if len(cells) > 2 and is_number(cells[-1]) else None
        return Origin(path, None, layout, score or last)
    names = _names(path, kind)
    if not named:
        sides = _one_of(SOURCES, names), _one_of(TARGETS, names)
        layout = replace(layout, source_column=sides[0], target_column=sides[1])
    if rejected:
        return Origin(path, None, layout, reason=REASON if kind != "tsv" else names[-2])
    return Origin(path, None, layout, score or _one_of(SCORES, names))


def _first_line(path: str) -> str:
    return next(iter(read_lines(path)), b"").decode("utf-8", "replace")


def _names(path: str, kind: str) -> Sequence[str]:
    """Return the names of the columns of a file; none where its first row is faulty."""
    if kind == "parquet":
        return [*next(iter(FORMATS[kind].rows(RawText(path), ())), {})]
    if not FORMATS[kind].of_lines:  # units, in their languages
        return []
    line = _first_line(path)
    if kind in ("plain", "tsv"):
        return line.split("\t")
    try:
        record = parsed(line)
    except ValueError:  # reported when it is read
        return []
    return [*record] if isinstance(record, dict) else []


def _one_of(wanted: Sequence[str], names: Sequence[str]) -> str | None:
    return next((name for name in wanted if name in names), None)
