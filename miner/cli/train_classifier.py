"""``miner train-classifier``: good and bad sentences to a classifier."""

from typing import Any

import click

from miner.cli import options
from miner.cli.options import Number
from miner.cli.train import Shown
from miner.errors import DependencyError
from miner.names import FORMATS
from miner.text.corpus import Reader


@click.command(
    "train-classifier",
    epilog="""\b
Examples:
  # Sentences that people wrote, and machine translations of others, in one language:
  miner train-classifier --good written.en --bad translated.en -o models/reference-en
  # The order of words counts:
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
@click.option("--format", type=click.Choice(FORMATS), help="Of all files; default by suffix.")
@click.option(
    "--column", metavar="N|NAME", help="Where the sentence is, in files that have columns."
)
@options.header
@options.on_error()
@click.option("-o", "--output", required=True, metavar="DIR", help="Where the classifier goes.")
@click.option(
    "--encoder",
    type=click.Choice(["average", "lstm"]),
    default="average",
    show_default=True,
    help="average sees which words there are, and is fast; lstm sees their order too.",
)
@click.option(
    "--units",
    type=click.Choice(["piece", "word"]),
    default="piece",
    show_default=True,
    help="What it reads: SentencePiece pieces, of any language, or words.",
)
@click.option("--pieces", type=int, help="Pieces: how many, at most [20000].")
@click.option("--types", type=int, help="Words: how many of the most frequent [200000].")
@click.option(
    "--fold-case/--keep-case",
    default=True,
    show_default=True,
    help="Treat A and a as one letter.",
)
@click.option(
    "--dimension", type=int, default=300, show_default=True, help="Length of embedding and state."
)
@click.option(
    "--epochs", type=int, default=10, show_default=True, help="Times to see every sentence."
)
@click.option("--batch", type=int, default=100, show_default=True, help="Sentences of one step.")
@click.option("--rate", type=float, default=0.001, show_default=True, help="Learning rate of Adam.")
@click.option(
    "--dropout",
    type=float,
    default=0.0,
    show_default=True,
    help="Share of tokens left out while training.",
)
@click.option(
    "--heldout",
    type=Number(),
    default=0.1,
    show_default=True,
    help="Sentences to judge each epoch by: a share of each class, or a number of all.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Decides everything random.")
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
    output: str,
    device: str,
    threads: int | None,
    **settings: Any,
) -> None:
    """Learn to tell good sentences from bad ones.

    Good may be what people wrote and bad what a machine translated; or any two kinds of sentence,
    such as of two domains. The classifier says of a sentence how likely it is good, and the filter
    'classifier' keeps what is likely enough.

    It learns whatever tells the two corpora apart. So take them from one domain, about as many
    sentences of each, and no line that translates or copies one of the other; else it learns the
    topic. After every epoch it judges held-out sentences, and the best epoch is kept.
    """
    reading = {name: settings.pop(name) for name in ("format", "column", "header", "on_error")}
    for name, units in (("pieces", "piece"), ("types", "word")):
        if settings[name] is None:
            del settings[name]
        elif settings["units"] != units:
            raise click.UsageError(f"--{name} is for --units {units}")
    try:
        import torch  # noqa: F401
    except ImportError:
        raise DependencyError(
            'training needs torch; run: pip install "bitext-miner[train]"'
        ) from None
    from train.learn_classifier import ClassifierConfig
    from train.learn_classifier import train_classifier as learn

    try:
        config = ClassifierConfig(**settings)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from None
    readers = [[Reader(path, **reading) for path in paths] for paths in (good, bad)]
    with Shown("sentences") as shown:
        model = learn(
            readers[0],
            readers[1],
            config,
            output,
            threads=threads,
            device=device,
            report=shown,
        )
    accuracy = model.training["held-out accuracy"]
    click.echo(
        f"{output}: a classifier, {model.describe()}; held-out accuracy {accuracy:.4f}", err=True
    )
