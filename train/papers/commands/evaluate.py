"""``miner evaluate sts``, ``paraphrase`` and ``senteval``: the evaluations of the papers."""

from pathlib import Path
from typing import Any

import click

from miner.cli import guard
from miner.cli.evaluate import task_command
from miner.cli.evaluate_options import models, run_task
from miner.cli.settings_options import Command, arg, opt

SETS = ("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC", "SICK-E", "SICK-R", "STS-B")


@task_command
def sts() -> None:
    """Correlation of cosines with human judgements (STS 2012 to 2017, STS-B, SICK-R).

    Reads DIR/sts/*.tsv ('score, tab, sentence, tab, sentence'). Means of a year, and of all years,
    are unweighted means over data sets; missing sets are listed.

    Examples:
      miner evaluate sts --data data
      miner evaluate sts --data data --model models/p19 --against default --json sts.json
    """


@task_command
def paraphrase() -> None:
    """Detect paraphrases with a small classifier on two vectors, and by a threshold of the cosine.

    Reads DIR/paraphrase/NAME.{train,dev,test}.tsv, of MSRPC, PIT-2015 or Opusparcus. Prints the
    similarities of every human grade: mean, t-test against the grade below, histogram. Needs
    scikit-learn.

    Examples:
      miner evaluate paraphrase --data data
      miner evaluate paraphrase --data data --against models/p18 --json paraphrase.json
    """


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

    DIR has SentEval's folders (MR, CR, SUBJ, MPQA, SST, TREC, MRPC, SICK, STS), directly or in
    'downstream' or 'senteval'; MRPC, SICK-R and STS-B may also have the layout of 'miner data get'.
    Prints accuracy, or Pearson's correlation for SICK-R and STS-B. Ten folds of MR, CR, SUBJ and
    MPQA take minutes each.

    Examples:
      miner data get senteval-small sst trec sick-e msrpc stsb -o data
      miner evaluate senteval data
      miner evaluate senteval SentEval/data --model models/de-en --against default
      miner evaluate senteval data --only TREC --only MRPC --folds 5 --json senteval.json
    """
    from miner_train.papers import senteval as task

    guard.check([], {"--json": models["json_file"]})
    run_task(
        lambda one, progress: task.evaluate(one, directory, progress, only or SETS, folds),
        "sets",
        "test items",
        **models,
    )
