"""``miner train-classifier``: good and bad sentences to a classifier."""

from typing import Any

import click

from miner.cli import guard, options
from miner.cli.config_options import Grouped, config_options, configured
from miner.cli.progress_bars import Progress
from miner.errors import DependencyError
from miner.names import FORMATS
from miner_train.config import ClassifierConfig


@click.command(
    "train-classifier",
    cls=Grouped,
    params=config_options(ClassifierConfig),
    epilog="""\b
Examples:
  # Sentences that people wrote, and machine translations of others, in one language:
  miner train-classifier --good written.en --bad translated.en -o models/reference-en
  # With the order of words:
  miner train-classifier --good written.en --bad translated.en --encoder lstm -o models/lstm-en
  # Sentences of the wanted domain, and of any other:
  miner train-classifier --good medical.de --bad news.de.gz --bad web.de.gz -o models/medical
  # Every fifth sentence held out, capital letters kept:
  miner train-classifier --good a.en --bad b.en --heldout 0.2 --keep-case -o models/ab

To filter by it, give a filter 'classifier' the directory for its 'model', and a 'minimum' from 0
to 1.""",
)
@click.option(
    "--good", required=True, multiple=True, metavar="FILE", help="Good sentences; repeatable."
)
@click.option(
    "--bad", required=True, multiple=True, metavar="FILE", help="Bad sentences; repeatable."
)
@click.option("--format", type=click.Choice(FORMATS), help="Format of all files [by suffix].")
@click.option("--column", metavar="N|NAME", help="Column of the sentences, in files with columns.")
@options.header
@options.on_error()
@click.option(
    "-o", "--output", required=True, metavar="DIR", help="The directory of the classifier."
)
@click.option("--overwrite", is_flag=True, help="Replace a classifier that is in DIR already.")
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where an lstm is trained; cuda without a GPU is an error.",
)
@options.threads
def train_classifier(
    good: tuple[str, ...],
    bad: tuple[str, ...],
    format: str | None,
    column: str | None,
    header: bool,
    on_error: str,
    output: str,
    overwrite: bool,
    device: str,
    threads: int | None,
    **settings: Any,
) -> None:
    """Learn to tell good sentences from bad ones.

    Good and bad are any two kinds of sentences: written by people and translated by machines, or
    of two domains. The classifier gives each sentence a probability of being good, and the filter
    'classifier' keeps those above a bound.

    It learns whatever tells the two corpora apart. Take them from one domain, about as many
    sentences of each, and no line that translates or copies one of the other; else it learns the
    topic. After each epoch it judges held-out sentences, and the best epoch is kept.
    """
    guard.check([*good, *bad], {"-o": output})
    guard.check_directory("-o", output, "a classifier", overwrite)
    given = {name: value for name, value in settings.items() if value is not None}
    config = configured(ClassifierConfig(), given)
    try:
        import torch  # noqa: F401
    except ImportError:
        raise DependencyError(
            'training needs torch; run: pip install "bitext-miner[train]"'
        ) from None
    from miner.text.corpus import Reader
    from miner_train.learn_classifier import train_classifier as learn

    readers = [
        [
            Reader(path, format=format, column=column, header=header, on_error=on_error)
            for path in side
        ]
        for side in (good, bad)
    ]
    with Progress("sentences") as progress:
        model = learn(
            readers[0],
            readers[1],
            config,
            output,
            threads=threads,
            device=device,
            report=progress.say,
            progress=progress,
        )
    accuracy = model.training["held-out accuracy"]
    click.echo(
        f"{output}: a classifier, {model.describe()}; held-out accuracy {accuracy:.4f}", err=True
    )
