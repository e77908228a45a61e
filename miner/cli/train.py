"""``miner train``: bitext to a model directory."""

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click
from tqdm import tqdm

from miner.cli import options
from miner.cli.options import Number
from miner.cli.progress_bars import announce
from miner.encoder.architecture import ENCODERS
from miner.encoder.model import load
from miner.errors import DependencyError
from miner.names import FORMATS
from miner.text.bitext_format import BitextFormat

# Recipes and the values of fields are spelt here, not imported: help does not import train.
RECIPES = ("fast", "p19", "p18", "p17", "s18", "random")
CHOICES = {
    "objective": ("softmax", "margin", "contrastive"),
    "combine": ("add", "concat"),
    "segmentation": ("none", "morfessor"),
    "vocabularies": ("shared", "separate"),
    "directions": ("concat", "average"),
    "pooling": ("mean", "max"),
    "distribution": ("uniform", "normal"),
    "negatives": ("max", "rand", "mix"),
    "negatives_from": ("opposite", "either"),
    "dtype": ("float16", "int8"),
}


def choice(field: str, help: str) -> Callable[[Any], Any]:
    """An option for a field of the configuration that is one of some words."""
    name = field.replace("_", "-")
    return click.option(f"--{name}", type=click.Choice(CHOICES[field]), help=help)


