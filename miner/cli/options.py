"""Options that several commands share, and their types."""

import functools
import math
import os
from collections.abc import Callable, Iterable
from typing import Any

import click

from miner.errors import UnreadableError
from miner.machine import parse_size
from miner.names import ENGINES, MARGINS, ON_ERROR, RETRIEVALS, SIDES, canonical
from miner.text.formats import FORMATS, usual_suffixes

Decorator = Callable[[Any], Any]
PEEKED = 50  # lines by which a format is doubted


class Size(click.ParamType):
    """Number of bytes: 512M, 8G."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            return parse_size(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a size; write for example 512M or 8G", param, ctx)


class Number(click.ParamType):
    """Finite real number."""

    name = "number"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


class Share(Number):
    """Real number between 0 and 1, both excluded."""

    name = "share"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number = super().convert(value, param, ctx)
        if not 0 < number < 1:
            self.fail(f"{value} is not between 0 and 1; write for example 0.95", param, ctx)
        return number


class Sentence(click.ParamType):
    """Text in UTF-8."""

    name = "sentence"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            self.fail(f"{value!r} is not UTF-8", param, ctx)
        return value


class Language(click.ParamType):
    """BCP-47 code of a language."""

    name = "code"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from miner.text.language_codes import is_language

        if not is_language(str(value)):
            self.fail(f"{value!r} is no language code, such as de, en or zh-Hant", param, ctx)
        return str(value)


class Name(click.ParamType):
    """One of several names, or its short form."""

    name = "name"

    def __init__(self, choices: tuple[str, ...]):
        self.choices = choices

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        try:
            return canonical(value, self.choices)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def several(*options: Decorator) -> Decorator:
    """Join options to one decorator that keeps their order."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


model = click.option(
    "--model",
    default="default",
    show_default=True,
    metavar="DIR",
    help="Model directory; 'default' is the one that ships (sixteen languages and English). "
    "hf:DIR_OR_NAME is one of sentence-transformers, model2vec:DIR_OR_NAME one of model2vec.",
)


languages = several(
    click.option(
        "--source-lang",
        type=Language(),
        metavar="CODE",
        help="Language of the source, such as de [identified from a sample].",
    ),
    click.option(
        "--target-lang",
        type=Language(),
        metavar="CODE",
        help="Language of the target, such as en [identified from a sample].",
    ),
)

side = click.option(
    "--side",
    type=click.Choice(SIDES),
    help="Column of the training text that this text is like, for a model with separate "
    "vocabularies.",
)

header = click.option("--header", is_flag=True, help="The first line of a TSV names its columns.")


def on_error(what: str = "Lines", skip: str = "leave out (and count)") -> Decorator:
    """Option for text that cannot be read; the error that stops the work names the option."""
    option = click.option(
        "--on-error",
        type=click.Choice(ON_ERROR),
        default="fail",
        show_default=True,
        help=f"{what} that are not UTF-8: stop, put U+FFFD, or {skip}.",
    )

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def told(*arguments: Any, **named: Any) -> Any:
            try:
                return function(*arguments, **named)
            except UnreadableError as error:
                error.args = (f"{error}, or pass --on-error {error.ways}",)
                raise

        return option(told)

    return decorate


# One file with both sides, or a file for each.
bitext = several(
    click.argument("bitext", required=False),
    click.option("--source", metavar="FILE", help="Source file, with --target instead of BITEXT."),
    click.option("--target", metavar="FILE", help="Target file, aligned line by line."),
)

reading = several(
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help=f"Text format; default by suffix ({usual_suffixes(FORMATS)}), else plain. "
        "bucc is 'id, tab, sentence'.",
    ),
    on_error(),
    click.option(
        "--column",
        metavar="N|NAME",
        help="Column of the sentence: for tsv a number from 1 [1], or a name with --header; "
        "for jsonl and parquet a name [text].",
    ),
    click.option("--id-column", metavar="N|NAME", help="Column of an id of each sentence."),
    header,
)

