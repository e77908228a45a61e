"""``miner train``: bitext to a model directory."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import click

from miner.cli import guard, options, training_text
from miner.cli.option_types import NUMBER
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, Settings, configured, opt
from miner.cli.training_text import ParallelText
from miner.encoder.loading import Loading
from miner.libraries import require
from miner.scoring.decontaminate_settings import Without
from miner.text.formats import BitextFormat
from miner_train.config import TrainConfig
from miner_train.recipes import RECIPES, listing
from miner_train.recipes import recipe as start_of

# Defaults of --from that differ from the model's settings, because text of one language is small.
ADDED: dict[str, Any] = {"pieces": 8000, "batch": 512, "epochs": 10}


def list_all(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Print encoders, objectives and recipes, and exit."""
    if wanted and not context.resilient_parsing:
        click.echo(listing())
        context.exit()


@click.command(cls=Command)
@training_text.parallel_text()
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=list_all,
    help="Explain encoders, objectives and recipes, with all their settings.",
)
def train(
    text: ParallelText,
    layout: BitextFormat,
    without: Without,
    label_col: str | None = opt(
        "Column of --bitext with 1 for translations and 0 for other pairs; these are the only "
        "negatives of the contrastive objective, and other objectives drop them.",
        metavar="N|NAME",
    ),
    score_col: str | None = opt(
        "Column of --bitext with scores, higher is better, by which --keep and --clean rank pairs.",
        metavar="N|NAME",
    ),
    output: str = opt("Output model directory.", "-o --output", required=True, metavar="DIR"),
    recipe: str | None = opt(
        "Initial settings, which other options override: fast [default], or a paper's, some of "
        "which depend on --encoder; see --list.",
        type=click.Choice(list(RECIPES)),
    ),
    like: str | None = opt(
        "Start from the settings of this model, without its files and columns.",
        metavar="DIR",
    ),
    base: str | None = opt(
        "Train this model further, with its settings [--batch 512, --epochs 10]. New languages "
        "get --pieces more pieces [8000], and existing vectors are frozen; without new "
        "languages all vectors are trained.",
        "--from",
        metavar="DIR|default",
    ),
    pieces_from: str | None = opt(
        "Start from this encoder's vectors of the pieces: hf:DIR_OR_NAME, "
        "model2vec:DIR_OR_NAME, or a model directory. Its words have meanings that the bitext "
        "may not teach.",
        metavar="NAME",
    ),
    loading: Loading = options.loading(),
    device: str = options.device_of("Device of recurrent encoders, and of --pieces-from"),
    threshold: float | None = opt(
        "Margin score from which 'miner mine' keeps pairs by default [the best on the held-out "
        "pairs].",
        type=NUMBER,
    ),
    select: tuple[str, ...] = opt(
        "Select the best epoch by mining the held-out pairs, or by the correlation of cosines "
        "with grades (P19), its mean over several files. FILE: tab-separated grade, sentence, "
        "sentence in the target's language.",
        default=["mining"],
        metavar="mining|sts:FILE",
    ),
    verifier: bool = opt(
        "Learn to verify candidates, which takes a few minutes.",
        "--verifier/--no-verifier",
        default=True,
    ),
    comparer: bool = options.comparer(", which takes a few minutes"),
    overwrite: bool = options.overwrite(),
    restart: bool = opt("Discard an interrupted training of this DIR."),
    given: dict[str, Any] = Settings(TrainConfig, "given", dict)(),
) -> None:
    """Train an encoder on parallel text, or on paraphrases.

    Several bitexts, of one language pair or many, make one model with one vocabulary. After each
    epoch the model mines held-out sentences, most of which have no partner there, and the best
    epoch is kept; with several language pairs, the F1 of each is shown. Repeat the command of a
    killed training to continue it: the result is the same.

    Values in brackets belong to the recipe 'fast'; --list shows the other recipes.

    Examples:
      miner train --source train.de --target train.en -o models/de-en
      miner train --bitext de-en.tsv.xz -o models/de-en
      miner train --bitext de-en.tsv.xz --bitext fr-en.tsv.xz --pieces 50000 -o models/de-fr-en
      miner train --bitext 'train/*-en/*.tsv.xz' -o models/many
      miner train --bitext de-en.tsv.xz --recipe p19 -o models/de-en-p19
      miner train --bitext de-en.tsv.xz --epochs 10 --dimension 512 --batch 2048 -o models/big
      miner train --bitext de-en.tsv.xz --encoder lstm-sp --scramble 0.3 -o models/lstm
      miner train --bitext paraphrases.tsv --recipe p18 -o models/english
      miner train --bitext scored.tsv --score-col 3 --recipe s18 --clean 0.8 -o models/subtitles
      miner train --bitext de-en.tsv.xz --recipe p19 --select sts:sts-dev.tsv -o models/similar
      miner train --bitext de-en.tsv.xz --without tests/sentences.txt -o models/unseen
      miner train --bitext msrpc.tsv --recipe s18 --label-col 1 --scol 2 --tcol 3 -o models/labelled
      miner train --from default --bitext gl-en.tsv -o models/with-galician
      miner train --from default --bitext own/de-en.tsv --rate 0.001 --epochs 2 -o models/own
      miner train --bitext ta-en.tsv.xz --pieces-from hf:encoders/e5-small -o models/tamil
      miner train --list
    """
    if (label_col or score_col) and not text.bitexts:
        raise click.UsageError("--label-col and --score-col are columns of --bitext")
    if sum(map(bool, (recipe, like, base))) > 1:
        raise click.UsageError("--recipe, --like and --from are starting points; give one")
    if base and not (verifier and comparer):
        raise click.UsageError("--no-verifier and --no-comparer: --from keeps all of its model")
    if text.empty:
        raise click.UsageError("nothing to train on: give --source and --target, or --bitext")
    graded = [measure.removeprefix("sts:") for measure in select if measure.startswith("sts:")]
    if len(graded) < len(select) and select != ("mining",):
        raise click.UsageError(
            f"--select {' '.join(select)}: give mining, or sts: and a file of graded pairs"
        )
    guard.check([*text.files, *without.files, *graded], {"-o": output})
    guard.check_training(output, "a model", overwrite, restart)
    for bitext in text.bitexts:
        columns = [*map(str, layout.columns(bitext)), *filter(None, (label_col, score_col))]
        if len(set(columns)) < len(columns):
            raise click.UsageError(
                f"two of --scol {columns[0]}, --tcol {columns[1]}, --label-col and --score-col are "
                "one column"
            )
    missing = {
        "labels": not label_col,
        "scores": not score_col,
        "excluded": not without.files,
    }
    if base is not None:
        start = replace(settings_of(base, {}), **ADDED)
    elif like is not None:
        start = settings_of(like, missing)
    else:
        try:
            start = start_of(recipe or "fast", given.get("encoder"))
        except ValueError as error:  # encoders that do not exist or cannot be combined
            raise click.UsageError(f"--{error}") from None
    config = configured(start, given)
    if score_col and config.keep == 1 and not config.clean:
        raise click.UsageError("--score-col ranks pairs for --keep or --clean; both are missing")
    if config.clean and not score_col:
        raise click.UsageError("--clean needs a column of probabilities (--score-col)")
    from miner.encoder.model import load

    require(["torch", "sklearn"], "training", "train")
    from miner_train.pipeline import train_model

    with ExitStack() as stack:
        teacher = None
        if pieces_from is not None:
            opened = options.opened(pieces_from, None, device, "source", loading)
            teacher = stack.enter_context(opened)
        progress = stack.enter_context(Progress("pairs"))
        model = train_model(
            text.pairs(layout, label_col=label_col, score_col=score_col),
            config,
            output,
            without=without,
            threshold=threshold,
            select=graded,
            verifier=verifier,
            comparer=comparer,
            base=load(base) if base is not None else None,
            teacher=teacher,
            restart=restart,
            device=device,
            given=given,
            report=progress.say,
            progress=progress,
        )
    say(f"{output}: {model.describe()}; fingerprint {model.fingerprint}")


def settings_of(like: str, missing: dict[str, bool]) -> TrainConfig:
    """Return the settings of the model ``like``; warn about its inputs that are ``missing``
    here.
    """
    from miner.encoder.model import load

    training = load(like).training
    for name in (name for name, absent in missing.items() if absent and training.get(name)):
        what = "excluded sentences" if name == "excluded" else name
        say(f"warning: {like} was trained with {what}, which were not given")
    return TrainConfig.from_dict(training.get("config", {}))
