"""`miner plan`: what a mining by shards would take, by rates measured on a sample."""

from dataclasses import replace
from typing import Any

import click

from miner.cli.mined import Output, mining_arguments, read_keep
from miner.cli.option_types import POSITIVE_COUNT
from miner.cli.settings_options import Command
from miner.cli.sharding import Sharding, expanded
from miner.encoder.loading import Loading
from miner.knn.settings import SearchSettings
from miner.shards.worker_settings import SHARD_LINES


@click.command(
    cls=Command,
    epilog="""\b
Examples:
  miner plan 'de/*.zst' 'en/*.zst' --shard-lines 1M --workers 64
  miner plan news.de news.en --as-if 1B""",
)
@mining_arguments
@click.option(
    "--as-if",
    type=POSITIVE_COUNT,
    metavar="N",
    help="Plan for N lines on each side, of text like this, such as 1B [the lines that there are].",
)
def plan(
    source: str,
    target: str,
    model: str,
    loading: Loading,
    languages: tuple[str | None, str | None],
    settings: SearchSettings,
    keep: dict[str, Any],
    output: Output,
    work: str | None,
    factory: str,
    shards: Sharding | None,
    as_if: int | None,
    **reading: Any,
) -> None:
    """Estimate tasks, time, memory and disk of mining SOURCE and TARGET by shards.

    Takes the arguments of 'miner mine' and writes nothing. It counts the lines, mines a sample of
    each side with one thread to measure the rates of this machine, and multiplies.
    """
    from miner.cli.progress_bars import Progress
    from miner.machine import thread_count
    from miner.mining.mine import load_encoder
    from miner.mining.search import pairs_for_hybrid
    from miner.shards import cost
    from miner.shards.rates import calibrated
    from miner.text.corpus import Reader
    from miner.text_table import aligned

    texts = expanded(source), expanded(target)
    if ["-"] in texts:
        raise click.UsageError("a plan reads the files twice, and standard input only once")
    settings, wanted = replace(settings, languages=languages), read_keep(keep, output)
    encoder = load_encoder(model, settings, loading)
    model_verifies = encoder.model is not None and encoder.model.verifier is not None
    verifying = settings.rank != "margin" and model_verifies
    with Progress("files") as report:
        lines = []
        for side in texts:
            counts = []
            for number, path in enumerate(side):
                report("counting lines", number, len(side))
                counts.append(Reader(path, **reading).count())
            lines.append(sum(counts))
        sizes = (lines[0], lines[1]) if as_if is None else (as_if, as_if)
        least = pairs_for_hybrid(settings, verifying)
        hybrid = least is not None and sizes[0] * sizes[1] >= least
        rates = calibrated(texts, encoder, wanted, settings, hybrid=hybrid, **reading)
    size = SHARD_LINES if shards is None else shards.shard_lines
    workers = (shards and shards.workers) or thread_count()
    k = cost.neighbors(settings, verifying)
    found = cost.costs(sizes, (len(texts[0]), len(texts[1])), size, k, rates)
    rows = [("tasks", "number", "core-hours", "on disk", "read", "memory of one")]
    for entry in found:
        hours = f"{entry.core_seconds / 3600:,.3f}"
        on_disk, read = f"{entry.disk / 1e9:,.2f} GB", f"{entry.read / 1e9:,.2f} GB"
        memory = f"{entry.memory / 1e9:,.1f} GB"
        rows.append((entry.kind, f"{entry.tasks:,}", hours, on_disk, read, memory))
    click.echo("\n".join(aligned(rows)))
    total = sum(entry.core_seconds for entry in found) / 3600
    alone = sum(
        entry.core_seconds / min(workers, entry.tasks) / 3600 for entry in found if entry.tasks
    )
    most = max(found, key=lambda entry: entry.core_seconds)
    largest = max(found, key=lambda entry: entry.disk)
    click.echo(
        f"{sizes[0]:,} x {sizes[1]:,} lines in shards of {size:,}: {total:,.2f} core-hours, "
        f"{alone:,.2f} hours on {workers:,} workers, "
        f"{sum(entry.disk for entry in found) / 1e9:,.1f} GB on disk, "
        f"{sum(entry.read for entry in found) / 1e9:,.1f} GB read"
    )
    click.echo(
        f"most time: {most.kind} ({most.core_seconds / 36 / total:.0f}%); most disk: {largest.kind}"
    )