def list_all(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Explain encoders, objectives and recipes, and end."""
    if wanted and not context.resilient_parsing:
        click.echo(explained())
        context.exit()


def explained() -> str:
    """All that can be trained, for people to read."""
    from train.config import RECIPES as recipes
    from train.config import explain

    assert tuple(recipes) == RECIPES
    return explain()


@click.command(
    epilog="""\b
Examples:
  miner train --source train.de --target train.en -o models/de-en
  miner train --bitext de-en.tsv.xz -o models/de-en
  miner train --bitext de-en.tsv.xz --bitext fr-en.tsv.xz --pieces 50000 -o models/de-fr-en
  miner train --bitext de-en.tsv.xz --recipe p19 -o models/de-en-p19
  miner train --bitext de-en.tsv.xz --epochs 10 --dimension 512 --batch 2048 -o models/big
  miner train --bitext de-en.tsv.xz --encoder lstm-sp --scramble 0.3 -o models/lstm
  miner train --bitext paraphrases.tsv --recipe p18 -o models/english
  miner train --bitext ranked.tsv --recipe s18 --keep 0.8 -o models/subtitles
  miner train --bitext de-en.tsv.xz --exclude tests/sentences.txt -o models/unseen
  miner train --bitext msrpc.tsv --recipe s18 --label-col 1 --scol 2 --tcol 3 -o models/labelled
  miner train --list"""
)
@click.option("--source", "sources", multiple=True, metavar="FILE", help="Source side; repeatable.")
@click.option(
    "--target", "targets", multiple=True, metavar="FILE", help="Target side, line by line."
)
@click.option(
    "--bitext",
    "bitexts",
    multiple=True,
    metavar="FILE",
    help="Both sides in one TSV, JSONL or Parquet file; repeatable, any language pairs.",
)
@click.option("--scol", help="Source column of --bitext [1, or source of JSONL and Parquet].")
@click.option("--tcol", help="Target column of --bitext [2, or target of JSONL and Parquet].")
@click.option(
    "--label-col",
    metavar="N|NAME",
    help="Column of --bitext with 1 for the same, 0 for not. The contrastive objective learns from "
    "both, and draws no negatives where it has some; the others leave out what is 0.",
)
@click.option(
    "--score-col",
    metavar="N|NAME",
    help="Column of --bitext that ranks pairs, best highest, for --keep.",
)
@click.option("--keep", type=float, help="Share of each bitext to keep: its best, or its first.")
@click.option("--sample", type=int, help="Pairs to draw from all; 0: take all.")
@options.header
@click.option("--format", type=click.Choice(FORMATS), help="Of all files; default by suffix.")
@options.on_error("Rows of the text")
@click.option(
    "--exclude",
    multiple=True,
    metavar="FILE",
    help="Sentences not to learn from, as of test sets; pairs with one of them, whatever its case "
    "and punctuation, are left out. Every column of a TSV counts, of JSONL and Parquet 'text'; "
    "repeatable.",
)
@click.option("-o", "--output", required=True, metavar="DIR", help="The model directory.")
@click.option(
    "--recipe",
    type=click.Choice(RECIPES),
    help="Starting point, which the options below override: fast [default], or one of the "
    "papers; see --list.",
)
@click.option(
    "--like",
    metavar="DIR",
    help="Start from the configuration of this model instead; files and columns are not in it.",
)
@click.option(
    "--encoder",
    metavar="NAME",
    help=f"One of {' '.join(ENCODERS)}, or several with + between them, such as word+trigram.",
)
@choice("combine", "Add the vectors of several encoders, or put one after the other.")
@click.option("--pieces", type=int, help="Size of the SentencePiece vocabulary.")
@click.option("--coverage", type=float, help="Share of characters that the pieces cover.")
@click.option("--vocabulary-sample", type=int, help="Sentences to learn the pieces from.")
@click.option("--types", type=int, help="Words, or trigrams: how many of the most frequent.")
@choice("segmentation", "Words: cut them into morphs by Morfessor.")
@click.option("--fold-case/--keep-case", default=None, help="Treat A and a as one letter.")
@choice("vocabularies", "Whether what is spelt alike in both columns has one embedding.")
@click.option("--dimension", type=int, help="Length of an embedding, and of an average of them.")
@click.option("--hidden", type=int, help="Recurrent: length of a state; 0: by the dimension.")
@choice("directions", "blstm: both states one after the other, or their average.")
@choice("pooling", "Recurrent: mean of the states, or their maximum.")
@click.option("--initial", type=float, help="Embeddings start between minus this and this.")
@choice("distribution", "Embeddings start uniform, or normal with --initial for deviation.")
@click.option(
    "--embeddings",
    metavar="FILE",
    help="Words start from these vectors: text of word2vec, GloVe or fastText.",
)
@choice("objective", "What is minimised.")
@click.option("--scale", type=float, help="Softmax: what cosines are multiplied by.")
@click.option("--margin", type=float, help="What the true pair must win by.")
@click.option("--lambda-c", type=float, help="Weight of the squares of a recurrent network.")
@click.option("--lambda-w", type=float, help="Weight of how far embeddings are from their start.")
@choice("negatives", "The hardest of the pool, random ones, or a mix of both.")
@choice("negatives_from", "From the opposite column, or from both (one language in both).")
@click.option("--batch", type=int, help="Pairs of one step.")
@click.option("--megabatch", type=int, help="Batches pooled to choose negatives from.")
@click.option("--anneal", type=int, help="Steps after which the pool grows by one; 0: full.")
@click.option("--epochs", type=int, help="Times to see every pair; 0: leave it random.")
@click.option("--rate", type=float, help="Learning rate of Adam.")
@click.option("--final-rate", type=float, help="Share of the rate left at the end (linear).")
@click.option("--dropout", type=float, help="Share of tokens left out while training.")
@click.option("--variational", type=float, help="Recurrent: share of inputs and states dropped.")
@click.option("--scramble", type=float, help="Recurrent: share of sentences in random order.")
@click.option("--sampling", type=float, help="Pieces: cut anew each epoch, smoothed so; 0: not.")
@click.option("--heldout", type=int, help="Pairs kept for the held-out mining task.")
@click.option("--seed", type=int, help="Decides everything random.")
@choice("dtype", "Type of the stored embeddings.")
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where recurrent encoders are trained; cuda without a GPU is an error.",
)
@click.option(
    "--threshold",
    type=Number(),
    help="What 'miner mine' is to keep by default, if you have tuned it on text like yours "
    "[the best on the held-out task].",
)
@click.option(
    "--verifier/--no-verifier",
    default=True,
    help="Learn to take a second look at candidates, which takes a minute or a few.",
)
@click.option("--restart", is_flag=True, help="Forget an interrupted training of this DIR.")
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=list_all,
    help="Explain encoders, objectives and recipes, with all their settings.",
)
def train(
    sources: tuple[str, ...],
    targets: tuple[str, ...],
    bitexts: tuple[str, ...],
    scol: str | None,
    tcol: str | None,
    label_col: str | None,
    score_col: str | None,
    header: bool,
    format: str | None,
    on_error: str,
    output: str,
    recipe: str | None,
    like: str | None,
    exclude: tuple[str, ...],
    embeddings: str | None,
    device: str,
    verifier: bool,
    threshold: float | None,
    restart: bool,
    **overrides: Any,
) -> None:
    """Train an encoder on parallel text, or on paraphrases.

    Several bitexts, of one language pair or many, make one model with one vocabulary. After every
    epoch the model mines held-out pairs whose partners are mostly hidden, and the best epoch is
    kept. A killed training goes on when its command is repeated, to the same result.
    """
    if len(sources) != len(targets):
        raise click.UsageError(f"{len(sources)} --source but {len(targets)} --target")
    if (label_col or score_col) and not bitexts:
        raise click.UsageError("--label-col and --score-col are columns of --bitext")
    if recipe and like:
        raise click.UsageError("--recipe and --like are two starting points; give one")
    if not sources and not bitexts:
        raise click.UsageError("nothing to train on: give --source and --target, or --bitext")
    layout = BitextFormat(scol, tcol, header, format, on_error)
    for bitext in bitexts:
        source, target = map(str, layout.columns(bitext))
        columns = [column for column in (source, target, label_col, score_col) if column]
        if len(set(columns)) < len(columns):
            raise click.UsageError(
                f"two of --scol {source}, --tcol {target}, --label-col and --score-col are one "
                "column"
            )
    from train.config import RECIPES as recipes
    from train.config import TrainConfig

    changed = {name: value for name, value in overrides.items() if value is not None}
    start, earlier = recipes[recipe or "fast"], {}
    if like is not None:
        earlier = dict(load(like).training)
        start = TrainConfig.from_dict(earlier.get("config", {}))
    try:
        config = dataclasses.replace(start, **changed)
    except ValueError as error:
        raise click.UsageError(f"--{str(error).replace('_', '-')}") from None
    if idle := without_effect(config, changed):
        raise click.UsageError(idle)
    if score_col and config.keep == 1:
        raise click.UsageError("--score-col says which pairs --keep is to keep, which is missing")
    given = {
        "labels": label_col,
        "scores": score_col,
        "embeddings": embeddings,
        "excluded": exclude,
    }
    for what, value in given.items():
        if earlier.get(what) and not value:
            name = "excluded sentences" if what == "excluded" else what
            click.echo(f"warning: {like} was trained with {name}, which were not given", err=True)
    try:
        import sklearn  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        raise DependencyError(
            'training needs torch and scikit-learn; run: pip install "bitext-miner[train]"'
        ) from None
    from train.pipeline import train_model
    from train.read import TextPair

    texts = [
        TextPair(source, target, layout) for source, target in zip(sources, targets, strict=True)
    ]
    texts += [TextPair(bitext, None, layout, label_col, score_col) for bitext in bitexts]
    with Shown() as shown:
        model = train_model(
            texts,
            config,
            output,
            exclude=exclude,
            embeddings=embeddings,
            threshold=threshold,
            verifier=verifier,
            restart=restart,
            device=device,
            report=shown,
        )
    click.echo(f"{output}: {model.describe()}; fingerprint {model.fingerprint}", err=True)


def without_effect(config: Any, changed: Mapping[str, Any]) -> str | None:
    """What is wrong with an option that was given and would do nothing, if any is.

    A recipe may well have such settings, for whoever changes its encoder or objective.
    """
    pieces = "piece" in config.architecture.units
    needs = {
        "pieces": (pieces, "an encoder of pieces"),
        "coverage": (pieces, "an encoder of pieces"),
        "vocabulary_sample": (pieces, "an encoder of pieces"),
        "types": (config.architecture.units != ("piece",), "an encoder of words or trigrams"),
        "scale": (config.objective == "softmax", "the softmax objective"),
        "anneal": (config.megabatch > 1, "mega-batches (--megabatch)"),
    }
    for name, (there, what) in needs.items():
        if name in changed and not there:
            return f"--{name.replace('_', '-')} is for {what}"
    return None


class Shown:
    """Prints what a training reports: lines that stay, and a bar with pairs/s and ETA."""

    def __init__(self, unit: str = "pairs") -> None:
        self.unit = unit
        self.bar: tqdm | None = None

    def __enter__(self) -> "Shown":
        announce()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def __call__(self, event: Any) -> None:
        if isinstance(event, str):
            tqdm.write(event, file=sys.stderr)
            return
        if self.bar is None:
            self.bar = tqdm(
                total=event.total, unit=f" {self.unit}", initial=event.done, disable=None
            )
        self.bar.set_description(f"epoch {event.epoch}, loss {event.loss:.3f}", refresh=False)
        self.bar.update(event.done - self.bar.n)
