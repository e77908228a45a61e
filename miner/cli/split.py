"""``miner split``: a bitext into training, development and test rows."""

import click

from miner.cleaning.settings import Split
from miner.cli import filter_options, guard, options
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, Settings, opt
from miner.text.formats import BitextFormat
from miner.text_table import count_of


@click.command(cls=Command)
@options.bitext
def split(
    bitext: tuple[str, ...],
    source: str | None,
    target: str | None,
    settings: Split = Settings(Split, "settings")(),
    layout: BitextFormat = filter_options.reading,
    output: str = opt(
        "Output directory of the parts.", "-o --output", required=True, metavar="DIR"
    ),
) -> None:
    """Split BITEXT, or aligned files SOURCE and TARGET, into train, dev and test in DIR.

    No sentence, near-copy or document is in two of them. Rows are unchanged, in order, and in the
    format of BITEXT; manifest.json describes the files. The text of a row decides its part: with
    shares it stays there when text is added, with numbers some rows move to train.

    Examples:
      miner split pairs.tsv --dev 2000 --test 2000 -o split
      miner split web.de web.en --dev 0.01 --test 0.01 -o split
      miner split pairs.jsonl --document-col url --near 1 -o split
    """
    inputs = filter_options.inputs(bitext, source, target)
    guard.check(inputs, {"-o": output})
    from miner.cleaning.split import split as split_rows

    with Progress("rows") as report:
        counts = split_rows(
            inputs, output, settings, layout, command=options.command_line(), report=report
        )
    parts = (f"{name} {count_of(count, 'row')}" for name, count in counts.items())
    say(f"{output}: {', '.join(parts)}")
