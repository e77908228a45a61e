"""Formats of text: their table, the choice by suffix, and `BitextFormat`, the columns of a
bitext.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from miner.config_fields import no_option, option
from miner.errors import CorpusError
from miner.option_values import ON_ERROR
from miner.text.compression import MAGIC
from miner.text.jsonl import Jsonl
from miner.text.opus import OpusZip, Xces
from miner.text.parquet import Arrow, Parquet
from miner.text.plain import Bucc, Plain
from miner.text.text_format import TextFormat
from miner.text.tmx import Tmx
from miner.text.tsv import ParaCrawl, Tsv

# Value that selects all columns to carry.
ALL = "all"
# Registry of formats: a new format is a file with its class, and a line here.
FORMATS: dict[str, TextFormat] = {
    kind.name: kind
    for kind in (
        *(Plain(), Bucc(), Tsv(), ParaCrawl(), Jsonl(), Parquet(), Arrow()),
        *(Tmx(), OpusZip(), Xces()),
    )
}
WITH_COLUMNS = [name for name, kind in FORMATS.items() if kind.sides]
REWRITABLE = [name for name, kind in FORMATS.items() if kind.rewritable]
# Formats of bitexts, and output suffixes of formats that are not lines of text.
BITEXTS = [name for name, kind in FORMATS.items() if kind.rewritable or kind.sides]
_WRITTEN = [kind for kind in FORMATS.values() if kind.written]
TABLES = [end for kind in _WRITTEN if not kind.of_lines for end in kind.suffixes]
_SUFFIXES = {suffix: name for name, kind in FORMATS.items() for suffix in kind.suffixes}
# Output suffixes of lines of text; a compression suffix may follow.
TEXT_SUFFIXES = (".txt", *(end for end in _SUFFIXES if _SUFFIXES[end] in REWRITABLE), ".bucc")
# Suffixes of other formats that look like a language code.
_FOREIGN = (
    *(".csv", ".tmx", ".xls", ".ods", ".doc", ".odt", ".rtf", ".pdf", ".xml", ".xlf", ".po"),
    *(".mo", ".zip", ".tar", ".tgz", ".rar", ".lz", ".lzo", ".z", ".npy", ".npz", ".pkl"),
    *(".db", ".sql", ".orc"),
)
# Matches clean.de, clean.zh-Hant, part.01, clean.2026-11-22.
_LANGUAGE_OR_NUMBER = re.compile(r"\.([a-z]{2,3}([-_][a-z0-9]{2,8})*|[0-9][0-9-]*)", re.IGNORECASE)


@dataclass(frozen=True)
class BitextFormat:
    """Format of a bitext: its columns, and what to do with text that cannot be read.

    source_column, target_column: number from 1, or name, of a column of one file that holds both
        sides; names are for jsonl and parquet, and for tsv with ``header``. A number given as text
        is looked up as a name first. None stands for "source" and "target" of jsonl, parquet and a
        tsv whose header has them, else for columns 1 and 2 of tsv. Each of two files has its text
        in the default column.
    header: the first line of a tsv names the columns.
    format: one of `FORMATS` for all files; None decides by suffix, a compression suffix aside.
        One file whose suffix says nothing, and standard input, are tsv, two such files plain.
    on_error: action on bytes that are not UTF-8: "fail" raises CorpusError, "replace" puts U+FFFD,
        "skip" drops the row.

    carry: of the cells beside both texts, the names of those that are written in another format;
        none or "all" for all of them.
    one_text: both sides are the text of a monolingual file: of the source column, else of the
        format's usual column, else the whole line.

    Raises ValueError for a ``format`` or ``on_error`` that does not exist.
    """

    source_column: int | str | None = option(
        None,
        "Source column [source of JSONL, Parquet and a header, else 1]; language of TMX.",
        option="--scol",
        kind="text",
        metavar="N|NAME",
    )
    target_column: int | str | None = option(
        None,
        "Target column [target of JSONL, Parquet and a header, else 2]; language of TMX.",
        option="--tcol",
        kind="text",
        metavar="N|NAME",
    )
    header: bool = option(False, "The first line of a TSV names its columns.")
    format: str | None = option(
        None,
        "Text format; default by suffix (.tsv .jsonl .parquet .arrow .tmx .zip .xml), else tsv for "
        "one file, plain for two.",
        choices=FORMATS,
    )
    on_error: str = option(
        "fail",
        "Action on rows that are not UTF-8: stop, put U+FFFD, or skip (and count).",
        choices=ON_ERROR,
    )

    carry: tuple[str, ...] = no_option((), "--carry of a command that writes rows")
    one_text: bool = no_option(False, "--mono of 'miner filter'")

    def __post_init__(self) -> None:
        file_format("", self.format)
        if self.on_error not in ON_ERROR:
            raise ValueError(
                f"on_error is {self.on_error!r}; it must be one of {', '.join(ON_ERROR)}"
            )

    def columns(self, origin: str) -> tuple[int | str | None, int | str | None]:
        """Return the columns of both texts in the file ``origin``, defaults filled in."""
        kind = FORMATS[file_format(origin, self.format)]
        usual: tuple[int | str | None, int | str | None] = kind.sides or (1, 2)
        chosen = self.source_column, self.target_column
        if self.one_text:
            text = kind.text or (1 if self.header else None)
            usual, chosen = (text, text), (chosen[0], chosen[0])
        return (
            usual[0] if chosen[0] is None else chosen[0],
            usual[1] if chosen[1] is None else chosen[1],
        )


def file_format(origin: str, format: str | None = None) -> str:
    """Return ``format``, or if it is None the format that the suffix of ``origin`` stands for.

    A compression suffix is passed over; any other unknown suffix is plain text. Raises ValueError
    for a ``format`` that does not exist, and CorpusError for .csv, whose quoted cells are no lines.
    """
    if format is None:
        stem, suffix = os.path.splitext(origin.lower())
        suffix = os.path.splitext(stem)[1] if suffix in MAGIC else suffix
        if suffix == ".csv":
            raise CorpusError(
                f"{origin}: comma-separated values are not read; write them as TSV, JSONL or "
                "Parquet (pandas: to_parquet), or give --format tsv if tabs separate the cells"
            )
        return _SUFFIXES.get(suffix, "plain")
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}; it must be one of {', '.join(FORMATS)}")
    return format


def check_suffix(path: str, tables: Sequence[str] = ()) -> None:
    """Refuse an output whose suffix promises another format than lines of text.

    Allowed are no suffix, `TEXT_SUFFIXES`, the code of a language (``clean.zh-Hant``) and a number
    (``part.01``), each perhaps with a compression suffix, and ``tables``, further suffixes that the
    command can write (``.parquet``). Raises ValueError, listing the known suffixes, for all others.
    """
    stem, suffix = os.path.splitext(path)
    if suffix.lower() in tables:
        return
    packed = suffix.lower() in MAGIC
    suffix = os.path.splitext(stem)[1] if packed else suffix
    packable = [end for end in tables if end not in Parquet.suffixes]
    if suffix.lower() in ("", *TEXT_SUFFIXES, *packable):
        return
    if _LANGUAGE_OR_NUMBER.fullmatch(suffix) and suffix.lower() not in _FOREIGN:
        return
    raise ValueError(
        f"{path}: {suffix} is not written; known are {' '.join((*TEXT_SUFFIXES, *tables))}, a "
        f"language code such as .de, no suffix, and {' '.join(MAGIC)} after a text suffix"
    )


def check_written(path: str, written: str) -> None:
    """Raise ValueError for a suffix of another format of `FORMATS` than ``written``."""
    promised, suffixes = file_format(path), FORMATS[written].suffixes
    if promised not in ("plain", written) and suffixes:
        raise ValueError(
            f"{path}: rows of {written} would be written there; name it {suffixes[0]}, or with no "
            "suffix"
        )


def listed(names: Sequence[str]) -> str:
    """Join names for a message: ``tsv, jsonl or parquet``."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


USUAL_FORMAT = BitextFormat()