mining = several(
    click.option(
        "-k",
        "--neighbors",
        type=click.IntRange(1, 32767),
        help="Nearest neighbours in each direction [8 to rank by probability, 4 by margin].",
    ),
    click.option(
        "--rank",
        type=click.Choice(["probability", "margin"]),
        help="Score of a pair: the probability of a translation, by verification, "
        "or the margin [probability if the model has a verifier].",
    ),
    click.option(
        "--margin",
        type=Name(MARGINS),
        metavar="|".join(MARGINS),
        help="Score of a pair against both neighbourhoods; implies --rank margin [ratio].",
    ),
    click.option(
        "--retrieval",
        type=Name(RETRIEVALS),
        default="max",
        show_default=True,
        metavar="|".join(RETRIEVALS),
        help="Which candidates become pairs; max is one-to-one.",
    ),
    click.option(
        "--duplicates",
        type=click.Choice(["first", "each"]),
        default="first",
        show_default=True,
        help="Sentences that occur several times: report the first occurrence, or pair occurrences "
        "in order (for a gold standard that counts each).",
    ),
)

machine = several(
    click.option(
        "--memory",
        type=Size(),
        help="Memory that the search may allocate: 512M, 8G [half of the free memory].",
    ),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Device of the search; cuda without a GPU is an error.",
    ),
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="auto",
        show_default=True,
        help="fused compares all pairs, hybrid a few per cent of them; auto is hybrid for very "
        "large corpora, else fused. faiss is for compressed indexes, triton for GPUs, untried.",
    ),
    click.option(
        "--exact",
        is_flag=True,
        help="Multiply in float32, and search again where rounding may have changed a list: the "
        "neighbours are exact. Flat indexes only.",
    ),
)

device = click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Device of the encoder; cuda without a GPU is an error. Changes at most the last bits of "
    "recurrent encoders.",
)

threads = click.option(
    "--threads", type=click.IntRange(1), help="Threads [all cores]. Never changes the result."
)

keeping = several(
    click.option("--threshold", type=Number(), help="Keep pairs with this score or more."),
    click.option(
        "--target-precision",
        type=Share(),
        metavar="P",
        help="Keep pairs down to this precision, which is estimated without gold.",
    ),
    click.option("--top-n", type=click.IntRange(0), metavar="N", help="Keep the N best pairs."),
    click.option("--ids", is_flag=True, help="Write ids instead of text (line numbers, if none)."),
    click.option("--bucc", is_flag=True, help="Write 'source id, tab, target id' and no score."),
)

estimating = several(
    click.option(
        "--decoys",
        metavar="FILE",
        help="Sentences to estimate precision with, in the target's language and domain, none of "
        "them a translation of a source [those of the model, or of the one that ships].",
    ),
    click.option(
        "--decoy-embeddings",
        metavar="FILE",
        help="Vectors of --decoys, one a line, for indexes of 'miner index --embeddings'.",
    ),
    click.option(
        "--estimate/--no-estimate",
        "estimating",
        default=True,
        show_default=True,
        help="Estimate precision, which searches up to 20,000 more targets. Scores are then "
        "probabilities on this corpus. With --rank margin only if an option asks for precision.",
    ),
    click.option(
        "--refit/--no-refit",
        default=True,
        show_default=True,
        help="Fit the verifier's function again to this corpus, without gold, before the estimate.",
    ),
    click.option("--report", "page", metavar="FILE", help="Write an HTML report."),
)

output = click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="File of the pairs [standard output]. .gz .bz2 .xz .zst compress; .jsonl has JSON "
    "objects, .parquet all columns.",
)

factory = click.option(
    "--index",
    "factory",
    default="flat",
    show_default=True,
    metavar="FACTORY",
    help="flat is exact; a FAISS factory string (IVF1024,PQ50x8) makes a compressed index, whose "
    "neighbours are scored again exactly.",
)


def warn_of_columns(paths: Iterable[str], format: str | None) -> None:
    """Warn of plain text whose first lines all have a tab: its format may be bucc or tsv."""
    from miner.text.corpus import Reader

    for path in paths:
        if format is not None or not os.path.isfile(path):
            continue
        reader = Reader(path, on_error="replace", block=PEEKED)
        block = next(iter(reader), None) if reader.format == "plain" else None
        if block is not None and all("\t" in sentence for sentence in block.sentences):
            click.echo(
                f"warning: {path}: every line has a tab, and is read as one sentence; for columns "
                "give --format bucc or --format tsv",
                err=True,
            )
