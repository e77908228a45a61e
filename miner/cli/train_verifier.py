"""``miner train-verifier``: the verification of a finished model, learned again."""

from __future__ import annotations

import importlib.util

import click

from miner.cli import guard, options
from miner.cli.progress_bars import Progress
from miner.errors import DependencyError
from miner.names import FORMATS
from miner.text.bitext_format import BitextFormat


@click.command(
    "train-verifier",
    epilog="""\b
Examples:
  # The text that the encoder was trained on; the same pairs are held out:
  miner train-verifier models/de-en --bitext de-en.tsv.xz -o models/de-en-2
  # Text of another domain, for the default model:
  miner train-verifier default --bitext 'medical/*-en/*.tsv' -o models/medical""",
)
@click.argument("model")
@click.option("--source", "sources", multiple=True, metavar="FILE", help="Source side; repeatable.")
@click.option(
    "--target", "targets", multiple=True, metavar="FILE", help="Target side, line by line."
)
@click.option(
    "--bitext",
    "bitexts",
    multiple=True,
    metavar="FILE",
    help="Both sides in one TSV, JSONL or Parquet file, or a pattern in quotes; repeatable. Names "
    "of folders or files tell the languages (de-en).",
)
@click.option("--scol", help="Source column of --bitext [1, or source of JSONL and Parquet].")
@click.option("--tcol", help="Target column of --bitext [2, or target of JSONL and Parquet].")
@options.header
@click.option("--format", type=click.Choice(FORMATS), help="Format of all files [by suffix].")
@options.on_error("Rows of the text")
@click.option(
    "--exclude",
    multiple=True,
    metavar="FILE",
    help="Sentences not to learn from, for example a test set; repeatable.",
)
@click.option("-o", "--output", required=True, metavar="DIR", help="The new model directory.")
@click.option(
    "--comparer/--no-comparer",
    default=True,
    help="Learn a comparer of tokens for the quality score.",
)
@click.option("--overwrite", is_flag=True, help="Replace a model that is in DIR already.")
def train_verifier(
    model: str,
    sources: tuple[str, ...],
    targets: tuple[str, ...],
    bitexts: tuple[str, ...],
    scol: str | None,
    tcol: str | None,
    header: bool,
    format: str | None,
    on_error: str,
    exclude: tuple[str, ...],
    output: str,
    comparer: bool,
    overwrite: bool,
) -> None:
    """Learn verifier, comparer and quality score of MODEL again, from parallel text.

    MODEL is a model directory, or 'default'. The new directory has the same vectors, so that
    indexes stay valid, and the same lexicon and decoys. A model trained with --no-verifier gets
    all of them. A tenth of the pairs is held out, at most as many as in the encoder's training.
    """
    from miner.cli.train import matching

    if len(sources) != len(targets):
        raise click.UsageError(f"{len(sources)} --source but {len(targets)} --target")
    if not sources and not bitexts:
        raise click.UsageError("nothing to learn from: give --source and --target, or --bitext")
    bitexts = tuple(path for pattern in bitexts for path in matching(pattern))
    guard.check([*sources, *targets, *bitexts, *exclude], {"-o": output})
    guard.check_directory("-o", output, "a model", overwrite)
    layout = BitextFormat(scol, tcol, header, format, on_error)
    if not all(importlib.util.find_spec(library) for library in ("torch", "sklearn")):
        raise DependencyError(
            'training needs torch and scikit-learn; run: pip install "bitext-miner[train]"'
        )
    from miner_train.read import TextPair
    from miner_train.relearn_verification import relearn_verification

    texts = [
        TextPair(source, target, layout) for source, target in zip(sources, targets, strict=True)
    ]
    texts += [TextPair(bitext, None, layout) for bitext in bitexts]
    with Progress("pairs") as progress:
        learned = relearn_verification(
            model, texts, output, exclude=exclude, comparer=comparer, report=progress.say
        )
    click.echo(f"{output}: {learned.describe()}; fingerprint {learned.fingerprint}", err=True)
