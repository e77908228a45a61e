"""Options that several commands share, and what they turn into."""

import functools
import math
from collections.abc import Callable
from typing import Any

import click

from miner.errors import UnreadableError
from miner.machine import parse_size
from miner.names import ENGINES, FORMATS, MARGINS, ON_ERROR, RETRIEVALS, SIDES, canonical

Decorator = Callable[[Any], Any]


class Size(click.ParamType):
    """A number of bytes such as 512M or 8G."""

    name = "size"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        try:
            return parse_size(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a size; write for example 512M or 8G", param, ctx)


class Number(click.ParamType):
    """A finite real number."""

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
    """A real number between 0 and 1, neither of the two."""

    name = "share"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        number = super().convert(value, param, ctx)
        if not 0 < number < 1:
            self.fail(f"{value} is not between 0 and 1, such as 0.95", param, ctx)
        return number


class Sentence(click.ParamType):
    """Text; an argument in another encoding than UTF-8 is none."""

    name = "sentence"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            self.fail(f"{value!r} is not UTF-8", param, ctx)
        return value


class Name(click.ParamType):
    """One of some names, their short forms included."""

    name = "name"

    def __init__(self, choices: tuple[str, ...]):
        self.choices = choices

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        try:
            return canonical(value, self.choices)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def several(*options: Decorator) -> Decorator:
    """Options as one decorator, in the order given."""

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
    help="Model directory; 'default' is the one that ships (de, fr, es, ru, cs and en).",
)

side = click.option(
    "--side",
    type=click.Choice(SIDES),
    help="Which column of its training text this is, for a model with separate vocabularies.",
)

header = click.option("--header", is_flag=True, help="The first line of a TSV names its columns.")


def on_error(what: str = "Lines", skip: str = "leave out (and count)") -> Decorator:
    """What to do about text that cannot be read; where it stops the work, the error says so."""
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
        help="Text format; default by suffix (.tsv .jsonl .parquet), else plain. "
        "bucc is 'id, tab, sentence'.",
    ),
    on_error(),
    click.option(
        "--column",
        metavar="N|NAME",
        help="Where the sentence is: for tsv a number from 1 [1], or a name with --header; "
        "for jsonl and parquet a name [text].",
    ),
    click.option("--id-column", metavar="N|NAME", help="Likewise for an id of each sentence."),
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
        help="The score: calibrated probability of being a translation, by verification of every "
        "candidate, or the margin alone [probability where the model carries a verifier].",
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
        help="A sentence that occurs several times: report its first occurrence, or pair "
        "occurrences in order (for a gold standard that counts each).",
    ),
)

machine = several(
    click.option(
        "--memory",
        type=Size(),
        help="What the search may allocate, e.g. 8G [half of what is free].",
    ),
    click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Where to search; cuda without a GPU is an error.",
    ),
    click.option(
        "--engine",
        type=click.Choice(ENGINES),
        default="fused",
        show_default=True,
        help="fused finds both directions in one pass; faiss searches twice. Compressed indexes "
        "always take faiss, and so does fused on a GPU; triton is one pass on a GPU, untried yet.",
    ),
    click.option(
        "--exact",
        is_flag=True,
        help="Products in float32, and what rounding may have changed is searched again: the lists "
        "are then those of the definition, to the last place. Flat indexes only.",
    ),
)

device = click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where to add up vectors; cuda without a GPU is an error. Never changes the result, but "
    "for the last bits of recurrent encoders.",
)

threads = click.option(
    "--threads", type=click.IntRange(1), help="Threads [all cores]; never changes the result."
)

keeping = several(
    click.option("--threshold", type=Number(), help="Keep pairs with this score or more."),
    click.option(
        "--target-precision",
        type=Share(),
        metavar="P",
        help="Keep as many pairs as this share of which are right, by estimate without gold.",
    ),
    click.option("--top-n", type=click.IntRange(0), help="Keep this many of the best pairs."),
    click.option("--ids", is_flag=True, help="Write ids instead of text (line numbers, if none)."),
    click.option("--bucc", is_flag=True, help="Write 'source id, tab, target id' and no score."),
)

estimating = several(
    click.option(
        "--decoys",
        metavar="FILE",
        help="Sentences to estimate precision with: the target's language and domain, none a "
        "translation of a source [those that came with the model].",
    ),
    click.option(
        "--estimate/--no-estimate",
        "estimating",
        default=True,
        show_default=True,
        help="Estimate precision: a search for some 20,000 more targets, and a look at them.",
    ),
    click.option("--report", "page", metavar="FILE", help="Write an HTML page to look at."),
)

output = click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help="Where the pairs go [standard output]; .gz .bz2 .xz .zst compress, .parquet has all "
    "columns.",
)

factory = click.option(
    "--index",
    "factory",
    default="flat",
    show_default=True,
    metavar="FACTORY",
    help="flat is exact; a FAISS factory string such as IVF1024,PQ50x8 makes a compressed index, "
    "whose answers are scored again exactly.",
)
