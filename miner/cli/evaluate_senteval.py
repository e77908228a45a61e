"""``miner evaluate senteval``: frozen vectors on the classification sets of SentEval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from miner.cli import guard, options
from miner.cli.progress_bars import Progress
from miner.text.output import open_output

SETS = ("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SICK-E", "SICK-R", "STS-B")


@click.command(
    epilog="""\b
Examples:
  miner data get senteval-small sst trec sick-e msrpc stsb -o data
  miner evaluate senteval data
  miner evaluate senteval SentEval/data --model models/de-en --against default
  miner evaluate senteval data --only TREC --only MRPC --folds 5 --json senteval.json"""
)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, type=click.Choice(SETS), help="Only this set; repeatable.")
@click.option(
    "--folds",
    type=click.IntRange(2, 10),
    default=10,
    show_default=True,
    help="Folds of cross-validation; fewer than SentEval's ten save time.",
)
@options.model
@click.option("--against", metavar="DIR", help="Another model: print its metrics, too.")
@click.option("--json", "json_file", metavar="FILE", help="Write all metrics to FILE as JSON.")
@options.device
@options.threads
def senteval(
    directory: Path,
    only: tuple[str, ...],
    folds: int,
    model: str,
    against: str | None,
    json_file: str | None,
    device: str,
    threads: int | None,
) -> None:
    """Logistic regression on frozen vectors, with the folds and grids of SentEval.

    DIR has SentEval's folders (MR, CR, SUBJ, MPQA, SST, TREC, MRPC, SICK, STS), itself or in
    'downstream' or 'senteval'; MRPC, SICK-R and STS-B are found in the layout of 'miner data get'
    too. Accuracy, or Pearson's correlation of SICK-R and STS-B. Ten folds of MR, CR, SUBJ and MPQA
    take minutes each.
    """
    import miner
    from miner.evaluation import senteval as task
    from miner.evaluation import suite, summary
    from miner.evaluation.bootstrap import RESAMPLES
    from miner.evaluation.evaluated_model import MinerModel

    guard.check([], {"--json": json_file})
    opened = [MinerModel(one, threads, device) for one in (model, against) if one is not None]
    found = []
    for one in opened:
        with Progress("sets") as bar:
            found.append(task.evaluate(one, directory, bar, only or SETS, folds))
    for one, result in zip(opened, found, strict=True):
        click.echo(f"{one.name}\n\n{summary.task_text(result)}\n")
    click.echo(f"Intervals hold 95% of {RESAMPLES:,} bootstrap resamples of the test items.")
    record: dict[str, Any] = {
        "miner": miner.__version__,
        "models": [suite.record(one, [result]) for one, result in zip(opened, found, strict=True)],
    }
    if against is not None:
        differences = summary.compare([found[0]], [found[1]])
        click.echo(
            f"\n{model} minus {against}, on the same resamples:\n\n"
            f"{summary.difference_table(differences)}"
        )
        record["differences"] = [one.as_dict() for one in differences]
    if json_file is not None:
        with open_output(json_file) as file:
            file.write(json.dumps(record, indent=1) + "\n")
