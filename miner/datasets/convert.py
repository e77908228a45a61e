"""Downloaded sets into the layout that is evaluated: plain lines and TSV, one record a line.

Nothing is quoted in these sources, whatever their suffix. What a set's own protocol leaves out,
such as pairs without a gold score, is left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from pathlib import Path, PurePosixPath

from miner.datasets.archive import TAR, lines, members
from miner.datasets.catalog import STS_NAMES, STS_TRACKS
from miner.datasets.opusparcus import parse_annotated
from miner.errors import CorpusError
from miner.progress import Reporter, silent
from miner.text.output import Waiting, all_or_none, one_line, open_output, resource_error

Row = tuple[str, ...]

NO_GOLD, EMPTY_SIDE = "without a gold score", "with an empty side"
BATCH = 8192  # lines written at once
SICK_SPLITS = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}


@dataclass
class Converted:
    """What became of a part. written: rows of each file, by its path below the data directory.

    left_out: rows that are not in it, by path and reason.
    """

    written: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, dict[str, int]] = field(default_factory=dict)


class Writer:
    """The files of one part, which appear all or not at all (see `all_or_none`)."""

    def __init__(self, into: Path, waiting: Waiting, report: Reporter):
        self.into, self.waiting, self.report = into, waiting, report
        self.done = Converted()

    def copy(self, path: str, rows: Iterable[bytes]) -> None:
        """Lines as they stand."""
        self._write(path, rows)

    def rows(self, path: str, rows: Iterable[Row | str]) -> None:
        """Rows as TSV, tabs and line ends inside of cells made spaces; a text is a reason why a
        row is left out."""
        left_out: Counter[str] = Counter()

        def kept() -> Iterator[bytes]:
            for row in rows:
                if isinstance(row, str):
                    left_out[row] += 1
                else:
                    yield ("\t".join(map(one_line, row)) + "\n").encode()

        self._write(path, kept())
        if left_out:
            self.done.left_out[path] = dict(left_out)

    def _write(self, path: str, encoded: Iterable[bytes]) -> None:
        final = self.into / path
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise resource_error(error, final.parent) from error
        count, stream = 0, iter(encoded)
        with open_output(final, binary=True, together=self.waiting) as out:
            while batch := list(islice(stream, BATCH)):
                out.write(b"".join(batch))
                count += len(batch)
                self.report(path, count, None)
        self.done.written[path] = count


def convert(
    name: str,
    part: str,
    files: Sequence[Path],
    into: Path,
    report: Reporter = silent,
) -> Converted:
    """Write what ``files``, the downloads of a part of the set ``name``, hold below ``into``.

    The files of a part appear together or not at all. Raises CorpusError (a damaged archive, a
    layout that is not the official one, sides that do not match) and ResourceError.
    """
    with all_or_none() as waiting:
        writer = Writer(into, waiting, report)
        CONVERTERS[name](writer, part, files)
    return writer.done


# --- mining and retrieval -------------------------------------------------------------------------


def _bucc(writer: Writer, pair: str, files: Sequence[Path]) -> None:
    """``id⇥sentence`` and gold ``source id⇥target id``, as they are."""
    foreign, english = pair.split("-")
    for path, split in zip(files, ("sample", "training", "test"), strict=True):
        # No gold of test is known to be published; should it be one day, it is welcome.
        wanted = {f"{pair}.{split}.{side}" for side in (foreign, english)}
        gold = f"{pair}.{split}.gold"
        found = set()
        with members(path) as entries:
            for name, file in entries:
                base = PurePosixPath(name).name
                if base in wanted | {gold}:
                    found.add(base)
                    where = f"{path}, {name}"
                    writer.copy(f"bucc2018/{pair}/{base}", _with_tabs(where, file))
        _all_there(path, wanted if split == "test" else wanted | {gold}, found)


def _with_tabs(where: str, file: Iterable[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(file, 1):
        if b"\t" not in line and line.strip():
            raise CorpusError(f"{where}, line {number}: no tab; it is not BUCC's format")
        yield line if line.endswith(b"\n") else line + b"\n"


def _tatoeba(writer: Writer, pair: str, files: Sequence[Path]) -> None:
    with members(files[0]) as foreign, members(files[1]) as english:
        sides = [lines(next(side)[1]) for side in (foreign, english)]
        rows = _aligned(f"{files[0]} and {files[1].name}", *sides)
        writer.rows(f"tatoeba/{pair}.tsv", map(_both, rows))


# --- similarity -----------------------------------------------------------------------------------


def _sts(writer: Writer, year: int, files: Sequence[Path]) -> None:
    """Pairs in ``STS.input.NAME.txt`` (2016: ``STS2016.``), scores in ``STS.gs.NAME.txt``."""
    for name in STS_NAMES[year]:
        _scored(writer, f"sts/{year}.{name}.tsv", name, files)


def _sts2017(writer: Writer, part: str, files: Sequence[Path]) -> None:
    for track in STS_TRACKS:
        _scored(writer, f"sts/2017.{track}.tsv", track, files)


def _scored(writer: Writer, output: str, name: str, files: Sequence[Path]) -> None:
    # A reader for each side, so that neither is held in memory.
    with ExitStack() as stack:
        sides = [_sts_lines(stack, files, side, name) for side in ("input", "gs")]
        where = f"{files[0]}, {name}"
        writer.rows(output, _scored_pairs(where, _aligned(where, *sides)))


def _sts_lines(stack: ExitStack, files: Sequence[Path], side: str, name: str) -> Iterator[str]:
    """Of the member that has this side of the set ``name``, open as long as ``stack`` is."""
    wanted = re.compile(rf"STS(\d{{4}})?\.{side}\.(surprise\.)?{re.escape(name)}\.txt")
    for path in files:
        for member, file in stack.enter_context(members(path)):
            if wanted.fullmatch(PurePosixPath(member).name):
                return lines(file)
    raise _missing(files[0], [f"{side} of {name}"])


def _scored_pairs(where: str, pairs: Iterable[tuple[str, str]]) -> Iterator[Row | str]:
    for number, (pair, score) in enumerate(pairs, 1):
        cells = pair.split("\t")  # 2016 tells the sources too
        if len(cells) < 2:
            raise CorpusError(f"{where}, line {number}: no tab between two sentences")
        yield _graded(where, number, score, cells[0], cells[1], 0, 5)


def _stsb(writer: Writer, part: str, files: Sequence[Path]) -> None:
    """Genre, file, year, number, score, two sentences, and at times their sources."""
    (path,) = files
    found = set()
    with members(path) as entries:
        for name, file in entries:
            match = re.fullmatch(r"sts-(train|dev|test)\.csv", PurePosixPath(name).name)
            if match:
                found.add(match[1])
                where = f"{path}, {name}"
                rows = (
                    _graded(where, number, cells[4], cells[5], cells[6], 0, 5)
                    for number, cells in _tables(where, lines(file), 7)
                )
                writer.rows(f"sts/stsb.en.{match[1]}.tsv", rows)
    _all_there(path, {"train", "dev", "test"}, found)


def _sick(writer: Writer, part: str, files: Sequence[Path]) -> None:
    """One table with a header, whose last column tells the split; read once for each."""
    (path,) = files
    for split, name in SICK_SPLITS.items():
        output = f"sts/sick-r.{name}.tsv"
        with members(path) as entries:
            for member, file in entries:
                if PurePosixPath(member).name == "SICK.txt":
                    writer.rows(output, _of_split(f"{path}, {member}", lines(file), split))
        if not writer.done.written.get(output):
            raise _missing(path, [split])


def _of_split(where: str, texts: Iterable[str], wanted: str) -> Iterator[Row | str]:
    names = ("sentence_A", "sentence_B", "relatedness_score", "SemEval_set")
    table = _tables(where, texts, len(names))
    _, head = next(table, (1, []))
    if not set(names) <= set(head):
        raise CorpusError(f"{where}, line 1: names no column {' or '.join(names)}")
    first, second, score, split = (head.index(column) for column in names)
    for number, cells in table:
        if len(cells) != len(head) or cells[split] not in SICK_SPLITS:
            raise CorpusError(f"{where}, line {number}: not a row of TRAIN, TRIAL or TEST")
        if cells[split] == wanted:
            yield _graded(where, number, cells[score], cells[first], cells[second], 1, 5)


def _graded(
    where: str, number: int, score: str, first: str, second: str, low: float, high: float
) -> Row | str:
    """``score⇥s1⇥s2``, the score as it is written; a reason, where it is blank."""
    score = score.strip()
    if not score:
        return NO_GOLD
    try:
        known = low <= float(score) <= high
    except ValueError:
        known = False
    if not known:
        raise CorpusError(f"{where}, line {number}: score {score!r} is not from {low} to {high}")
    return score, first.strip(), second.strip()


# --- paraphrases ----------------------------------------------------------------------------------


def _msrpc(writer: Writer, part: str, files: Sequence[Path]) -> None:
    """Label, two ids, two sentences, under a header."""
    for path, split in zip(files, ("train", "test"), strict=True):
        with members(path) as entries:
            table = _tables(str(path), lines(next(entries)[1]), 5)
            next(table, None)
            writer.rows(f"paraphrase/msrpc.{split}.tsv", _labelled(path, table))


def _labelled(path: Path, table: Iterable[tuple[int, list[str]]]) -> Iterator[Row]:
    for number, cells in table:
        if cells[0] not in ("0", "1"):
            raise CorpusError(f"{path}, line {number}: label {cells[0]!r} is not 0 or 1")
        yield cells[0], cells[3].strip(), cells[4].strip()


def _opusparcus(writer: Writer, language: str, files: Sequence[Path]) -> None:
    (path,) = files
    found = set()
    with members(path) as entries:
        for name, file in entries:
            match = re.fullmatch(rf"{language}-(dev|test)\.txt", PurePosixPath(name).name)
            if match:
                found.add(match[1])
                pairs = parse_annotated(f"{path}, {name}", lines(file))
                rows = ((str(pair.grade), pair.first, pair.second) for pair in pairs)
                writer.rows(f"paraphrase/opusparcus.{language}.{match[1]}.tsv", rows)
    _all_there(path, {"dev", "test"}, found)


# --- training -------------------------------------------------------------------------------------


def _bitext(writer: Writer, name: str, pair: str, files: Sequence[Path]) -> None:
    """A tar of two aligned files, or a table of two columns in the order of its name."""
    (path,) = files
    foreign, english = pair.split("-")
    output = f"train/{pair}/{name}.tsv.gz"
    if path.name.endswith(TAR):
        # Each side has a reader of its own, since a tar can only be read from front to back.
        with members(path) as one, members(path) as other:
            sides = [
                _member(path, entries, f".{pair}.{code}")
                for entries, code in ((one, foreign), (other, english))
            ]
            writer.rows(output, map(_both, _aligned(str(path), *sides)))
        return
    english_first = f".{english}-{foreign}." in path.name
    with members(path) as entries:
        table = (text.split("\t") for text in lines(next(entries)[1]))
        pairs = ((cells + [""])[:2] for cells in table)  # more columns tell the source
        writer.rows(output, (_both(pair[::-1] if english_first else pair) for pair in pairs))


def _member(path: Path, entries: Iterator[tuple[str, Iterable[bytes]]], end: str) -> Iterator[str]:
    for name, file in entries:
        if name.endswith(end):
            return lines(file)
    raise _missing(path, [f"a file that ends in {end}"])


# --- what they share ------------------------------------------------------------------------------


def _aligned(where: str, first: Iterable[str], second: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Line by line. Raises CorpusError, with both counts, where one is longer."""
    count = [0, 0]
    for left, right in zip_longest(first, second):
        count[0] += left is not None
        count[1] += right is not None
        if count[0] == count[1]:
            yield left, right
    if count[0] != count[1]:
        raise CorpusError(
            f"{where}: {count[0]:,} lines and {count[1]:,}, where line belongs to line; get it "
            "again, or tell its authors"
        )


