"""``miner paraphrase tune``: bounds of a filter, tuned by training on the pairs within them."""

from typing import Any

import click

from miner.cli import guard, options
from miner.cli.options import write_json
from miner.cli.progress_bars import Progress
from miner.cli.settings_options import Command, Settings, arg, configured, opt
from miner_train.config import TrainConfig
from miner_train.recipes import RECIPES
from miner_train.recipes import recipe as start_of

# Scores of a paraphrase whose bounds can be tuned, on P17's grids.
BY = ("length", "overlap1", "overlap2", "overlap3", "bleu", "cost", "perplexity", "classifier")


@click.command(cls=Command)
def tune(
    pairs_file: str = arg(metavar="PARAPHRASES"),
    by: str = opt("Score whose bounds are tuned.", type=click.Choice(BY), required=True),
    grades: tuple[str, ...] = opt(
        "Human grades: grade, sentence, sentence. The mean correlation over several files counts.",
        required=True,
        metavar="FILE",
    ),
    count: int = opt(
        "Pairs to train each model on.", "--pairs", type=click.IntRange(2), default=24_000
    ),
    references: str | None = opt("Sentences for --by perplexity.", metavar="FILE"),
    classifier: str | None = opt(
        "Directory of 'miner train-classifier', for --by classifier.", metavar="DIR"
    ),
    recipe: str = opt(
        "Initial settings, which other options override.",
        type=click.Choice(list(RECIPES)),
        default="p17",
    ),
    json_file: str | None = options.json_file("the rows"),
    given: dict[str, Any] = Settings(TrainConfig, "given", dict)(),
) -> None:
    """Tune the bounds of a filter on PARAPHRASES by training on the pairs within them (P17).

    Reads reference, translation and, for the cost, column 3. For each pair of bounds of P17's grid
    it draws the same number of references with a translation within the bounds, trains a model, and
    prints the best epoch's correlation of cosines with human grades. Length, perplexity and
    classifier apply to the translation. Use grades of a development set, because bounds and epochs
    are tuned on them.

    Examples:
      miner paraphrase tune paraphrases.tsv --by overlap1 --grades stsb.dev.tsv
      miner paraphrase tune paraphrases.tsv --by cost --grades dev.tsv --pairs 5000 --recipe p17
      miner paraphrase tune p.tsv --by perplexity --references news.en --grades dev.tsv
    """
    from miner.text_table import aligned
    from miner_train.papers.tune_bounds import read_scored

    judges = {"perplexity": references, "classifier": classifier}
    for option, (score, judge) in zip(("references", "classifier"), judges.items(), strict=True):
        if (by == score) != (judge is not None):
            raise click.UsageError(f"--{option} belongs to --by {score}, which needs it")
    guard.check([pairs_file, *grades, references, classifier], {"--json": json_file})
    config = configured(start_of(recipe, given.get("encoder")), {"heldout": 0, **given})
    if config.architecture.separate:
        raise click.UsageError(f"--vocabularies {config.vocabularies} is for two languages")
    from miner_train.development import read_graded
    from miner_train.papers import tune_bounds as work

    graded = [read_graded(path) for path in grades]
    sides, values, grid = read_scored(pairs_file, by, judges.get(by) or "")
    with Progress("bounds") as progress:
        tried = work.tune(sides, values, grid, graded, config, count, progress.say)
    rows = [["bounds", "pairs within", "correlation"]]
    for row in tried:
        value = "–" if row.correlation is None else f"{row.correlation:.4f}"
        rows.append([f"{row.bounds[0]:g} to {row.bounds[1]:g}", f"{row.within:,}", value])
    click.echo("\n".join(aligned(rows)))
    if json_file is not None:
        record = [{**vars(row), "bounds": [f"{edge:g}" for edge in row.bounds]} for row in tried]
        text = {"by": by, "pairs": count, "config": config.as_dict(), "rows": record}
        write_json(json_file, text, indent=1)
