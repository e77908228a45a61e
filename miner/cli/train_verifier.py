"""``miner train-verifier``: the verification of a finished model, learned again."""

import click

from miner.cli import guard, options, training_text
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, arg, opt
from miner.cli.training_text import ParallelText
from miner.libraries import require
from miner.scoring.decontaminate_settings import Without
from miner.text.formats import BitextFormat


@click.command(cls=Command)
@training_text.parallel_text()
def train_verifier(
    text: ParallelText,
    layout: BitextFormat,
    without: Without,
    model: str = arg(),
    output: str = opt("Output model directory.", "-o --output", required=True, metavar="DIR"),
    comparer: bool = options.comparer(),
    only_facts: bool = opt(
        "Learn the facts again (negations, numbers, persons and the like), and keep all else."
    ),
    overwrite: bool = options.overwrite(),
) -> None:
    """Learn verifier, comparer and quality score of MODEL again, from parallel text.

    MODEL is a model directory, or 'default'. The new directory has the same vectors, so that
    indexes stay valid, and the same lexicon and decoys. A model trained with --no-verifier gets
    all of them. A tenth of the pairs is held out, at most as many as in the encoder's training.

    Examples:
      # The text that the encoder was trained on; the same pairs are held out:
      miner train-verifier models/de-en --bitext de-en.tsv.xz -o models/de-en-2
      # Text of another domain, for the default model:
      miner train-verifier default --bitext 'medical/*-en/*.tsv' -o models/medical
    """
    if text.empty:
        raise click.UsageError("nothing to learn from: give --source and --target, or --bitext")
    guard.check([*text.files, *without.files], {"-o": output})
    guard.check_directory(output, "a model", overwrite)
    require(["torch", "sklearn"], "training", "train")
    from miner_train.relearn_verification import relearn_verification

    with Progress("pairs") as progress:
        learned = relearn_verification(
            model,
            text.pairs(layout),
            output,
            without=without,
            comparer=comparer,
            only_facts=only_facts,
            report=progress.say,
        )
    say(f"{output}: {learned.describe()}; fingerprint {learned.fingerprint}")
