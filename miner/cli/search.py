"""``miner search``: two index directories to pairs."""

from typing import Any

import click

from miner.cli import mining_options, options, sharding
from miner.cli.mining_options import Output
from miner.cli.options import say
from miner.cli.settings_options import Command, arg, opt
from miner.encoder.loading import USUAL, Loading
from miner.knn.settings import SearchSettings
from miner.scoring.decontaminate_settings import Without
from miner.tasks.workers import Workers


@click.command(cls=Command)
def search(
    source: str = arg(),
    target: str = arg(),
    file: str | None = arg(required=False, metavar="[FILE]"),
    model: str | None = opt(
        "Present location of the model that built the indexes [its former location].", metavar="DIR"
    ),
    loading: Loading = options.loading(),
    second: str | None = options.second,
    second_pairs: int | None = options.second_pairs,
    keep: dict[str, Any] = mining_options.keeping,
    without: Without = options.without(),
    settings: SearchSettings = options.search(),
    work: str | None = sharding.work(),
    workers: Workers = sharding.options,
    output: Output = mining_options.output,
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
    from miner.mining.means import load_encoder
    from miner.mining.mine import mine

    inputs = source, target, model
    keep_settings, output = mining_options.checked(keep, output, file, work, without, inputs)
    indexes = Index.open(source), Index.open(target)
    encoder = None
    if model is not None and settings.rank != "margin":
        encoder = load_encoder(model, settings, USUAL if second else loading)
    second_encoder = None if second is None else load_encoder(second, settings, loading)
    with Progress("sentences") as report:
        mine(
            *indexes,
            keep=keep_settings,
            settings=settings,
            encoder=encoder,
            second=second_encoder,
            second_pairs=second_pairs,
            without=without,
            work=work,
            beside=output.beside,
            workers=workers,
            report=report,
            note=say,
            then=lambda mined: output.write(mined, report),
        )
