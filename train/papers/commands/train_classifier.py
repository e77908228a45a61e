"""``miner train-classifier``: good and bad sentences to a classifier."""

from functools import partial
from typing import Any

import click

from miner.cli import guard, options
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, Settings, configured, opt
from miner.libraries import require
from miner_train.papers.classifier_config import ClassifierConfig


@click.command(cls=Command)
@options.text_format("format", format={"help": "Format of all files [by suffix]."})
@options.text_format("header", "on_error")
def train_classifier(
    good: tuple[str, ...] = opt("Good sentences; repeatable.", metavar="FILE"),
    bad: tuple[str, ...] = opt("Bad sentences; repeatable.", metavar="FILE"),
    pairs: tuple[str, ...] = opt(
        "Instead of --good and --bad: rows of a good and a bad sentence with the same meaning, "
        "for example a reference and a translation; repeatable.",
        metavar="FILE",
    ),
    good_col: str | None = opt("Column of --pairs with good sentences [1].", metavar="N|NAME"),
    bad_col: str | None = opt("Column of --pairs with bad sentences [2].", metavar="N|NAME"),
    more_col: tuple[str, ...] = opt(
        "Column of --pairs with another bad sentence for the row, which may be blank; repeatable.",
        metavar="N|NAME",
    ),
    column: str | None = opt("Column of the sentences, in files with columns.", metavar="N|NAME"),
    output: str = opt(
        "Output directory of the classifier.", "-o --output", required=True, metavar="DIR"
    ),
    overwrite: bool = options.overwrite("a classifier"),
    device: str = options.device_of("Device to train an lstm on"),
    threads: int | None = options.threads,
    given: dict[str, Any] = Settings(ClassifierConfig, "given", dict)(),
    **reading: Any,
) -> None:
    """Learn to tell good sentences from bad ones.

    Good and bad are any two kinds of sentences: written by people and translated by machines, or
    of two domains. The classifier gives each sentence a probability of being good, and the filter
    'classifier' keeps those above a bound.

    It learns any difference between the two corpora. Take both from one domain, with about equal
    numbers of sentences, and without translations or copies of each other; otherwise it learns the
    topic. --pairs are best, because their sides share a topic. The best epoch on held-out sentences
    is kept, and the accuracy on further sentences (--test) is printed.

    Examples:
      # Sentences that people wrote, and machine translations of others, in one language:
      miner train-classifier --good written.en --bad translated.en -o models/reference-en
      # With the order of words:
      miner train-classifier --good written.en --bad translated.en --encoder lstm -o models/lstm-en
      # References and translations of the same sentences, side by side (columns 1 and 2, 3, 4):
      miner train-classifier --pairs matched.tsv --more-col 3 --more-col 4 -o models/style-en
      # Sentences of the wanted domain, and of any other:
      miner train-classifier --good medical.de --bad news.de.gz --bad web.de.gz -o models/medical
      # Every fifth sentence held out, capital letters kept:
      miner train-classifier --good a.en --bad b.en --heldout 0.2 --keep-case -o models/ab

    To filter by it, give a filter 'classifier' the directory for its 'model', and a 'minimum' from
    0 to 1.
    """
    if bool(good) != bool(bad) or bool(pairs) == bool(good):
        raise click.UsageError("give --good and --bad, or --pairs")
    if not pairs and (good_col or bad_col or more_col):
        raise click.UsageError("--good-col, --bad-col and --more-col are columns of --pairs")
    if pairs and column:
        raise click.UsageError("--column is for --good and --bad; give --good-col and --bad-col")
    if not pairs and "translation" in given:
        raise click.UsageError("--translation chooses among the translations of --pairs")
    guard.check([*good, *bad, *pairs], {"-o": output})
    guard.check_directory(output, "a classifier", overwrite)
    config = configured(ClassifierConfig(), given)
    require(["torch"], "training", "train")
    from miner.text.corpus import CorpusReader
    from miner.text.formats import BitextFormat
    from miner_train.papers import learn_classifier

    if pairs:
        layout = BitextFormat(good_col, bad_col, **reading)
        read = partial(learn_classifier.matched_pairs, pairs, layout, more_col)
    else:
        sides = [
            [CorpusReader(path, column=column, **reading) for path in side] for side in (good, bad)
        ]
        read = partial(learn_classifier.two_classes, sides[0], sides[1])
    with Progress("sentences") as progress:
        model = learn_classifier.train_classifier(
            read,
            config,
            output,
            threads=threads,
            device=device,
            report=progress.say,
            progress=progress,
        )
    part = "test" if "test accuracy" in model.training else "held-out"
    accuracy = model.training[f"{part} accuracy"]
    say(f"{output}: a classifier, {model.describe()}; {part} accuracy {accuracy:.4f}")
