"""``miner mine``: two files of text to pairs, in one command."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from miner.cli import options
from miner.cli.index import describe
from miner.cli.progress_bars import Progress
from miner.cli.search import Wishes, mine_indexes, say
from miner.encoder.encoder import Encoder
from miner.index.index import Index
from miner.knn.search_checkpoint import Checkpoint
from miner.knn.settings import SearchSettings
from miner.names import SIDES
from miner.scoring.verifier import Verifier

# Estimated precision that is kept where nobody said how much to keep.
PRECISION = 0.95


@click.command(
    epilog="""\b
Examples:
  miner mine news.de.zst news.en.gz -o pairs.tsv.gz
  miner mine news.de news.en --model models/de-en --target-precision 0.9 -o pairs.parquet
  miner mine news.de news.en --top-n 1000 --work work -o pairs.tsv
  zcat crawl.de.gz | miner mine - crawl.en > pairs.tsv"""
)
@click.argument("source")
@click.argument("target")
@options.model
@options.keeping
@options.estimating
@click.option(
    "--work",
    metavar="DIR",
    help="Keep the two indexes in DIR/source and DIR/target, for 'miner search', and the neighbour "
    "lists in DIR/search.h5: a search that was stopped goes on from there.",
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
    work: str | None,
    factory: str,
    threads: int | None,
    format: str | None,
    on_error: str,
    column: str | None,
    id_column: str | None,
    header: bool,
    **settings: Any,
) -> None:
    """Mine translation pairs from the text files SOURCE and TARGET.

    Does 'miner index' twice and 'miner search' once. Unless told how much to keep, it keeps the
    pairs whose precision is 0.95 by estimate; with --rank margin and the usual margin, retrieval
    and k, those of the model's own threshold, which is a start and no promise. --threshold 0 keeps
    all.
    """
    wishes = Wishes.of(settings)
    if source == target == "-":
        raise click.UsageError("only one of SOURCE and TARGET can be standard input")
    options.spare((source, target), wishes.output, wishes.page)
    # A GPU asked for is one to search on; encoding takes it if torch is there to do so.
    device = "cpu" if settings["device"] == "cpu" else "auto"
    encoder = Encoder.load(model, threads, device, side="source")
    encoders = [encoder, encoder]
    if encoder.model.architecture.separate:
        encoders[1] = Encoder(encoder.model, threads, device, side="target")
    settings["k"] = settings.pop("neighbors")
    searching = SearchSettings(threads=threads, **settings)
    rank = searching.rank
    verifier = None
    if rank == "probability" or (rank is None and encoder.model.verifier is not None):
        verifier = Verifier(encoder)
    if work is not None:
        Path(work).mkdir(parents=True, exist_ok=True)  # where the pairs may go, too
    wishes.check(verifier, *[f"{model} carries no verifier"] * (rank is None))
    if not wishes.chosen:
        wishes = by_default(wishes, encoder, verifier, searching)
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
        for name, corpus, reader in zip(SIDES, (source, target), encoders, strict=True):
            with Progress() as report:
                built = Index.build(
                    reader, corpus, place / name, index=factory, report=report, **reading
                )
            click.echo(describe(built, corpus), err=True)
            indexes.append(built)
        first, second = indexes
        checkpoint = None
        if work is not None:
            checkpoint = Checkpoint(place / "search.h5", keep=True, note=say)
        mine_indexes(first, second, verifier, wishes, checkpoint, searching)


def by_default(
    wishes: Wishes, encoder: Encoder, verifier: Verifier | None, settings: SearchSettings
) -> Wishes:
    """How much to keep where nobody said."""
    if verifier is not None:
        return replace(wishes, default_precision=PRECISION)
    # The model's threshold was found by these settings, and means nothing for others.
    usual = (settings.margin, settings.retrieval) == ("ratio", "max")
    if encoder.model.threshold is None or not usual or settings.neighbors != 4:
        return wishes
    threshold = encoder.model.threshold
    click.echo(f"keeping scores of {threshold:.4f} or more: the model's default", err=True)
    return replace(wishes, threshold=threshold)
