"""Bitexts of a run, and the pieces that tasks read."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from miner.errors import CorpusError
from miner.index.text_files import TextFile, stamp, text_files
from miner.option_values import Languages
from miner.progress import silent
from miner.scoring.languages import Identified, identify_pair
from miner.tasks.run import Call, Run
from miner.tasks.task import Job, Result, hints
from miner.text.formats import FORMATS, BitextFormat, file_format
from miner.text.in_memory import GivenTexts, given_rows
from miner.text.language_codes import SEVERAL
from miner.text.lines import display_name
from miner.text.rows import Rows, spread_rows
from miner.text.text_format import Column, Note, RawText, Units

# Rows of a piece: on one machine, where a kill then loses less than a minute, and on a cluster.
HERE, ELSEWHERE = 1 << 16, 1_000_000
# Rows at the head of a text that identify its languages.
HEAD = 1000


@dataclass(frozen=True)
class BitextFiles:
    """File of pairs, or two aligned files, with their format."""

    files: tuple[TextFile, ...]
    reading: BitextFormat

    @property
    def native(self) -> str:
        """Line format of the rows."""
        format = file_format(self.files[0].path, self.reading.format)
        lines = format in ("plain", "paracrawl") or len(self.files) == 2
        return "tsv" if lines else format

    @contextmanager
    def opened(self, more: Sequence[int | str] = (), count: int | None = None) -> Iterator[Rows]:
        """Yield the rows; errors in the block name the files as the user did.

        ``more`` are further columns. With ``count``, rows are not counted. Raises CorpusError for
        a file that has changed.
        """
        with ExitStack() as stack:
            source, *target = [stack.enter_context(file.opened()) for file in self.files]
            yield Rows(
                source,
                target[0] if target else None,
                self.reading,
                more=more,
                rewritable=True,
                count=count,
            )


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a bitext: piece ``number`` of ``of``, each with ``size`` rows except the
    last.

    ``first`` is the index of its first row over all bitexts. ``cut`` has its copy, if the bitext
    has several pieces.
    """

    bitext: BitextFiles
    cut: Result
    number: int
    of: int
    size: int
    first: int
    rows: int

    @property
    def name(self) -> str:
        """Number of the piece among the tasks of a stage."""
        return f"{self.cut.name.rpartition('/')[2]}-{self.number:04}"

    @contextmanager
    def opened(self, more: Sequence[int | str] = ()) -> Iterator[Rows]:
        with self.bitext.opened(more, self.rows if self.of == 1 else 0) as rows:
            if self.of > 1:
                rows = rows.piece(self.cut.path, self.number, self.size)
                rows.count = self.rows
            yield rows


def bitexts_of(
    names: Sequence[Sequence[str | GivenTexts]],
    reading: BitextFormat,
    copies: Path,
    note: Note = silent,
) -> list[BitextFiles]:
    """Return bitexts of one file or two; streams and pairs are first copied into ``copies``.

    Rows of Parquet and TMX are copied too; ``note`` is called with lines about faulty ones. Raises
    CorpusError for a file that cannot be read, and ResourceError.
    """
    bitexts = []
    for number, sides in enumerate(names):
        directory = copies / f"{number}" if number else copies
        files = [
            replace(file, name=display_name(file.name)) for file in text_files(sides, directory)
        ]
        bitext_format = (
            replace(reading, format="jsonl", header=False) if files[0].given else reading
        )
        kind = file_format(files[0].path, bitext_format.format)
        if len(files) == 1 and not FORMATS[kind].of_lines:
            columns = [Column(key) for key in bitext_format.columns(files[0].path)]
            with files[0].opened() as local:
                text = RawText(local, None, bitext_format.on_error, note)
                units = FORMATS[kind].rows(text, columns)
                rows = given_rows(units, files[0].name)
                files = text_files([rows], directory / "rows")
            keys = bitext_format.source_column, bitext_format.target_column
            if isinstance(FORMATS[kind], Units):
                keys = None, None
            bitext_format = BitextFormat(
                *keys, format="jsonl", on_error=bitext_format.on_error, carry=bitext_format.carry
            )
        bitexts.append(BitextFiles(tuple(files), bitext_format))
    return bitexts


