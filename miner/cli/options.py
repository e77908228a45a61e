"""Options shared by several commands, messages to the user, and the opening of encoders."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from miner.cli.option_types import DEVICE
from miner.cli.run_options import volume
from miner.cli.settings_options import Decorator, Settings, configured
from miner.config_fields import option
from miner.encoder.loading import USUAL, Loading
from miner.knn.settings import SearchSettings
from miner.option_values import SIDES
from miner.scoring.decontaminate_settings import Without
from miner.text.formats import BitextFormat, file_format

if TYPE_CHECKING:
    from miner.encoder.sentence_encoder import SentenceEncoder

# Number of lines read to check a format.
PEEKED = 50


def several(*options: Decorator) -> Decorator:
    """Combine options into one decorator that keeps their order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(options):
            function = decorator(function)
        return function

    return decorate


@dataclass(frozen=True)
class Languages:
    """Codes of both languages; commands receive them as a tuple."""

    source: str | None = option(
        None,
        "Language of the source, such as de [identified from a sample].",
        option="--source-lang",
        kind="language",
        metavar="CODE",
    )
    target: str | None = option(
        None,
        "Language of the target, such as en [identified from a sample].",
        option="--target-lang",
        kind="language",
        metavar="CODE",
    )


def _codes(values: dict[str, str]) -> tuple[str | None, str | None]:
    return values.get("source"), values.get("target")


def _search(values: dict[str, Any]) -> SearchSettings:
    languages = values.pop("source", None), values.pop("target", None)
    return SearchSettings(**values, languages=languages)


def search(*names: str) -> Decorator:
    """Options of a search (all, or the named fields) and of the languages, passed as
    ``settings``.
    """
    settings_of = Settings(SearchSettings, "settings", _search), Settings(Languages, "settings")
    return several(settings_of[0](*names), settings_of[1]())


def _bitext_format(values: dict[str, Any]) -> BitextFormat:
    """Make the format of a bitext. Raises UsageError for one column as both sides."""
    source, target = (values.get(f"{side}_column") for side in SIDES)
    if source is not None and source == target:
        raise click.UsageError(
            f"--scol and --tcol are both {source}; give the columns of two texts"
        )
    return configured(BitextFormat(), values)


without = Settings(Without, "without")
languages = Settings(Languages, "languages", _codes)
loading = Settings(Loading, "loading")
# Columns of a bitext and the handling of its faults, as one value or as separate options.
bitext_format = Settings(BitextFormat, "layout", _bitext_format)
text_format = Settings(BitextFormat, "")
header = text_format("header")
threads = Settings(SearchSettings, "")("threads")

model: Any = click.option(
    "--model",
    default="default",
    metavar="DIR",
    help=(
        "Model directory; 'default' is the shipped model (82 languages and English). "
        "hf:DIR_OR_NAME opens a model of sentence-transformers, model2vec:DIR_OR_NAME one of "
        "model2vec."
    ),
)
second: Any = click.option(
    "--second",
    metavar="MODEL",
    help="Second opinion: hf:DIR_OR_NAME, model2vec:DIR_OR_NAME or a model directory. It reads "
    "only pairs in doubt, and both opinions count. Prompts and --runtime apply to it.",
)
second_pairs: Any = click.option(
    "--second-pairs",
    type=click.IntRange(0),
    metavar="N",
    help="Read at most the N most doubtful pairs, with a probability nearest to .5; of each bitext "
    "or pair of documents [all in doubt].",
)
side: Any = click.option(
    "--side",
    type=click.Choice(SIDES),
    help=(
        "Column of the training text that this text corresponds to, for a model with separate"
        " vocabularies."
    ),
)
# One file with both sides, or one file for each side.
bitext = several(
    click.argument("bitext", nargs=-1, metavar="BITEXT | SOURCE TARGET"),
    click.option("--source", metavar="FILE", help="Source file, with --target."),
    click.option("--target", metavar="FILE", help="Target file, aligned line by line."),
)
reading = several(
    text_format(
        "format",
        "on_error",
        format={
            "help": "Text format; default by suffix (.tsv .jsonl .parquet), else plain. "
            "bucc is 'id, tab, sentence'."
        },
        on_error={"help": "Lines that are not UTF-8: stop, put U+FFFD, or leave out (and count)."},
    ),
    click.option(
        "--column",
        metavar="N|NAME",
        help="Column of the sentence: for tsv a number from 1 [1], or a name with --header; "
        "for jsonl and parquet a name [text].",
    ),
    click.option("--id-column", metavar="N|NAME", help="Column with the id of each sentence."),
    header,
)
carry: Any = click.option(
    "--carry",
    metavar="COLUMNS",
    default="",
    callback=lambda _, __, given: tuple(filter(None, given.split(","))),
    help=(
        "Further columns to write, such as id,url, or all: names, or column3 of a TSV without"
        " a header; for mined pairs also url1 and url2."
    ),
)
factory: Any = click.option(
    "--index",
    "factory",
    default="flat",
    metavar="FACTORY",
    help=(
        "flat is exact; a FAISS factory string (IVF1024,PQ64x8) builds a compressed index, "
        "whose neighbours are rescored exactly."
    ),
)


