"""`miner plan`: what a mining by shards would take, by rates measured on a sample."""

from typing import Any

import click

from miner.cli.mined import mining_arguments, take_keep, take_settings
from miner.cli.sharding import Count, expanded, take_sharding
from miner.encoder.loading import Loading


@click.command(
    epilog="""\b
Examples:
  miner plan 'de/*.zst' 'en/*.zst' --shard-lines 1M --workers 64
  miner plan news.de news.en --as-if 1B"""
)
@mining_arguments
@click.option(
    "--as-if",
    type=Count(),
    metavar="N",
    help="Plan for N lines on each side, of text like this, such as 1B [the lines that there are].",
)
def plan(
    source: str,
    target: str,
    model: str,
    loading: Loading,
    as_if: int | None,
    **given: Any,
) -> None:
    """Estimate tasks, time, memory and disk of mining SOURCE and TARGET by shards.

    Takes the arguments of 'miner mine' and writes nothing. It counts the lines, mines a sample of
    each side with one thread to measure the rates of this machine, and multiplies.
    """
    from miner.cli.progress_bars import Progress
    from miner.machine import thread_count
    from miner.mining.keep import KeepError
    from miner.mining.mine import load_encoder
    from miner.mining.search import pairs_for_hybrid
    from miner.shards import cost
    from miner.shards.rates import calibrated
    from miner.shards.workers import SHARD_LINES
    from miner.text.corpus import Reader
    from miner.text_table import aligned

    shards = take_sharding(given)
    texts = expanded(source), expanded(target)
    if ["-"] in texts:
        raise click.UsageError("a plan reads the files twice, and standard input only once")
    for name in ("work", "factory", "output", "ids", "bucc"):
        given.pop(name)
    try:
        settings, keep = take_settings(given), take_keep(given)
        del given["page"]
        encoder = load_encoder(model, settings, loading)
        model_verifies = encoder.model is not None and encoder.model.verifier is not None
        verifying = settings.rank != "margin" and model_verifies
        with Progress("files") as report:
            lines = []
            for side in texts:
                counts = []
                for number, path in enumerate(side):
                    report("counting lines", number, len(side))
                    counts.append(Reader(path, **given).count())
                lines.append(sum(counts))
            sizes = (lines[0], lines[1]) if as_if is None else (as_if, as_if)
            least = pairs_for_hybrid(settings, verifying)
            hybrid = least is not None and sizes[0] * sizes[1] >= least
            rates = calibrated(texts, encoder, keep, settings, hybrid=hybrid, **given)
    except KeepError as error:
        raise click.UsageError(str(error)) from None
    size = SHARD_LINES if shards is None else shards.lines
    workers = (shards and shards.count) or thread_count()
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