@hints(seconds=5e-6)
def cut(
    job: Job,
    bitext: BitextFiles,
    size: int,
    identify: bool = False,
    given: Languages = (None, None),
) -> dict[str, Any]:
    """Count the rows of a bitext, and cut a large one into pieces of ``size`` rows.

    ``identify``: identify its languages as well, unless they are ``given``.
    """
    with bitext.opened() as rows:
        pieces = rows.cut(size, job.out)
        counts: dict[str, Any] = {
            "rows": rows.counted(),
            "pieces": pieces,
            "header": rows.head is not None,
        }
    if identify:
        sides = languages_of([bitext], given)
        counts["languages"] = [SEVERAL if side.mixed else side.seen for side in sides]
    return counts


def cut_all(
    run: Run, bitexts: Sequence[BitextFiles], **identifying: Any
) -> tuple[list[Result], list[list[Piece]]]:
    """Cut all bitexts; return the facts about each, and its pieces, at least one."""
    size = run.lines or HERE
    calls = {
        f"{number:04}": Call(
            {"bitext": bitext}, units=sum(file.stamp[0] for file in bitext.files) / 100
        )
        for number, bitext in enumerate(bitexts)
    }
    cuts = run.stage("cut", cut, calls, size=size, **identifying)
    run.wait()
    pieces = []
    first = 0
    for bitext, done in zip(bitexts, cuts, strict=True):
        rows = int(done.value["rows"])
        of = max(1, -(-rows // size))
        pieces.append(
            [
                Piece(
                    bitext, done, number, of, size, first + number * size,
                    min(size, rows - number * size),
                )
                for number in range(of)
            ]
        )  # fmt: skip
        first += rows
    return cuts, pieces


def languages_of(
    bitexts: Iterable[BitextFiles], given: Languages = (None, None)
) -> tuple[Identified, Identified]:
    """Identify the languages of both sides of a text, in one or more bitexts, from its head.

    ``given``: BCP-47 codes that override identification. Raises the errors of `Rows`.
    """
    sides: tuple[list[str], list[str]] = [], []
    for bitext in bitexts:
        with bitext.opened(count=0) as rows:
            block = rows.first(HEAD - len(sides[0]))
            if len(block):  # an empty file would lack the columns too
                texts = rows.layout.texts(block)
                sides[0].extend(texts.source)
                sides[1].extend(texts.target)
        if len(sides[0]) >= HEAD:
            break
    return identify_pair(*sides, given)


def refuse_equal_names(names: Sequence[Sequence[str]]) -> None:
    """Raise CorpusError for files with the same name in different folders, because their outputs
    would clash.
    """
    seen: dict[str, str] = {}
    for path in (path for sides in names for path in sides):
        other = seen.setdefault(Path(path).name, path)
        if other != path:
            raise CorpusError(
                f"{path} and {other} have one name, and so would their outputs; run the command "
                "on each folder"
            )


def sample(
    bitexts: Sequence[BitextFiles], size: int, place: Path
) -> tuple[list[BitextFiles], int, int]:
    """Copy ``size`` evenly spread rows of a text to files in ``place``, for a dry run.

    Returns the files as bitexts, the number of their rows, and the number of all rows.
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
    sampled = []
    for number, (bitext, count) in enumerate(zip(bitexts, counts, strict=True)):
        part = chosen[(chosen >= first) & (chosen < first + count)] - first
        first += count
        with bitext.opened(count=count) as rows, ExitStack() as stack:
            kinds = rows.layout.formats
            paths = [place / f"{number}-{side}.{kind}" for side, kind in enumerate(kinds)]
            files = [stack.enter_context(open(path, "wb")) for path in paths]
            if rows.head is not None:
                files[0].write(rows.head + b"\n")
            for block in rows.chosen(part) if len(part) else ():
                rows.layout.texts(block)
                for file, line in zip(files, block.raw[0], strict=True):
                    file.write(line + b"\n")
        copies = (
            TextFile(str(path), stamp(path), original.name)
            for path, original in zip(paths, bitext.files, strict=True)
        )
        sampled.append(BitextFiles(tuple(copies), bitext.reading))
    return sampled, len(chosen), total
