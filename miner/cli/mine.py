"""``miner mine``: mine pairs from two files of text, in one command."""

from typing import Any

import click

from miner.cli import mining_options, options, sharding
from miner.cli.mining_options import Output
from miner.cli.options import say
from miner.cli.settings_options import Command, arg
from miner.cli.sharding import expanded
from miner.encoder.loading import USUAL, Loading
from miner.knn.settings import SearchSettings
from miner.scoring.decontaminate_settings import Without
from miner.tasks.workers import Workers


@click.command(cls=Command)
@options.reading
def mine(
    source: str = arg(),
    target: str = arg(),
    file: str | None = arg(required=False, metavar="[FILE]"),
    model: str = options.model,
    loading: Loading = options.loading(),
    second: str | None = options.second,
    second_pairs: int | None = options.second_pairs,
    keep: dict[str, Any] = mining_options.keeping,
    without: Without = options.without(),
    carry: tuple[str, ...] = options.carry,
    work: str | None = sharding.work("the two indexes in DIR/source and DIR/target, "),
    workers: Workers = sharding.options,
    factory: str = options.factory,
    settings: SearchSettings = options.search(),
    output: Output = mining_options.output,
    **reading: Any,
) -> None:
    """Mine translation pairs from the text files SOURCE and TARGET.

    Each is a file, a pattern such as 'de/*.zst', or - for standard input. -o DIR/ writes compressed
    parts and a manifest, -o FILE FILE the texts of each side.

    Does 'miner index' twice and 'miner search' once. By default it keeps the pairs with an
    estimated precision of 0.95. With --rank margin and the default margin, retrieval and k, it
    keeps the pairs above the model's threshold, which is rough. --threshold 0 keeps all.

    Examples:
      miner mine news.de.zst news.en.gz -o pairs.tsv.gz
      miner mine news.de news.en --model models/de-en --target-precision 0.9 -o pairs.parquet
      miner mine news.de news.en --ids -o pairs.de pairs.en
      miner mine news.de news.en --without newstest.de --near 0.8 --rejected hits.tsv -o pairs.tsv
      miner mine web.de.jsonl web.en.jsonl --carry id,url -o pairs.tsv
      miner mine news.de news.en --top-n 1000 --work work -o pairs.tsv
      miner mine news.de news.en --labels pairs.tsv.review.jsonl -o better.tsv
      miner mine news.de news.en --model hf:encoders/LaBSE -o pairs.tsv
      miner mine news.de news.en --second hf:encoders/LaBSE -o pairs.tsv
      miner mine 'de/*.zst' 'en/*.zst' --work work --backend processes -o pairs/
      zcat crawl.de.gz | miner mine - crawl.en > pairs.tsv
    """
    from miner.cli.index import describe
    from miner.cli.progress_bars import Progress
    from miner.mining.means import load_encoder
    from miner.mining.mine import mine as mine_texts

    texts = expanded(source), expanded(target)
    if source == target == "-":
        raise click.UsageError("only one of SOURCE and TARGET can be standard input")
    inputs = *texts[0], *texts[1], model
    keep_settings, output = mining_options.checked(keep, output, file, work, without, inputs)
    options.check_columns((*texts[0], *texts[1]), reading["format"], reading["column"])
    encoder = load_encoder(model, settings, USUAL if second else loading)
    second_encoder = None if second is None else load_encoder(second, settings, loading)
    names = iter((source, target))
    with Progress("sentences") as report:
        mine_texts(
            source,
            target,
            keep=keep_settings,
            settings=settings,
            encoder=encoder,
            second=second_encoder,
            second_pairs=second_pairs,
            without=without,
            carry=carry,
            work=work,
            beside=output.beside,
            workers=workers,
            report=report,
            note=say,
            done=lambda index: say(describe(index, next(names))),
            then=lambda mined: output.write(mined, report),
            factory=factory,
            **reading,
        )
