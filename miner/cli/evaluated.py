"""Output of an evaluation of one task: metrics of one model or two, differences, JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from miner.cli.options import write_json
from miner.cli.progress_bars import Progress

if TYPE_CHECKING:
    from miner.evaluation.evaluated_model import MinerModel
    from miner.evaluation.results import TaskResult


def run_task(
    evaluate: Callable[[MinerModel, Progress], TaskResult],
    models: tuple[str, str | None],
    *,
    units: str,
    resampled: str,
    json_file: str | None,
    device: str,
    threads: int | None,
) -> None:
    """Evaluate a model, and another beside it, by one task; print and write the metrics.

    units: the things that the progress counts. resampled: those that the intervals resample.
    """
    import miner
    from miner.evaluation import suite, summary
    from miner.evaluation.bootstrap import RESAMPLES
    from miner.evaluation.evaluated_model import MinerModel

    model, against = models
    opened = [MinerModel(one, threads, device) for one in models if one is not None]
    found = []
    for one in opened:
        with Progress(units) as progress:
            found.append(evaluate(one, progress))
    for one, result in zip(opened, found, strict=True):
        click.echo(f"{one.name}\n\n{summary.task_text(result)}\n")
    click.echo(f"Intervals hold 95% of {RESAMPLES:,} bootstrap resamples of the {resampled}.")
    record: dict[str, Any] = {
        "miner": miner.__version__,
        "models": [suite.record(one, [result]) for one, result in zip(opened, found, strict=True)],
    }
    if against is not None:
        differences = summary.compare([found[0]], [found[1]])
        table = summary.difference_table(differences)
        click.echo(f"\n{model} minus {against}, on the same resamples:\n\n{table}")
        record["differences"] = [one.as_dict() for one in differences]
    if json_file is not None:
        write_json(json_file, record, indent=1)
