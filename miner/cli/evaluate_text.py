"""``miner evaluate contrast`` and ``labelled``, which read text that the user names."""

from typing import Any

import click

from miner.cli import guard, options
from miner.cli.evaluate_options import models, run_task
from miner.cli.options import say, write_json
from miner.cli.settings_options import Command, arg, opt
from miner.errors import CorpusError
from miner.text.formats import BitextFormat
from miner.text_table import count_of


@click.command(cls=Command)
@models
def contrast(
    bitext: str | None = opt(
        "Translations to generate cases from: a tsv with English targets.", metavar="FILE"
    ),
    layout: BitextFormat = options.bitext_format(
        *("source_column", "target_column"),
        source_column={"help": "Column of the source in --bitext [1]."},
        target_column={"help": "Column of the English target [2]."},
    ),
    cases: str | None = opt(
        "Existing cases, in the format of DEMETR: kind, language, source, translation, corruption.",
        metavar="FILE",
    ),
    languages: tuple[str, ...] = opt(
        "Use only --cases in this language; repeatable.", "--language"
    ),
    count: int = opt(
        "Maximum number of generated cases of each kind.", type=click.IntRange(1), default=1000
    ),
    write: str | None = opt("Write the cases, to be read, or passed as --cases.", metavar="FILE"),
    **models: Any,
) -> None:
    """Share of contrast cases in which a score prefers a translation to its corruption.

    A case is a translation and a copy of it with one fault: another number, a negation added or
    removed, an antonym, another name, two names swapped, a clause omitted or added, a word added,
    another gender or tense. Cases are generated from --bitext or read from --cases, with the
    severities of DEMETR.

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


@click.command(cls=Command)
def labelled(
    pairs: str = arg(),
    labels: str = arg(),
    score_col: str | None = opt(
        "Column of the score [detected from the first row].", metavar="N|NAME"
    ),
    json_file: str | None = options.json_file(),
) -> None:
    """AUC, average precision and best F1 of the score of PAIRS, on the pairs judged in LABELS.

    PAIRS has a score of any tool, in TSV, JSONL or Parquet; LABELS are answers of 'miner review',
    or a sheet of them. The best threshold is tuned on these very labels. Answers about a sample
    have more uncertain pairs than the whole: compare scores by the same labels.

    Examples:
      miner score web.tsv -o scored.tsv
      miner evaluate labelled scored.tsv web.tsv.review.jsonl
      miner evaluate labelled laser.tsv web.tsv.review.jsonl --score-col 1 --json laser.json
    """
    import numpy as np

    from miner.evaluation import metrics
    from miner.evaluation.results import measure
    from miner.review.population import Population, origin_of
    from miner.text.answers import key_of
    from miner.text.sheet import read_labels

    guard.check([pairs, labels], {"--json": json_file})
    right = {key_of(*texts): value > 0.5 for texts, value in read_labels(labels).items()}
    origin = origin_of(pairs, score=score_col)
    if origin.score is None:
        raise CorpusError(f"{pairs}: no column of scores is found; name one (--score-col)")
    population = Population.read(origin)
    score = {
        key: value for key, value in zip(population.key.tolist(), population.score, strict=True)
    }
    judged = [key for key in right if key in score]
    good = np.array([right[key] for key in judged], dtype=bool)
    if good.all() or not good.any():
        raise CorpusError(
            f"{labels}: {int(good.sum())} right and {int((~good).sum())} wrong pairs of {pairs}; "
            "both kinds are needed"
        )
    values = np.array([score[key] for key in judged])
    kinds = {"AUC": metrics.auc, "average precision": metrics.average_precision}
    measured = measure(pairs, {name: of(values, good) for name, of in kinds.items()}, len(good))
    best = metrics.best_threshold(
        ((score[key], key, key) for key in judged), [(key, key) for key in judged if right[key]]
    )
    say(f"{len(judged)} of {count_of(len(right), 'label')} are of these pairs")
    for metric in measured:
        assert metric.interval is not None
        click.echo(
            f"{metric.name}: {metric.value:.3f} ({metric.interval[0]:.3f}-{metric.interval[1]:.3f})"
        )
    click.echo(f"best on these labels: {best}")
    if json_file:
        record = {"metrics": [metric.as_dict() for metric in measured], "best": best.as_dict()}
        write_json(json_file, record, indent=2)
