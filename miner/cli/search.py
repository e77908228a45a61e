"""``miner search``: two index directories to pairs."""

from dataclasses import replace
from typing import Any

import click

from miner.cli import guard, mined, options, sharding
from miner.cli.mined import Output, read_keep
from miner.cli.options import say
from miner.cli.settings_options import Command
from miner.encoder.loading import Loading
from miner.knn.settings import SearchSettings
from miner.scoring.without import Without
from miner.tasks.workers import Workers


@click.command(cls=Command)
@click.argument("source")
@click.argument("target")
@click.argument("file", required=False, metavar="[FILE]")
@mined.keeping
@click.option(
    "--model",
    metavar="DIR",
    help="Where the model is now that built the indexes [where it was].",
)
@options.loading()
@options.languages()
@mined.searching
@sharding.work()
@sharding.options
@mined.search("threads")
@mined.output
def search(
    source: str,
    target: str,
    model: str | None,
    loading: Loading,
    languages: tuple[str | None, str | None],
    settings: SearchSettings,
    keep: dict[str, Any],
    without: Without,
    output: Output,
    work: str | None,
    workers: Workers,
    file: str | None,
) -> None:
    """Mine translation pairs from the indexes SOURCE and TARGET.

    Pairs are written best first; -o FILE FILE has a file for each side. Every candidate is
    verified, and its score is the calibrated probability of being a translation; for indexes of
    other vectors, and with --rank margin, it is the margin. After the search the precision at every
    threshold is estimated with decoys, sentences that cannot be translations. Pairs are kept as
    'miner mine' does, and a table shows other thresholds.

    Examples:
      miner search work/de work/en --target-precision 0.95 --report report.html -o pairs.tsv
      miner search work/de work/en --threshold 0.1 -o pairs.parquet
      miner search work/de work/en --threshold 1.15 -k 4 --margin ratio --retrieval max -o pairs.tsv
      miner search work/de work/en --top-n 100000 --ids -o scored-ids.tsv
      miner search work/de work/en --target-precision 0.9 --decoys other.en --bucc > mined.tsv
      miner search work/de work/en --work work/tasks -o pairs.tsv
    """
    from miner.cli.progress_bars import Progress
    from miner.index.index import Index
    from miner.mining.mine import load_encoder, mine

    settings = replace(settings, languages=languages)
    wanted = read_keep(keep, output)
    output = output.with_target(file)
    files = keep.get("decoys"), keep.get("decoy_vectors"), keep.get("labels")
    guard.check([source, target, model, *files, *without.files], output.places)
    output.check(work, without)
    indexes = Index.open(source), Index.open(target)
    encoder = None
    if model is not None and settings.rank != "margin":
        encoder = load_encoder(model, settings, loading)
    operations = 2.0 * indexes[0].distinct * indexes[1].distinct * indexes[0].dimension
    with Progress("sentences", loops="exact", operations=operations) as report:
        mine(
            *indexes,
            keep=wanted,
            settings=settings,
            encoder=encoder,
            without=without,
            work=work,
            beside=output.beside,
            workers=workers,
            report=report,
            note=say,
            then=lambda mined: output.write(mined, report),
        )
