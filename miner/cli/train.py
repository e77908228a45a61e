"""``miner train``: bitext to a model directory."""

import dataclasses
import sys
from typing import Any

import click
from tqdm import tqdm

from miner.cli.options import Number
from miner.corpus import FORMATS, ON_ERROR
from miner.errors import DependencyError

# Recipes and their fields are spelt here, not imported: help must not wait for torch.
RECIPES = ("fast", "p19")
OBJECTIVES = ("softmax", "margin")


@click.command(
    epilog="""\b
Examples:
  miner train --source train.de --target train.en -o models/de-en
  miner train --bitext de-en.tsv.xz -o models/de-en
  miner train --bitext de-en.tsv.xz --bitext fr-en.tsv.xz --pieces 50000 -o models/de-fr-en
  miner train --bitext de-en.tsv.xz --recipe p19 -o models/de-en-p19
  miner train --bitext de-en.tsv.xz --epochs 10 --dimension 512 --batch 2048 -o models/big"""
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
@click.option("--scol", default="1", show_default=True, help="Source column of --bitext.")
@click.option("--tcol", default="2", show_default=True, help="Target column of --bitext.")
@click.option("--header", is_flag=True, help="The first line of a TSV names its columns.")
@click.option("--format", type=click.Choice(FORMATS), help="Of all files; default by suffix.")
@click.option(
    "--on-error",
    type=click.Choice(ON_ERROR),
    default="fail",
    show_default=True,
    help="Rows that are not UTF-8: stop, put U+FFFD, or leave out (and count).",
)
@click.option("-o", "--output", required=True, metavar="DIR", help="The model directory.")
@click.option(
    "--recipe",
    type=click.Choice(RECIPES),
    default="fast",
    show_default=True,
    help="Starting point, which the options below override: fast is in-batch softmax with "
    "additive margin, p19 the annealed mega-batches of Wieting et al. 2019.",
)
@click.option("--pieces", type=int, help="Size of the SentencePiece vocabulary.")
@click.option("--coverage", type=float, help="Share of characters that the vocabulary covers.")
@click.option("--vocabulary-sample", type=int, help="Sentences to learn the vocabulary from.")
@click.option("--fold-case/--keep-case", default=None, help="Treat A and a as one letter.")
@click.option("--dimension", type=int, help="Length of the vectors.")
@click.option("--objective", type=click.Choice(OBJECTIVES), help="What is minimised.")
@click.option("--scale", type=float, help="Softmax: what cosines are multiplied by.")
@click.option("--margin", type=float, help="What the true pair must win by.")
@click.option("--batch", type=int, help="Pairs of one step.")
@click.option("--megabatch", type=int, help="Margin: batches pooled to choose negatives from.")
@click.option(
    "--anneal", type=int, help="Margin: steps after which the pool grows by one; 0: full."
)
@click.option("--initial", type=float, help="Embeddings start between minus this and this.")
@click.option("--epochs", type=int, help="Times to see every pair.")
@click.option("--rate", type=float, help="Learning rate of Adam.")
@click.option("--final-rate", type=float, help="Share of the rate left at the end (linear).")
@click.option("--dropout", type=float, help="Share of pieces left out of a mean while training.")
@click.option("--heldout", type=int, help="Pairs kept for the held-out mining task.")
@click.option("--seed", type=int, help="Decides everything random.")
@click.option("--dtype", type=click.Choice(["float16", "int8"]), help="Stored embeddings.")
@click.option(
    "--threshold",
    type=Number(),
    help="What 'miner mine' is to keep by default, if you have tuned it on text like yours "
    "[the best on the held-out task].",
)
@click.option("--restart", is_flag=True, help="Forget an interrupted training of this DIR.")
def train(
    sources: tuple[str, ...],
    targets: tuple[str, ...],
    bitexts: tuple[str, ...],
    scol: str,
    tcol: str,
    header: bool,
    format: str | None,
    on_error: str,
    output: str,
    recipe: str,
    threshold: float | None,
    restart: bool,
    **overrides: Any,
) -> None:
    """Train an encoder on parallel text.

    Several bitexts, of one language pair or many, make one model with one vocabulary. After every
    epoch the model mines held-out pairs whose partners are mostly hidden, and the best epoch is
    kept. A killed training goes on when its command is repeated, to the same result.
    """
    if len(sources) != len(targets):
        raise click.UsageError(f"{len(sources)} --source but {len(targets)} --target")
    if not sources and not bitexts:
        raise click.UsageError("nothing to train on: give --source and --target, or --bitext")
    try:
        import sklearn  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        raise DependencyError(
            'training needs torch and scikit-learn; run: pip install "bitext-miner[train]"'
        ) from None
    from train.config import RECIPES as recipes
    from train.run import TextPair, train_model

    try:
        changed = {name: value for name, value in overrides.items() if value is not None}
        config = dataclasses.replace(recipes[recipe], **changed)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    texts = [
        TextPair(source, target, header=header, format=format)
        for source, target in zip(sources, targets, strict=True)
    ]
    texts += [TextPair(bitext, None, scol, tcol, header, format) for bitext in bitexts]
    with Shown() as shown:
        model = train_model(
            texts,
            config,
            output,
            on_error=on_error,
            threshold=threshold,
            restart=restart,
            report=shown,
        )
    click.echo(
        f"{output}: {len(model.weights)} pieces, {model.dimension} dimensions, "
        f"{model.weights.dtype}; fingerprint {model.fingerprint}",
        err=True,
    )


class Shown:
    """Prints what a training reports: lines that stay, and a bar with pairs/s and ETA."""

    def __init__(self) -> None:
        self.bar: tqdm | None = None

    def __enter__(self) -> "Shown":
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def __call__(self, event: Any) -> None:
        if isinstance(event, str):
            tqdm.write(event, file=sys.stderr)
            return
        if self.bar is None:
            self.bar = tqdm(total=event.total, unit=" pairs", initial=event.done, disable=None)
        self.bar.set_description(f"epoch {event.epoch}, loss {event.loss:.3f}", refresh=False)
        self.bar.update(event.done - self.bar.n)
