"""`miner plan`: what a mining would take, by rates measured on a sample."""

from dataclasses import replace
from itertools import chain
from typing import Any

import click

from miner.cli import mining_options, options, sharding
from miner.cli.mining_options import Output, read_keep
from miner.cli.option_types import POSITIVE_COUNT
from miner.cli.settings_options import Command, arg, opt
from miner.cli.sharding import expanded
from miner.encoder.loading import Loading
from miner.knn.settings import SearchSettings
from miner.scoring.decontaminate_settings import Without
from miner.tasks.workers import Workers
from miner.text.lines import is_read_once


@click.command(cls=Command)
@options.reading
def plan(
    source: str = arg(),
    target: str = arg(),
    model: str = options.model,
    loading: Loading = options.loading(),
    keep: dict[str, Any] = mining_options.keeping,
    without: Without = options.without(),
    carry: tuple[str, ...] = options.carry,
    work: str | None = sharding.work(),
    workers: Workers = sharding.options,
    factory: str = options.factory,
    settings: SearchSettings = options.search(),
    output: Output = mining_options.output,
    as_if: int | None = opt(
        "Plan for N lines on each side of text like this, such as 1B [the lines of the files].",
        type=POSITIVE_COUNT,
        metavar="N",
    ),
    **reading: Any,
) -> None:
    """Estimate tasks, time, memory and disk of mining SOURCE and TARGET.

    Takes the arguments of 'miner mine' and writes nothing. It counts the lines, mines a sample of
    each side with one thread to measure the rates of this machine, and multiplies.

    Examples:
      miner plan 'de/*.zst' 'en/*.zst' --shard-lines 1M --workers 64
      miner plan news.de news.en --as-if 1B
    """
    from miner.cli.progress_bars import Progress
    from miner.machine import thread_count
    from miner.mining.cost import Planner
    from miner.mining.means import load_encoder
    from miner.text.corpus import CorpusReader
    from miner.text_table import aligned

    texts = expanded(source), expanded(target)
    if any(map(is_read_once, chain(*texts))):
        raise click.UsageError(
            "a plan reads the files twice, and standard input or a pipe only once"
        )
    keep_settings = read_keep(keep, output)
    planner = Planner(load_encoder(model, settings, loading), settings, keep_settings, reading)
    with Progress("files") as report:
        lines = []
        for side in texts:
            counts = []
            for number, path in enumerate(side):
                report("counting lines", number, len(side))
                counts.append(CorpusReader(path, **reading).count())
            lines.append(sum(counts))
        sizes = (lines[0], lines[1]) if as_if is None else (as_if, as_if)
        sample = planner.measured(texts, hybrid=planner.hybrid(sizes))
    workers = replace(workers, memory=workers.memory or settings.memory)
    costs = planner.costs(sizes, (len(texts[0]), len(texts[1])), workers, sample)
    rows = [("tasks", "number", "core-hours", "on disk", "memory of one")]
    for cost in costs:
        hours, on_disk = f"{cost.core_seconds / 3600:,.3f}", f"{cost.disk / 1e9:,.2f} GB"
        rows.append((cost.kind, f"{cost.tasks:,}", hours, on_disk, f"{cost.memory / 1e9:,.1f} GB"))
    click.echo("\n".join(aligned(rows)))
    slots = workers.workers or thread_count()
    total = sum(cost.core_seconds for cost in costs) / 3600
    elapsed = sum(cost.core_seconds / min(slots, cost.tasks) for cost in costs) / 3600
    slowest = max(costs, key=lambda cost: cost.core_seconds)
    largest = max(costs, key=lambda cost: cost.disk)
    parts = next(cost.tasks for cost in costs if cost.kind == "part")
    click.echo(
        f"{sizes[0]:,} x {sizes[1]:,} lines in {parts:,} parts: {total:,.2f} core-hours, "
        f"{elapsed:,.2f} hours on {slots:,} workers, "
        f"{sum(cost.disk for cost in costs) / 1e9:,.1f} GB on disk\n"
        f"most time: {slowest.kind} ({slowest.core_seconds / 36 / total:.0f}%); "
        f"most disk: {largest.kind}"
    )
