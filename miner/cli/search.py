"""``miner search``: two index directories to pairs."""

import math
from typing import Any

import click

from miner.cli import options
from miner.index import Index
from miner.search import Pairs
from miner.search import search as search_indexes


@click.command(
    epilog="""\b
Examples:
  miner search work/de work/en --threshold 1.15 -k 4 --margin ratio --retrieval max -o pairs.tsv
  miner search work/de work/en --top-n 100000 -o pairs.parquet
  miner search work/de work/en --ids -o scored-ids.tsv
  miner search work/de work/en --threshold 1.2 --bucc > mined.tsv"""
)
@click.argument("source")
@click.argument("target")
@options.keeping
@options.mining
@options.machine
@options.threads
@options.output
def search(
    source: str,
    target: str,
    threshold: float | None,
    top_n: int | None,
    ids: bool,
    bucc: bool,
    output: str,
    **settings: Any,
) -> None:
    """Mine translation pairs from the indexes SOURCE and TARGET.

    Pairs are written best first. Without --threshold or --top-n all of them are, most of which
    are no translations: a table of thresholds and counts helps to choose.
    """
    if bucc and output.endswith(".parquet"):
        raise click.UsageError("--bucc writes text; Parquet has all columns")
    pairs = run(Index.open(source), Index.open(target), **settings)
    finish(pairs, threshold, top_n, ids, bucc, output)


def run(source: Index, target: Index, *, neighbors: int, **settings: Any) -> Pairs:
    """Search with a progress bar."""
    with options.bar("searching", "sentences") as report:
        return search_indexes(source, target, k=neighbors, report=report, **settings)


def finish(
    pairs: Pairs, threshold: float | None, top_n: int | None, ids: bool, bucc: bool, output: str
) -> None:
    """Cut, write, and say what was kept."""
    kept = pairs if threshold is None else pairs.at_least(threshold)
    kept = kept if top_n is None else kept.top(top_n)
    kept.write(output, ids=ids, bucc=bucc)
    where = "standard output" if output == "-" else output
    if threshold is None and top_n is None and len(pairs):
        click.echo(_table(pairs), err=True)
    click.echo(f"{len(kept)} of {len(pairs)} pairs written to {where}", err=True)
    if not len(kept):
        click.echo(f"warning: nothing was mined: {_why(pairs, threshold)}", err=True)


def _table(pairs: Pairs) -> str:
    """Thresholds and the pairs that each would keep, from few to all."""
    rows = ["threshold     kept"]
    total = len(pairs)
    counts = sorted({max(1, round(total * share)) for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)})
    for n in counts:
        # Rounded down, so that the threshold as printed keeps what is printed beside it.
        threshold = math.floor(pairs.score[n - 1] * 10_000) / 10_000
        rows.append(f"{threshold:9.4f} {pairs.count_at_least(threshold):8d}")
    rows.append("No threshold suits every corpus: read pairs around one before you trust it.")
    return "\n".join(rows)


def _why(pairs: Pairs, threshold: float | None) -> str:
    """The likeliest reason for an empty result."""
    for side in (pairs.source, pairs.target):
        name = ", ".join(source.path for source in side.sources)
        if not len(side):
            return f"{name} holds no sentence"
        if not side.distinct:
            return f"the model knows no piece of any sentence in {name}; wrong language?"
    if len(pairs) and threshold is not None:
        return f"the best score is {pairs.score[0]:.4f}, the threshold {threshold}"
    return "no candidates were found"
