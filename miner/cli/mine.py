"""``miner mine``: two files of text to pairs, in one command."""

import tempfile
from pathlib import Path
from typing import Any

import click

from miner.cli import options
from miner.cli.index import describe
from miner.cli.search import finish, run
from miner.encoder import Encoder
from miner.index import Index


@click.command(
    epilog="""\b
Examples:
  miner mine news.de.zst news.en.gz -o pairs.tsv.gz
  miner mine news.de news.en --model models/de-en --threshold 1.2 -o pairs.parquet
  miner mine news.de news.en --top-n 1000 --work work -o pairs.tsv
  zcat crawl.de.gz | miner mine - crawl.en > pairs.tsv"""
)
@click.argument("source")
@click.argument("target")
@options.model
@options.keeping
@click.option(
    "--work",
    metavar="DIR",
    help="Keep the two indexes in DIR/source and DIR/target, for 'miner search'.",
)
@options.factory
@options.mining
@options.machine
@options.threads
@options.reading
@options.output
def mine(
    source: str,
    target: str,
    model: str,
    threshold: float | None,
    top_n: int | None,
    ids: bool,
    bucc: bool,
    work: str | None,
    factory: str,
    threads: int | None,
    format: str | None,
    on_error: str,
    column: str | None,
    id_column: str | None,
    header: bool,
    output: str,
    **settings: Any,
) -> None:
    """Mine translation pairs from the text files SOURCE and TARGET.

    Does 'miner index' twice and 'miner search' once. Without --threshold or --top-n, and with the
    usual margin, retrieval and k, scores are cut at the model's own default, the best on a mining
    task of its training: a start, not a promise, since no threshold suits every corpus.
    --threshold 0 keeps all.
    """
    if bucc and output.endswith(".parquet"):
        raise click.UsageError("--bucc writes text; Parquet has all columns")
    if source == target == "-":
        raise click.UsageError("only one of SOURCE and TARGET can be standard input")
    for corpus in (source, target):
        if Path(corpus).is_file() and Path(output).exists() and Path(corpus).samefile(output):
            raise click.UsageError(f"-o {output} is the corpus {corpus}, which it would replace")
    encoder = Encoder.load(model, threads)
    # The model's threshold was found by these settings, and means nothing for others.
    usual = (settings["margin"], settings["retrieval"], settings["neighbors"])
    if threshold is None and top_n is None and usual == ("ratio", "max", 4):
        threshold = encoder.model.threshold
        if threshold is not None:
            click.echo(f"keeping scores of {threshold:.4f} or more: the model's default", err=True)
    reading = {
        "format": format,
        "on_error": on_error,
        "column": column,
        "id_column": id_column,
        "header": header,
    }
    with tempfile.TemporaryDirectory(prefix="miner-") as temporary:
        place = Path(work or temporary)
        indexes = []
        for name, corpus in (("source", source), ("target", target)):
            with options.staged_bar() as report:
                built = Index.build(
                    encoder, corpus, place / name, index=factory, report=report, **reading
                )
            click.echo(describe(built, corpus), err=True)
            indexes.append(built)
        pairs = run(*indexes, threads=threads, **settings)
        finish(pairs, threshold, top_n, ids, bucc, output)