def _both(pair: Sequence[str]) -> Row | str:
    first, second = (one_line(side).strip() for side in pair)
    return (first, second) if first and second else EMPTY_SIDE


def _tables(where: str, texts: Iterable[str], columns: int) -> Iterator[tuple[int, list[str]]]:
    """Numbered rows of at least so many cells. Blank lines are no rows."""
    for number, text in enumerate(texts, 1):
        if not text.strip():
            continue
        cells = text.split("\t")
        if len(cells) < columns:
            raise CorpusError(
                f"{where}, line {number}: {len(cells)} columns, not {columns}; it is not the "
                "official layout"
            )
        yield number, cells


def _all_there(path: Path, wanted: set[str], found: set[str]) -> None:
    if missing := sorted(wanted - found):
        raise _missing(path, missing)


def _missing(path: Path, missing: Sequence[str]) -> CorpusError:
    return CorpusError(
        f"{path}: holds no {', '.join(missing)}; it is not the official layout: look at its home "
        "page"
    )


Convert = Callable[[Writer, str, Sequence[Path]], None]


def _of_year(year: int) -> Convert:
    return lambda writer, part, files: _sts(writer, year, files)


def _of_name(name: str) -> Convert:
    return lambda writer, part, files: _bitext(writer, name, part, files)


CONVERTERS: Mapping[str, Convert] = {
    "bucc2018": _bucc,
    "tatoeba": _tatoeba,
    **{f"sts{year}": _of_year(year) for year in STS_NAMES},
    "sts2017": _sts2017,
    "stsb": _stsb,
    "sick-r": _sick,
    "msrpc": _msrpc,
    "opusparcus": _opusparcus,
    "europarl": _of_name("europarl"),
    "news-commentary": _of_name("news-commentary"),
}
