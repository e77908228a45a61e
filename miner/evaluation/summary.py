"""Tables of evaluation results for people to read, and comparisons of two models."""

from collections.abc import Sequence
from dataclasses import replace

from miner.evaluation.results import RESAMPLES, Difference, Metric, TaskResult, differences
from miner.text_table import aligned


def metric_tables(metrics: Sequence[Metric]) -> list[str]:
    """Lines of tables with a row for each set and a column for each metric.

    Sets with other metrics stand in a further table. An interval follows its metric.
    """
    rows: dict[str, dict[str, Metric]] = {}
    for metric in metrics:
        rows.setdefault(metric.dataset, {})[metric.name] = metric
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for dataset, row in rows.items():
        table = tables.setdefault(tuple(row), [["", *row]])
        table.append([dataset, *map(_cell, row.values())])
    lines: list[str] = []
    for table in tables.values():
        lines += ["", *aligned(table)]
    return lines[1:]


def task_text(result: TaskResult) -> str:
    """Format all metrics of a task, its notes and the missing measurements."""
    return _paragraphs(metric_tables(result.metrics), result.notes, _missing([result]))


def summary_text(results: Sequence[TaskResult]) -> str:
    """Format a table of the headline metrics of several tasks, and the missing measurements."""
    rows = [["evaluation", "set", "metric", "value", "95% interval"]]
    for result in results:
        for metric in result.headline:
            labels = [result.task, metric.dataset, metric.name]
            rows.append([*labels, _value(metric), _interval(metric)])
    return _paragraphs(aligned(rows, left=3), _missing(results))


def compare(one: Sequence[TaskResult], other: Sequence[TaskResult]) -> list[Difference]:
    """Compare two models on every metric that both have. Raises MismatchError."""
    against = {result.task: result.metrics for result in other}
    return [
        replace(difference, task=result.task)
        for result in one
        for difference in differences(result.metrics, against.get(result.task, ()))
        if not difference.name.endswith("majority")  # the same for all models
    ]


def unpaired(one: Sequence[TaskResult], other: Sequence[TaskResult]) -> list[str]:
    """Return metrics with an interval that only one of two models has, as "set metric"."""
    keys = [
        dict.fromkeys(
            f"{metric.dataset} {metric.name}"
            for result in results
            for metric in result.metrics
            if metric.resamples is not None
        )
        for results in (one, other)
    ]
    return [key for key in keys[0] | keys[1] if not (key in keys[0] and key in keys[1])]


def difference_table(differences: Sequence[Difference]) -> str:
    rows = [["evaluation", "set", "metric", "difference", "95% interval", "p"]]
    least = 2 / (RESAMPLES + 1)
    for difference in differences:
        low, high = difference.interval
        p = f"{'≤' if difference.p <= least else ''}{difference.p:.3f}"
        numbers = [f"{difference.value:+.3f}", f"{low:+.3f} to {high:+.3f}", p]
        rows.append([difference.task, difference.dataset, difference.name, *numbers])
    return "\n".join(aligned(rows, left=3))


def _paragraphs(*parts: Sequence[str]) -> str:
    """Join blocks of lines with empty lines; empty blocks are dropped."""
    return "\n\n".join("\n".join(part) for part in parts if part)


def _missing(results: Sequence[TaskResult]) -> list[str]:
    return [f"missing: {line}" for result in results for line in result.missing]


def _cell(metric: Metric) -> str:
    interval = _interval(metric)
    return f"{_value(metric)} ({interval})" if interval else _value(metric)


def _value(metric: Metric) -> str:
    # Speeds are printed as integers, all other metrics as shares.
    return f"{metric.value:,.0f}" if abs(metric.value) >= 10 else f"{metric.value:.3f}"


def _interval(metric: Metric) -> str:
    if metric.interval is None:
        return ""
    low, high = metric.interval
    return f"{low:.3f} to {high:.3f}"
