"""``miner evaluate``: precision and recall of mined pairs, and models on public test sets.

One group of commands with common options and one run. The commands
``contrast``, ``labelled`` and ``senteval``, which read other text, are in `evaluate_text`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from miner import extensions
from miner.cli import guard, options
from miner.cli.evaluate_options import against, evaluated, report
from miner.cli.evaluate_text import contrast, labelled
from miner.cli.option_types import NUMBER
from miner.cli.options import say, write_json
from miner.cli.settings_options import Command, Group, arg, opt
from miner.encoder.loading import Loading
from miner.errors import ArtifactError, CorpusError, NoTestSetError, writing
from miner.text_table import aligned, count_of

# Tasks with sentences; speed encodes the sentences of these.
TEXT_TASKS = ("tatoeba", "bucc", "noisy", *extensions.names(extensions.EVALUATIONS))
TASKS = (*TEXT_TASKS, "speed")

data_option: Any = click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Directory of test sets, in the layout of 'miner data get'.",
)
common = options.several(
    click.option(
        "--model",
        default="default",
        metavar="DIR",
        help="Model directory, or hf:NAME; or a directory with the sentences of 'miner evaluate "
        "sentences' and vectors.npy (or .h5) of another tool, one row per sentence.",
    ),
    data_option,
    options.loading(),
    against,
)


@click.group(cls=Group, prefix="evaluate.")
def evaluate() -> None:
    """Measure mined pairs against a gold standard, or a model on public test sets.

    Examples:
      miner evaluate mined pairs.tsv de-en.training.gold
      miner evaluate all --data data --model models/de-en
      miner evaluate tatoeba --data data --against models/p19
    """


@evaluate.command()
def mined(
    pairs: str = arg(),
    gold: str = arg(),
    threshold: float | None = opt(
        "Also evaluate at this threshold, e.g. one tuned elsewhere.", type=NUMBER
    ),
    json_file: str | None = options.json_file(),
) -> None:
    """Precision, recall and F1 of PAIRS (score, source id, target id) against GOLD.

    GOLD is 'source id, tab, target id'. Write PAIRS by 'miner search --ids --threshold 0': without
    --threshold a search cuts pairs, and the best threshold may lie lower. It is the one that
    maximises F1 on this very GOLD: report it as tuned, and take it to other data with --threshold.

    Examples:
      miner search work/de work/en --ids --threshold 0 -o pairs.tsv
      miner evaluate mined pairs.tsv de-en.training.gold
      miner evaluate mined pairs.tsv de-en.test.gold --threshold 1.2 --json result.json
    """
    from miner.evaluation import metrics
    from miner.evaluation.gold import (
        explain_mismatch,
        keeps_nearly_all,
        never_proposed,
        read_gold,
        read_pairs,
    )

    guard.check([pairs, gold], {"--json": json_file})
    scored, expected = read_pairs(pairs), read_gold(gold)
    if not expected:
        raise CorpusError(f"{gold}: holds no pair; nothing can be evaluated against it")
    results = {"pairs as given": metrics.evaluate(scored, expected)}
    if threshold is not None:
        results["at --threshold"] = metrics.evaluate(scored, expected, threshold)
    results["best threshold"] = metrics.best_threshold(scored, expected)
    rows = [["", "threshold", "precision", "recall", "F1", "kept", "correct"]]
    for name, result in results.items():
        cut = "all" if result.threshold is None else f"{result.threshold:.4f}"
        shares = (f"{share:.2%}" for share in (result.precision, result.recall, result.f1))
        rows.append([name, cut, *shares, str(result.proposed), str(result.correct)])
    click.echo("\n".join(aligned(rows)))
    missed = never_proposed(scored, expected)
    click.echo(
        f"gold pairs: {len(expected)}"
        + (f"; {missed} have a source or target that is in no pair of {pairs}" * (missed > 0))
    )
    if keeps_nearly_all(scored, results["best threshold"]):
        say(
            f"the best threshold is at the lower end of {pairs}: if pairs were cut, a lower one "
            "may be better; write them by 'miner search --ids --threshold 0'"
        )
    if 2 * missed > len(expected):
        say(
            f"warning: no threshold finds more than {1 - missed / len(expected):.0%} of the gold; "
            "if the corpus lacks these sentences, give the gold of this corpus"
        )
    if warning := explain_mismatch(scored, expected):
        say(f"warning: {warning}")
    if json_file:
        record = {name: result.as_dict() for name, result in results.items()}
        write_json(json_file, record, indent=2)


@evaluate.command()
def align(
    alignment: str = arg(),
    gold: str = arg(),
    json_file: str | None = options.json_file(),
) -> None:
    """Strict and lax F1 of the ladder ALIGNMENT against the ladder GOLD, as vecalign scores them.

    Both have lines [0, 1]:[2] of sentence numbers from 0; [] stands beside sentences left out. Or
    the rungs that hunalign writes without -text.

    Examples:
      miner evaluate align book.ladder book.gold
    """
    from miner.alignment.ladder import read_ladder
    from miner.evaluation import alignment as alignments

    guard.check([alignment, gold], {"--json": json_file})
    record = alignments.evaluate([(read_ladder(alignment), read_ladder(gold))])
    for way in alignments.WAYS:
        values = "  ".join(f"{name} {value:.3f}" for name, value in record[way].items())
        click.echo(f"{way:6s}  {values}")
    for kind, (right, every) in record["by kind"].items():
        click.echo(f"{kind:6s}  {right} of {every} found")
    if json_file:
        write_json(json_file, record, indent=2)


def task_command(described: Callable[[], None]) -> click.Command:
    """Turn a function with the name and help of an evaluation task into its command."""
    name = described.__name__

    def command(**settings: Any) -> None:
        _run((name,), **settings)

    return click.command(name, cls=Command, help=described.__doc__)(common(command))


def model_task(described: Callable[[], None]) -> click.Command:
    """Make a command of the group of a task of the engine."""
    command = task_command(described)
    evaluate.add_command(command)
    return command


@model_task
def tatoeba() -> None:
    """Share of sentences whose nearest sentence is their translation, in both directions.

    Reads DIR/tatoeba/XX-en.tsv. Nearest by cosine, and by ratio margin.

    Examples:
      miner evaluate tatoeba --data data --model models/de-en
      miner evaluate tatoeba --data data --model laser
    """


@model_task
def bucc() -> None:
    """Mine translations hidden in two corpora, by the protocol of BUCC 2018.

    Reads DIR/bucc*/de-en/de-en.{training,test}.{de,en,gold}. The threshold is tuned on the training
    gold and applied to test. The task that the mteb suite calls BUCC.v2 is listed apart.

    Examples:
      miner data get bucc2018 -o data
      miner evaluate bucc --data data --model models/de-en --json bucc.json
    """


@model_task
def noisy() -> None:
    """AUC and average precision of scores on labelled noisy bitext.

    Reads DIR/noisy/de-en.NAME-labelled.tsv, the label 1 or 0 in column 3.

    Examples:
      miner evaluate noisy --data data --model models/de-en
      miner evaluate noisy --data data --against models/p19
    """


@model_task
def speed() -> None:
    """Sentences/s from text to vectors, and from token ids to vectors.

    On one thread and on all, on the English text of the other evaluations in DIR.

    Examples:
      miner evaluate speed --data data --model models/de-en
      miner evaluate speed --data data --threads 2
    """


@evaluate.command("all")
@common
def every(**settings: Any) -> None:
    """Run all evaluations that DIR has text for, and print one table of their main metrics.

    Examples:
      miner evaluate all --data data
      miner evaluate all --data data --model models/de-en --against default --json all.json
    """
    _run(TASKS, **settings)


@evaluate.command()
def sentences(
    data: Path = data_option,
    names: tuple[str, ...] = opt(
        "Only this evaluation; repeatable [all those in DIR].",
        "--task",
        type=click.Choice(TEXT_TASKS),
    ),
    output: str = opt(
        "Directory for sentences.txt; created if missing.",
        "-o --output",
        required=True,
        metavar="DIR",
    ),
) -> None:
    """Write the sentences of the evaluations, each once, for other tools to encode.

    Encode the lines of DIR/sentences.txt in their order, and put the vectors beside them as
    vectors.npy or vectors.h5: DIR is then a --model of every evaluation but speed.

    Examples:
      miner evaluate sentences --data data -o laser
      miner evaluate sentences --data data --task sts --task tatoeba -o laser
      miner evaluate all --data data --model laser
    """
    from miner.evaluation import suite
    from miner.evaluation.evaluated_model import SENTENCES, vector_files, write_sentences

    tasks, left_out = suite.choose(data, names or TEXT_TASKS, skip_missing=not names)
    folder = Path(output)
    if existing := vector_files(folder):
        raise ArtifactError(
            f"{folder}: has {existing[0]}, which new sentences would not fit; remove it, or choose "
            "another directory"
        )
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for omitted in left_out:
        say(str(omitted))
    count = write_sentences(suite.sentences(data, tasks.values()), folder / SENTENCES)
    say(f"{folder / SENTENCES}: {count_of(count, 'sentence')} of {', '.join(tasks)}")


evaluate.add_command(contrast)
evaluate.add_command(labelled)


def _run(
    names: Sequence[str],
    model: str,
    data: Path,
    against: str | None,
    json_file: str | None,
    loading: Loading,
    device: str,
    threads: int | None,
) -> None:
    """Run tasks and print: all metrics of a single task, the main metrics of several."""
    from miner.evaluation import suite
    from miner.evaluation.evaluated_model import open_model

    guard.check_writable([json_file])  # before the work, not after it
    several = len(names) > 1
    tasks, left_out = suite.choose(data, names, skip_missing=several)
    opened = [open_model(model, threads, device, loading)]
    if against is not None:
        opened.append(open_model(against, threads, device))
    missing = left_out if several else None
    results = evaluated(
        opened, lambda one, bar: suite.run_tasks(tasks, one, data, missing, bar), "sets"
    )
    report(opened, results, "test set", json_file, several=several, data=data, left_out=left_out)
    for left in left_out:
        if isinstance(left.error, CorpusError) and not isinstance(left.error, NoTestSetError):
            raise left.error
    if not any(result.metrics for result in results[0]) and several:
        raise CorpusError(f"{data}: nothing could be evaluated; the reasons are above")
