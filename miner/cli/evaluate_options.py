"""Evaluation of one model, or of two: options, runs, metrics, differences, JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from miner.cli import options
from miner.cli.options import write_json
from miner.cli.progress_bars import Progress

if TYPE_CHECKING:
    from pathlib import Path

    from miner.evaluation.evaluated_model import EvaluatedModel
    from miner.evaluation.results import TaskResult
    from miner.evaluation.suite import LeftOut

against = options.several(
    click.option(
        "--against",
        metavar="DIR",
        help=(
            "Another model: also print its metrics, and the differences with intervals and "
            "p-values."
        ),
    ),
    options.json_file(),
    options.device,
    options.threads,
)
# Options of `run_task`.
models = options.several(options.model, against)


def run_task(
    evaluate: Callable[[EvaluatedModel, Progress], TaskResult],
    units: str,
    resampled: str,
    *,
    model: str,
    against: str | None,
    json_file: str | None,
    device: str,
    threads: int | None,
) -> None:
    """Evaluate a model, and optionally another, on one task; print and write the metrics.

    units: unit of the progress. resampled: items that the intervals resample.
    """
    from miner.evaluation.evaluated_model import MinerModel

    opened = [MinerModel(name, threads, device) for name in (model, against) if name is not None]
    results = evaluated(opened, lambda encoder, progress: [evaluate(encoder, progress)], units)
    report(opened, results, resampled, json_file)


def evaluated(
    models: Sequence[EvaluatedModel],
    evaluate: Callable[[Any, Progress], list[TaskResult]],
    units: str,
) -> list[list[TaskResult]]:
    results = []
    for model in models:
        with Progress(units) as progress:
            results.append(evaluate(model, progress))
    return results


def report(
    models: Sequence[EvaluatedModel],
    by_model: Sequence[list[TaskResult]],
    resampled: str,
    json_file: str | None,
    *,
    several: bool = False,
    data: Path | None = None,
    left_out: Sequence[LeftOut] = (),
) -> None:
    """Print the metrics of one model or two, with the differences, and write them as JSON.

    resampled: items that the intervals resample. several: print the main metrics of several tasks.
    data, left_out: directory of the test sets, and tasks without one.
    """
    import miner
    from miner.evaluation import suite, summary
    from miner.evaluation.results import RESAMPLES

    for model, results in zip(models, by_model, strict=True):
        texts = [summary.summary_text(results)] if several else map(summary.task_text, results)
        click.echo(f"{model.name}\n\n" + "\n".join(texts) + "\n")
    if any(metric.interval for result in by_model[0] for metric in result.metrics):
        click.echo(f"Intervals hold 95% of {RESAMPLES:,} bootstrap resamples of the {resampled}.")
    record: dict[str, Any] = {"miner": miner.__version__}
    if data is not None:
        record["data"] = str(data)
    record["models"] = [suite.record(*pair) for pair in zip(models, by_model, strict=True)]
    if left_out:
        record["left out"] = [task.as_dict() for task in left_out]
    if len(models) > 1:
        differences = summary.compare(*by_model)
        record["differences"] = [row.as_dict() for row in differences]
        main = {
            (result.task, row.dataset, row.name)
            for result in by_model[0]
            for row in result.headline
        }
        shown = [
            row for row in differences if not several or (row.task, row.dataset, row.name) in main
        ]
        names = " minus ".join(model.name for model in models)
        if differences:
            table = summary.difference_table(shown)
            click.echo(f"\n{names}, on the same resamples:\n\n{table}")
            if single := summary.unpaired(*by_model):
                click.echo(f"\nof one model alone: {', '.join(single)}")
    if left_out:
        click.echo("\n".join(["", *map(str, left_out)]))
    if json_file is not None:
        write_json(json_file, record, indent=1)
