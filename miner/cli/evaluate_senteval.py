"""``miner evaluate senteval``: frozen vectors on the classification sets of SentEval."""

from pathlib import Path
from typing import Any

import click

from miner.cli import guard
from miner.cli.evaluated import models, run_task
from miner.cli.settings_options import Command, arg, opt

SETS = ("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SICK-E", "SICK-R", "STS-B")


@click.command(cls=Command)
@models
def senteval(
    directory: Path = arg(metavar="DIR", type=click.Path(path_type=Path)),
    only: tuple[str, ...] = opt("Only this set; repeatable.", type=click.Choice(SETS)),
    folds: int = opt(
        "Folds of cross-validation; fewer than SentEval's ten save time.",
        type=click.IntRange(2, 10),
        default=10,
    ),
    **models: Any,
) -> None:
    """Logistic regression on frozen vectors, with the folds and grids of SentEval.

    DIR has SentEval's folders (MR, CR, SUBJ, MPQA, SST, TREC, MRPC, SICK, STS), itself or in
    'downstream' or 'senteval'; MRPC, SICK-R and STS-B are found in the layout of 'miner data get'
    too. Accuracy, or Pearson's correlation of SICK-R and STS-B. Ten folds of MR, CR, SUBJ and MPQA
    take minutes each.

    Examples:
      miner data get senteval-small sst trec sick-e msrpc stsb -o data
      miner evaluate senteval data
      miner evaluate senteval SentEval/data --model models/de-en --against default
      miner evaluate senteval data --only TREC --only MRPC --folds 5 --json senteval.json
    """
    from miner.papers import senteval as task

    guard.check([], {"--json": models["json_file"]})
    run_task(
        lambda one, progress: task.evaluate(one, directory, progress, only or SETS, folds),
        "sets",
        "test items",
        **models,
    )
