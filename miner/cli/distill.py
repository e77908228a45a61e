"""``miner distill``: an encoder becomes the teacher of a model of this program."""

from dataclasses import replace
from typing import Any

import click

from miner.cli import guard, options, training_text
from miner.cli.options import say
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, Settings, configured, opt
from miner.cli.sharding import expanded
from miner.cli.training_text import ParallelText
from miner.encoder.loading import Loading
from miner.libraries import require
from miner.scoring.decontaminate_settings import Without
from miner.text.formats import BitextFormat
from miner_train.config import TrainConfig

# Settings of a training that also apply to a distillation.
SETTINGS = (
    *("pieces", "coverage", "vocabulary_sample", "fold_case", "dimension", "scale", "margin"),
    *("batch", "epochs", "rate", "final_rate", "dropout", "sample", "heldout", "seed", "dtype"),
)


@click.command(cls=Command)
@training_text.parallel_text(sides=False)
def distill(
    text: ParallelText,
    layout: BitextFormat,
    without: Without,
    teacher: str = opt(
        "Teacher: hf:DIR_OR_NAME of sentence-transformers, model2vec:DIR_OR_NAME, or a model "
        "directory.",
        required=True,
        metavar="NAME",
    ),
    mono: tuple[str, ...] = opt(
        "Sentences in any language, plain, JSONL or Parquet, or a quoted pattern; repeatable.",
        "--text",
        metavar="FILE",
    ),
    output: str = opt("Output model directory.", "-o --output", required=True, metavar="DIR"),
    cache: str | None = opt(
        "Keep the teacher's vectors in DIR, for further students on the same text [temporary, "
        "beside the model].",
        metavar="DIR",
    ),
    comparer: bool = options.comparer(", with --bitext"),
    loading: Loading = options.loading(),
    device: str = options.device,
    threads: int | None = options.threads,
    overwrite: bool = options.overwrite(),
    restart: bool = opt("Discard an interrupted run of this DIR, including vectors."),
    given: dict[str, Any] = Settings(TrainConfig, "given", dict)(*SETTINGS),
) -> None:
    """Train a fast model that gives sentences the vectors of a slow encoder.

    The student is a mean of pieces, which start from the teacher's vectors. With --bitext it also
    learns that translations find each other, and to verify pairs; without, it ranks pairs by
    margin, until 'miner train-verifier' adds a verifier. --device and --threads apply to the
    teacher. Repeat the command of a killed run to continue it: no sentence is encoded twice.

    The dimension is at most the teacher's.

    Examples:
      miner distill --teacher hf:encoders/LaBSE --text mono.zst -o models/static
      miner distill --teacher hf:encoders/e5 --text 'news/*.zst' --bitext de-en.tsv.xz -o models/e5
      miner distill --teacher models/lstm --text mono.zst --epochs 3 --cache work -o models/fast
      miner mine news.de news.en --model models/static -o pairs.tsv
    """
    if not mono and text.empty:
        raise click.UsageError("nothing to learn from: give --text, --bitext or both")
    files = tuple(path for pattern in mono for path in expanded(pattern))
    guard.check([*files, *text.files, *without.files], {"-o": output})
    guard.check_training(output, "a model", overwrite, restart)
    config = configured(TrainConfig(), given)
    require(["torch", "sklearn"], "a distillation", "train")
    from miner_train.distill import Lessons
    from miner_train.distill import distill as learn

    with (
        options.opened(teacher, threads, device, "source", loading) as encoder,
        Progress("pairs") as progress,
    ):
        if "dimension" not in given:
            config = replace(config, dimension=min(config.dimension, encoder.dimension))
        model = learn(
            encoder,
            Lessons(files, text.pairs(layout), layout.on_error, without),
            config,
            output,
            cache=cache,
            comparer=comparer,
            restart=restart,
            report=progress.say,
            progress=progress,
        )
    say(f"{output}: {model.describe()}; fingerprint {model.fingerprint}")
