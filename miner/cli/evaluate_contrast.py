"""``miner evaluate contrast``: translations against corruptions that change one fact."""

from typing import Any

import click

from miner.cli import guard, options
from miner.cli.evaluated import models, run_task
from miner.cli.settings_options import Command, opt
from miner.text.formats import BitextFormat


@click.command(cls=Command)
@models
def contrast(
    bitext: str | None = opt(
        "Translations to make cases from: a tsv, the target English.", metavar="FILE"
    ),
    layout: BitextFormat = options.bitext_format(
        *("source_column", "target_column"),
        source_column={"help": "Column of the source in --bitext [1]."},
        target_column={"help": "Column of the English target [2]."},
    ),
    cases: str | None = opt(
        "Cases made already, in the format of DEMETR: kind, language, source, translation, "
        "corruption.",
        metavar="FILE",
    ),
    languages: tuple[str, ...] = opt("Only --cases of this language; repeatable.", "--language"),
    count: int = opt("Most cases of a kind that are made.", type=click.IntRange(1), default=1000),
    write: str | None = opt("Write the cases, to be read or given as --cases.", metavar="FILE"),
    **models: Any,
) -> None:
    """Share of contrast cases in which a score prefers a translation to its corruption.

    A case is a translation and a copy of it with one fault: another number, a negation added or
    removed, an antonym, another name, two names swapped, a clause omitted or added, a word added,
    another gender or tense. Cases are made from --bitext, chosen by the text alone, or read from
    --cases, with the severities of DEMETR.

    Examples:
      miner evaluate contrast --bitext news.de-en.tsv
      miner evaluate contrast --bitext news.de-en.tsv --write cases.tsv --json contrast.json
      miner evaluate contrast --cases demetr.tsv.xz --language german --language french
      miner evaluate contrast --cases cases.tsv --model models/new --against default
    """
    from miner.evaluation import contrast as task
    from miner.text.bitext import read_bitext

    if (bitext is None) == (cases is None):
        raise click.UsageError("give either --bitext or --cases")
    if cases is not None and layout != BitextFormat():
        raise click.UsageError("--scol and --tcol belong to --bitext")
    if bitext is not None and languages:
        raise click.UsageError("--language belongs to --cases")
    guard.check([bitext, cases], {"--write": write, "--json": models["json_file"]})
    if cases is not None:
        chosen = task.read_cases(cases, languages)
    else:
        assert bitext is not None
        read = read_bitext(bitext, bitext_format=layout)
        chosen = task.make_cases(read.source, read.target, count=count)
    if write is not None:
        task.write_cases(chosen, write)
    run_task(
        lambda one, progress: task.evaluate(one, chosen, progress),
        "cases",
        "translations",
        **models,
    )