def device_of(what: str, more: str = "") -> Decorator:
    """Option for the device of a kind of work."""
    return click.option(
        "--device",
        type=DEVICE,
        default="auto",
        metavar=DEVICE.name,
        help=f"{what}; cuda:1 is the second GPU; a missing GPU is an error.{more}",
    )


device = device_of("Device of the encoder", " Changes at most the last bits of recurrent encoders.")


def overwrite(what: str = "a model") -> Decorator:
    """Flag to replace a directory."""
    help = f"Replace {what} that is in DIR already."
    return click.option("--overwrite", is_flag=True, help=help)


def comparer(more: str = "", default: bool = True) -> Decorator:
    """Flag to learn a comparer of tokens with a model."""
    help = f"Learn a comparer of tokens for the quality score{more}."
    return click.option("--comparer/--no-comparer", default=default, help=help)


def output(text: str, metavar: str = "FILE") -> Decorator:
    """Option for the file to write, standard output by default."""
    shown: Any = "standard output"
    return click.option(
        "-o", "--output", metavar=metavar, default="-", show_default=shown, help=text
    )


def json_file(what: str = "all metrics", more: str = " as JSON") -> Decorator:
    """Option for a file of facts."""
    return click.option("--json", "json_file", metavar="FILE", help=f"Write {what} to FILE{more}.")


def write_json(path: str, record: Any, **layout: Any) -> None:
    """Write JSON, with the ``layout`` of :func:`json.dumps`. Raises ResourceError."""
    from miner.text.output import open_output

    with open_output(path) as file:
        file.write(json.dumps(record, **layout) + "\n")


def command_line() -> str:
    """Return this command as typed, quoted for a shell."""
    return shlex.join(["miner", *sys.argv[1:]])


def say(line: str) -> None:
    """Print text for the user on standard error, wrapped by words on a terminal or at COLUMNS.

    With ``--quiet``, only warnings are printed.
    """
    if volume() < 0 and not line.startswith("warning: "):
        return
    width = shutil.get_terminal_size().columns
    if sys.stderr.isatty() or "COLUMNS" in os.environ:
        line = "\n".join(map(partial(_wrapped, width=width), line.split("\n")))
    click.echo(line, err=True)


def _wrapped(line: str, width: int) -> str:
    """Wrap a line, unless it is a row of a table."""
    if "  " in line:
        return line
    return textwrap.fill(
        line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


@contextmanager
def opened(
    name: str, threads: int | None, device: str, side: str | None, loading: Loading = USUAL
) -> Iterator[SentenceEncoder]:
    """Open an encoder and print facts about it, and its warnings at the end."""
    from miner.encoder.open_encoder import open_encoder

    encoder = open_encoder(name, threads, device, side, loading)
    for fact in encoder.facts():
        say(fact)
    yield encoder
    for warning in encoder.warnings():
        say(f"warning: {warning}")


def check_columns(paths: Iterable[str], format: str | None, column: str | None) -> None:
    """Warn about plain text whose first lines all have a tab: its format may be bucc or tsv.

    Raises UsageError for a TSV with ids in its first column, unless ``column`` is set.
    """
    from miner.text.corpus import CorpusReader

    for path in paths:
        kind = file_format(path, format)
        if kind not in ("plain", "tsv") or format == "plain" or not os.path.isfile(path):
            continue
        reader = CorpusReader(path, on_error="replace", block=PEEKED, format="plain")
        block = next(iter(reader), None)
        if block is None:
            continue
        if kind == "tsv":
            rows = [sentence.split("\t") for sentence in block.sentences]
            text_column = None if column else _text_beside_ids(rows)
            if text_column is not None:
                raise click.UsageError(
                    f"{path}: column 1 of {len(rows[0])} has ids, no sentences; did you mean "
                    f"--column {text_column}?"
                )
        elif all("\t" in sentence for sentence in block.sentences):
            say(
                f"warning: {path}: every line has a tab, and is read as one sentence; for columns "
                "give --format bucc or --format tsv"
            )


def _text_beside_ids(rows: list[list[str]]) -> int | None:
    """Return the first column with words, from 1, if the first column has none in any row."""

    def is_id(cell: str) -> bool:
        if " " in cell:
            return False
        return re.search(r"\d", cell) is not None or re.search(r"[^\W\d_]", cell) is None

    columns = list(zip(*rows, strict=False))
    if not all(map(is_id, columns[0])):
        return None
    words = (number for number, column in enumerate(columns, 1) if not any(map(is_id, column)))
    return next(words, None)
